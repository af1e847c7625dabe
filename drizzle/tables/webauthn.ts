import { bigint, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { CEREMONIES } from '#schemas/auth/passkey.ts'
import { bytea, instantDate } from './columns.ts'
import { factors, users } from './identity.ts'

/** Public keys of people's devices (WebAuthn): passkeys to sign in with, and those of second factors. */
export const webauthn_credentials = pgTable('webauthn_credentials', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** The second factor whose key it is; null: a passkey. */
  factor_id: uuid().references(() => factors.id, { onDelete: 'cascade' }),
  /** The device's own name for it, base64url. */
  credential_id: text().notNull(),
  public_key: bytea().notNull(),
  /** How often the device says that it was used: it never goes back. */
  counter: bigint({ mode: 'number' }).notNull(),
  /** How browsers reach the device. */
  transports: text().array().notNull(),
  friendly_name: text(),
  created_at: instantDate().notNull().defaultNow(),
  last_used_at: instantDate()
}, (t) => [
  unique('webauthn_credentials_credential').on(t.credential_id),
  index('webauthn_credentials_user').on(t.user_id),
  index('webauthn_credentials_factor').on(t.factor_id)
])

/** What devices are to sign, for passkeys. */
export const webauthn_challenges = pgTable('webauthn_challenges', {
  id: uuid().primaryKey().defaultRandom(),
  ceremony: text({ enum: CEREMONIES }).notNull(),
  /** Who registers a passkey; null: somebody signs in. */
  user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  challenge: text().notNull(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('webauthn_challenges_created_at').on(t.created_at)])
