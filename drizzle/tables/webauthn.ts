import { bigint, index, pgTable, text, unique, uuid } from 'drizzle-orm/pg-core'
import { CEREMONIES } from '#schemas/auth/passkey.ts'
import { bytea, instantDate } from './columns.ts'
import { factors, users } from './identity.ts'

/** WebAuthn public keys: passkeys for sign-in, and keys of second factors. */
export const webauthn_credentials = pgTable('webauthn_credentials', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  /** The second factor of the key. Null: a passkey. */
  factor_id: uuid().references(() => factors.id, { onDelete: 'cascade' }),
  /** The credential id of the device, base64url. */
  credential_id: text().notNull(),
  public_key: bytea().notNull(),
  /** The device's signature counter. It must never decrease. */
  counter: bigint({ mode: 'number' }).notNull(),
  /** WebAuthn transports of the device. */
  transports: text().array().notNull(),
  friendly_name: text(),
  created_at: instantDate().notNull().defaultNow(),
  last_used_at: instantDate()
}, (t) => [
  unique('webauthn_credentials_credential').on(t.credential_id),
  index('webauthn_credentials_user').on(t.user_id),
  index('webauthn_credentials_factor').on(t.factor_id)
])

/** Challenges of passkeys, which devices sign. */
export const webauthn_challenges = pgTable('webauthn_challenges', {
  id: uuid().primaryKey().defaultRandom(),
  ceremony: text({ enum: CEREMONIES }).notNull(),
  /** The user who registers a passkey. Null: a sign-in. */
  user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  challenge: text().notNull(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('webauthn_challenges_created_at').on(t.created_at)])
