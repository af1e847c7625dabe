import { and, eq, gt, lte, or, sql } from 'drizzle-orm'
import { admin_sessions as table } from '#drizzle/tables/administration.ts'
import { adminKeyScopes } from '#src/identity/index.ts'
import type { Principal } from '#src/http/auth.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'

const IDLE = sql`interval '15 minutes'`
const MAX_LIFETIME = sql`interval '8 hours'`

/** A session of the pages. It is valid only while the session or key that it was granted to is valid. */
interface AdminSession {
  /** `session:<id>`, `key:<id>`, or the id of a principal that has neither. */
  principal: string
  userId: string | null
}

interface GrantedSession extends AdminSession { expires_at: Date }

/** Begins a session for the caller and deletes expired ones. */
export async function grantSession (tx: Transaction, id_hash: Buffer, caller: Principal): Promise<GrantedSession> {
  await tx.delete(table).where(or(lte(table.expires_at, sql`now()`), lte(table.last_seen_at, sql`now() - ${IDLE}`)))
  const [row] = await tx
    .insert(table)
    .values({
      id_hash,
      principal: credentialOf(caller),
      user_id: caller.userId ?? null,
      expires_at: sql`now() + ${MAX_LIFETIME}`
    })
    .returning()
  return { principal: row!.principal, userId: row!.user_id, expires_at: row!.expires_at }
}

/** Finds the active session of a cookie, and restarts its idle timeout. */
export async function useSession (db: Executor, id_hash: Buffer): Promise<AdminSession | undefined> {
  const [row] = await db
    .update(table)
    .set({ last_seen_at: sql`now()` })
    .where(
      and(eq(table.id_hash, id_hash), gt(table.expires_at, sql`now()`), gt(table.last_seen_at, sql`now() - ${IDLE}`))
    )
    .returning({ principal: table.principal, userId: table.user_id })
  return row
}

/** The principal of a session. Undefined when the session was granted to a key that is no longer an administrator's. */
export async function granteeOf (db: Executor, { principal, userId }: AdminSession): Promise<Principal | undefined> {
  if (userId === null) return { id: principal, kind: 'service', admin: true }
  const person: Principal = { id: `user:${userId}`, kind: 'user', admin: false, userId }
  const [kind, id = ''] = principal.split(':')
  if (kind === 'session') return { ...person, sessionId: id }
  if (kind !== 'key') return person
  const scopes = await adminKeyScopes(db, id)
  return scopes && { ...person, keyId: id, scopes }
}

function credentialOf ({ id, sessionId, keyId }: Principal): string {
  if (sessionId !== undefined) return `session:${sessionId}`
  return keyId === undefined ? id : `key:${keyId}`
}
