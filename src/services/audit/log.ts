import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { audit_log as t } from '#drizzle/tables/audit.ts'
import type { AuditAction } from '#schemas/audit.ts'
import { RegistroNonDisponibile } from '#src/lib/errors.ts'
import type { Executor } from '#src/database/connect.ts'
import { isDiskFull } from '#src/database/problems.ts'

/** One audited action. It contains ids, fingerprints and the client IP, but no other personal data. */
export interface AuditEntry {
  /** The principal's id, `anonimo` or `sistema`. */
  actor: string
  action: AuditAction
  /** The target of the action, e.g. `user:<id>`. */
  object?: string
  ip?: string
  details?: Record<string, string | number | boolean | null | string[]>
}

/** The person or program that acted, and its client IP. */
export type Author = Required<Pick<AuditEntry, 'actor' | 'ip'>>

export interface Audit {
  /**
   * Appends an entry to the log. In a transaction it must be the last statement, or be rolled back to a savepoint,
   * because all other appends wait until the commit. If `executor` is the database, it opens its own transaction.
   * @throws RegistroNonDisponibile or a disk-full error. It aborts the caller's transaction, so that no action is
   * missing in the log
   */
  append (executor: Executor, entry: AuditEntry): Promise<void>
}

/** Writes audit entries. A trigger numbers each row, and links it by hash to the row before. */
export function auditLog (log: Pick<FastifyBaseLogger, 'error'>): Audit {
  return {
    async append (executor, entry) {
      try {
        // No savepoint in a transaction: even if a caller catches the error, the transaction stays aborted.
        await executor.insert(t).values(storedEntry(entry)).prepare('audit_entry').execute()
      } catch (err) {
        log.error({ err, action: entry.action }, 'the audit log cannot be written: the action is not carried out')
        throw isDiskFull(err) ? err : new RegistroNonDisponibile()
      }
    }
  }
}

/** The author of an entry for the caller of a request. */
export function authorOf ({ principal, ip }: Pick<FastifyRequest, 'principal' | 'ip'>): Author {
  return { actor: principal?.id ?? 'anonimo', ip }
}

function storedEntry ({ actor, action, object, ip, details = {} }: AuditEntry): typeof t.$inferInsert {
  return {
    actor: storable(actor),
    action,
    object: object === undefined ? null : storable(object),
    ip: ip === undefined ? null : storable(ip),
    details: JSON.parse(JSON.stringify(details), (_key, value: unknown) =>
      typeof value === 'string' ? storable(value) : value
    ) as Record<string, unknown>
  }
}

/** PostgreSQL text cannot store NUL or lone surrogates. */
function storable (text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
