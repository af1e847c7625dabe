import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { audit_log as t } from '#drizzle/tables/audit.ts'
import type { AuditAction } from '#schemas/audit.ts'
import { RegistroNonDisponibile } from '#src/lib/errors.ts'
import type { Executor } from '#src/database/connect.ts'
import { isDiskFull } from '#src/database/problems.ts'

/** One thing that was done. No personal data: ids and fingerprints. */
export interface AuditEntry {
  /** The principal's id, `anonimo` or `sistema`. */
  actor: string
  action: AuditAction
  /** What it was done to, e.g. `user:<id>`. */
  object?: string
  ip?: string
  details?: Record<string, string | number | boolean | null | string[]>
}

/** The person or program that an entry names, and its address. */
export type Author = Required<Pick<AuditEntry, 'actor' | 'ip'>>

export interface Audit {
  /**
   * Writes an entry at the end of the log. Inside a transaction it must be the last statement, unless it is taken
   * back to a savepoint: until the commit all others wait. With the database itself it is a transaction of its own.
   * @throws RegistroNonDisponibile, or the error of a full disk, and the caller's transaction is lost: what cannot be
   * written down is not done
   */
  append (executor: Executor, entry: AuditEntry): Promise<void>
}

/** The writer of the log. A trigger numbers the row and chains it to the one before. */
export function auditLog (log: Pick<FastifyBaseLogger, 'error'>): Audit {
  return {
    async append (executor, entry) {
      try {
        // No savepoint in a transaction: even if a caller caught the error, nothing could be committed any more.
        await executor.insert(t).values(storedEntry(entry)).prepare('audit_entry').execute()
      } catch (err) {
        log.error({ err, action: entry.action }, 'the audit log cannot be written: the action is not carried out')
        throw isDiskFull(err) ? err : new RegistroNonDisponibile()
      }
    }
  }
}

/** The caller of a request, as the author of an entry. */
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

/** PostgreSQL holds neither NUL nor half a surrogate pair. */
function storable (text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
