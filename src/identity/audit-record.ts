import type { FastifyRequest } from 'fastify'
import type { AuditAction } from '#schemas/audit.ts'
import { authorOf, type AuditEntry } from '#src/services/audit/log.ts'
import type { Executor } from '#src/database/connect.ts'

type Details = AuditEntry['details']

/** Writes the caller's action to the audit log. Call it as the last statement of the transaction. */
export async function record (
  tx: Executor, request: FastifyRequest, action: AuditAction, object: string, details?: Details
): Promise<void> {
  await request.server.audit.append(tx, { ...authorOf(request), action, object, details })
}

/**
 * Writes an action of a person to the audit log when the request has no principal, e.g. at sign-in. Call it as the last
 * statement of the transaction.
 */
export async function recordOf (
  tx: Executor, { server, ip }: FastifyRequest, userId: string, action: AuditAction, object: string, details?: Details
): Promise<void> {
  await server.audit.append(tx, { actor: `user:${userId}`, ip, action, object, details })
}
