import { desc, sql } from 'drizzle-orm'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { audit_log as t } from '#drizzle/tables/audit.ts'
import type { AuditAction } from '#schemas/audit.ts'
import { RegistroNonDisponibile } from '#src/lib/errors.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { isDiskFull } from '#src/database/problems.ts'
import { linkHash, type AuditRow } from './link.ts'

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

/** The key is no parameter, which would cost a second round trip. */
const LOCK_CHAIN = sql`select pg_advisory_xact_lock(${sql.raw(String(LOCKS.auditChain))})`

/** The writer of the log. */
export function auditLog (keys: Keys, log: Pick<FastifyBaseLogger, 'error'>): Audit {
  const key = keys.derive('audit')

  async function write (tx: Transaction, entry: AuditEntry): Promise<void> {
    // One chain: writers queue until the one before has committed. What that one wrote is seen by the next statement,
    // not by this. Both are on their way at once, one after the other on the transaction's connection.
    const [, [last]] = await Promise.all([
      // A raw query of Drizzle's is sent when it is awaited or executed, a prepared one at once: without this call the
      // lock would come second.
      tx.execute(LOCK_CHAIN).execute(),
      tx.select({ id: t.id, hash: t.hash }).from(t).orderBy(desc(t.id)).limit(1).prepare('audit_last').execute()
    ])
    const row = stored(entry, (last?.id ?? 0) + 1)
    await tx.insert(t).values({ ...row, hash: linkHash(key, row, last?.hash) }).prepare('audit_entry').execute()
  }

  return {
    async append (executor, entry) {
      try {
        // No savepoint in a transaction: even if a caller caught the error, nothing could be committed any more.
        await ('rollback' in executor ? write(executor, entry) : executor.transaction((tx) => write(tx, entry)))
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

/** An entry as it will be read back: the hash is of that. */
function stored (
  { actor, action, object, ip, details = {} }: AuditEntry,
  id: number
): AuditRow & { details: Record<string, unknown> } {
  return {
    id,
    at: new Date(),
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
