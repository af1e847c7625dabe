import { and, asc, eq, sql } from 'drizzle-orm'
import { identities, users } from '#drizzle/tables/identity.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { IdentityRow, UserRow } from './find-users.ts'

export async function addIdentity (
  tx: Executor,
  user_id: string,
  { provider, provider_id, identity_data }: Pick<IdentityRow, 'provider' | 'provider_id' | 'identity_data'>
): Promise<IdentityRow> {
  const [row] = await tx.insert(identities)
    .values({ user_id, provider, provider_id, identity_data, last_sign_in_at: new Date() }).returning()
  return row!
}

export async function addEmailIdentity (
  tx: Executor, { id, email, email_confirmed_at }: Pick<UserRow, 'id' | 'email' | 'email_confirmed_at'>
): Promise<void> {
  const identity_data = { sub: id, email, email_verified: email_confirmed_at !== null, phone_verified: false }
  await addIdentity(tx, id, { provider: 'email', provider_id: id, identity_data })
}

/** Writes the providers of a person's identities to `app_metadata.provider(s)`, and returns the person's row. */
export async function updateProviders (tx: Transaction, id: string): Promise<UserRow> {
  const rows = await tx.select({ provider: identities.provider }).from(identities)
    .where(eq(identities.user_id, id)).orderBy(asc(identities.created_at))
  const providers = [...new Set(rows.map(({ provider }) => provider))]
  const metadata = JSON.stringify({ provider: providers[0] ?? 'email', providers })
  const [row] = await tx.update(users)
    .set({ app_metadata: sql`${users.app_metadata} || ${metadata}::jsonb`, updated_at: new Date() })
    .where(eq(users.id, id)).returning()
  return row!
}

export async function updateEmailIdentity (
  tx: Transaction, { id, email, email_confirmed_at }: Pick<UserRow, 'id' | 'email' | 'email_confirmed_at'>
): Promise<void> {
  const data = JSON.stringify({ email, email_verified: email_confirmed_at !== null })
  await tx.update(identities)
    .set({ identity_data: sql`${identities.identity_data} || ${data}::jsonb`, updated_at: new Date() })
    .where(and(eq(identities.user_id, id), eq(identities.provider, 'email')))
}
