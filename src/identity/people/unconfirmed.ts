import { and, eq, inArray, isNull, ne, notExists, sql } from 'drizzle-orm'
import { api_keys, identities, sessions, users } from '#drizzle/tables/identity.ts'
import type { Audit } from '#src/services/audit/log.ts'
import type { Database } from '#src/database/connect.ts'
import { notDeleted } from './find-users.ts'

/** Accounts per transaction. Each transaction has one entry in the audit log. */
const BATCH = 500

/**
 * Deletes accounts that signed up and did not verify their address within seven days of the last mail. It keeps
 * accounts that were invited, banned or used for a sign-in, and those with a role, a key or another provider's
 * identity. No bookings belong to an account.
 * @returns the number of deleted accounts
 * @throws RegistroNonDisponibile
 */
export async function deleteUnconfirmed (db: Database, audit: Audit): Promise<number> {
  for (let total = 0; ;) {
    const deleted = await db.transaction(async (tx) => {
      // Skip an account that another transaction is confirming.
      const forgotten = tx.select({ id: users.id }).from(users).where(isForgotten(db))
        .limit(BATCH).for('update', { skipLocked: true })
      const rows = await tx.delete(users).where(inArray(users.id, forgotten)).returning({ id: users.id })
      const ids = rows.map(({ id }) => id)
      const entry = { actor: 'sistema', action: 'registrazioni_eliminate', details: { ids } } as const
      if (ids.length > 0) await audit.append(tx, entry)
      return ids.length
    })
    total += deleted
    if (deleted < BATCH) return total
  }
}

function isForgotten (db: Database) {
  return and(
    notDeleted,
    isNull(users.email_confirmed_at),
    isNull(users.invited_at),
    isNull(users.last_sign_in_at),
    isNull(users.banned_until),
    sql`${users.app_metadata} ->> 'role' = 'pending' and not ${users.app_metadata} ? 'roles'`,
    sql`greatest(${users.created_at}, ${users.confirmation_sent_at}, ${users.recovery_sent_at})
      < now() - interval '7 days'`,
    notExists(db.select().from(identities)
      .where(and(eq(identities.user_id, users.id), ne(identities.provider, 'email')))),
    notExists(db.select().from(sessions).where(eq(sessions.user_id, users.id))),
    notExists(db.select().from(api_keys).where(eq(api_keys.user_id, users.id)))
  )
}
