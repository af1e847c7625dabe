import { sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid
} from 'drizzle-orm/pg-core'
import { SCOPES } from '#schemas/api-key.ts'
import { FACTOR_STATUSES, FACTOR_TYPES } from '#schemas/auth/factor.ts'
import { TOKEN_KINDS } from '#schemas/auth/one-time-token.ts'
import { bytea, instantDate } from './columns.ts'

/** Metadata of a user. The provider and the front end define its keys. */
export type Metadata = Record<string, unknown>

/** One authentication method of a session and its time (claim `amr`, RFC 8176). */
export interface AuthenticationMethod { method: string, timestamp: number }

/** True for a hash whose algorithm or cost differs from `sign-in/passwords.ts`. Verifying it takes a different time. */
export const isImportedHash = (hash: AnyPgColumn) => sql`${hash} not like '$argon2id$v=19$m=19456,t=2,p=1$%'`

/** Users who can sign in. Columns are named like the user fields of Supabase Auth. */
export const users = pgTable('users', {
  id: uuid().primaryKey().defaultRandom(),
  /** Normalized: trimmed, plain ASCII, lower case. */
  email: text().notNull(),
  /** An argon2id hash, or bcrypt if imported. Null: the account has no password. */
  password_hash: text(),
  /**
   * Digest of the browser cookie of the sign-up that chose the password. Until the same browser confirms the address, a
   * stranger may have chosen the password. Null for other accounts.
   */
  password_browser: bytea(),
  /** The server chose the password and printed it. The user must replace it before doing anything else. */
  password_printed: boolean().notNull().default(false),
  email_confirmed_at: instantDate(),
  invited_at: instantDate(),
  confirmation_sent_at: instantDate(),
  recovery_sent_at: instantDate(),
  /** A new address that awaits confirmation. */
  new_email: text(),
  email_change_sent_at: instantDate(),
  reauthentication_sent_at: instantDate(),
  last_sign_in_at: instantDate(),
  /** Written only by administrators: `role`, `provider`, `providers`. */
  app_metadata: jsonb().$type<Metadata>().notNull().default({}),
  /** Written by the user. Never a source of rights. */
  user_metadata: jsonb().$type<Metadata>().notNull().default({}),
  banned_until: instantDate(),
  deleted_at: instantDate(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  uniqueIndex('users_email').on(t.email).where(sql`${t.deleted_at} is null`),
  index('users_created_at').on(t.created_at, t.id),
  index('users_imported_hash').on(t.id).where(isImportedHash(t.password_hash))
])

/** The ways in which a user can sign in: by e-mail, or with an account at an external provider. */
export const identities = pgTable('identities', {
  /** `identity_id` in the API. */
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  provider: text().notNull(),
  /** The provider's user id (`sub`). For `email` the user's own id. `id` in the API. */
  provider_id: text().notNull(),
  identity_data: jsonb().$type<Metadata>().notNull(),
  last_sign_in_at: instantDate(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  unique('identities_provider_id').on(t.provider, t.provider_id),
  index('identities_user').on(t.user_id)
])

/** A sign-in on one device. Deleting the row ends the session and invalidates its tokens. */
export const sessions = pgTable('sessions', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  amr: jsonb().$type<AuthenticationMethod[]>().notNull(),
  /** The provider of the identity that started the session. */
  provider: text().notNull(),
  /** The verified second factor. Null: the session is at `aal1`. */
  factor_id: uuid().references(() => factors.id, { onDelete: 'set null' }),
  /** The number of the current refresh token. Tokens are derived from it, not stored. */
  refresh_counter: integer().notNull().default(0),
  refreshed_at: instantDate(),
  /** Suspicious token reuses on day `repeats_day` of the session. The first day is 0. */
  repeats: integer().notNull().default(0),
  repeats_day: integer().notNull().default(0),
  /** When the session expires, however often it is refreshed. */
  not_after: instantDate().notNull(),
  user_agent: text(),
  ip: text(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [index('sessions_user').on(t.user_id), index('sessions_factor').on(t.factor_id)])

/** Second factors: an authenticator app, or a set of recovery codes. */
export const factors = pgTable('factors', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  factor_type: text({ enum: FACTOR_TYPES }).notNull(),
  status: text({ enum: FACTOR_STATUSES }).notNull(),
  friendly_name: text(),
  /** The app's secret, encrypted. */
  secret: bytea(),
  /** The last accepted time step (RFC 6238), so that no code is accepted twice. */
  last_step: integer(),
  last_challenged_at: instantDate(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  index('factors_user').on(t.user_id),
  uniqueIndex('factors_recovery_codes').on(t.user_id).where(sql`${t.factor_type} = 'recovery_code'`)
])

/** Verifications of a factor in progress. */
export const factor_challenges = pgTable('factor_challenges', {
  id: uuid().primaryKey().defaultRandom(),
  factor_id: uuid().notNull().references(() => factors.id, { onDelete: 'cascade' }),
  /** The network of the request that started it. It must finish from there. */
  network: text().notNull(),
  /** The challenge that a device signs. Null: an app shows a code. */
  challenge: text(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('factor_challenges_factor').on(t.factor_id)])

/** Recovery codes, stored as keyed fingerprints. */
export const recovery_codes = pgTable('recovery_codes', {
  factor_id: uuid().notNull().references(() => factors.id, { onDelete: 'cascade' }),
  fingerprint: bytea().notNull(),
  used_at: instantDate()
}, (t) => [primaryKey({ columns: [t.factor_id, t.fingerprint] })])

/** A sign-in through an external provider or a mail link, from its start until its code is exchanged. */
export const flow_states = pgTable('flow_states', {
  /** The `state` of OAuth 2. */
  id: uuid().primaryKey().defaultRandom(),
  provider: text().notNull(),
  /** The client's PKCE challenge (RFC 7636). Null: tokens are returned in the URL fragment. */
  code_challenge: text(),
  code_challenge_method: text(),
  /** The password of the sign-up. The account gets it when the client that started the flow finishes it. */
  password_hash: text(),
  redirect_to: text().notNull(),
  /** The user who links another identity. */
  linking_user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  /** Our PKCE verifier and nonce for the provider, encrypted. */
  provider_secrets: bytea(),
  /** SHA-256 of the code that the client exchanges. */
  auth_code: bytea(),
  user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  authentication_method: text().notNull(),
  /** The provider's tokens until the client receives them, encrypted. */
  provider_tokens: bytea(),
  created_at: instantDate().notNull().defaultNow(),
  /** When the provider redirected back. The code's lifetime starts here. */
  authenticated_at: instantDate()
}, (t) => [
  uniqueIndex('flow_states_auth_code').on(t.auth_code),
  index('flow_states_created_at').on(t.created_at)
])

/** Codes and links mailed to verify an address, one of each kind per user. Only keyed fingerprints are stored. */
export const one_time_tokens = pgTable('one_time_tokens', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  kind: text({ enum: TOKEN_KINDS }).notNull(),
  /** The recipient of the mail. */
  sent_to: text().notNull(),
  otp_fingerprint: bytea().notNull(),
  link_fingerprint: bytea().notNull(),
  /** Number of wrong codes so far. */
  attempts: integer().notNull().default(0),
  flow_state_id: uuid().references(() => flow_states.id, { onDelete: 'set null' }),
  created_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull()
}, (t) => [
  unique('one_time_tokens_kind').on(t.user_id, t.kind),
  index('one_time_tokens_link').on(t.link_fingerprint)
])

/**
 * Keys that sign access tokens (ES256). A key is published when created. It signs from `signs_from` until a newer key
 * takes over.
 */
export const signing_keys = pgTable('signing_keys', {
  kid: text().primaryKey(),
  /** The public key as PEM (SubjectPublicKeyInfo). */
  public_key: text().notNull(),
  /** The private key as PEM (PKCS #8), encrypted. */
  private_key: bytea().notNull(),
  signs_from: instantDate().notNull(),
  /** The time from which its signatures are rejected. Null while the key is in use. */
  retires_at: instantDate(),
  created_at: instantDate().notNull().defaultNow()
})

/** Personal API keys. The secret is shown once and stored as a hash. `user_id` may belong to an external provider. */
export const api_keys = pgTable('api_keys', {
  id: text().primaryKey(),
  user_id: uuid().notNull(),
  name: text().notNull(),
  /** SHA-256 of the whole key. The key is random, so a slow hash would add nothing. */
  secret_hash: bytea().notNull(),
  scopes: text({ enum: SCOPES }).array().notNull(),
  /** Whether it was created in a session with a second factor. */
  second_factor: boolean().notNull().default(false),
  created_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull(),
  last_used_at: instantDate(),
  revoked_at: instantDate()
}, (t) => [index('api_keys_user').on(t.user_id)])

/** Sessions of an external provider whose tokens this server has seen, because the provider has no session list. */
export const seen_sessions = pgTable('seen_sessions', {
  id: uuid().primaryKey(),
  user_id: uuid().notNull(),
  user_agent: text(),
  ip: text(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow(),
  /** The latest `exp` of its tokens. */
  expires_at: instantDate().notNull(),
  revoked_at: instantDate()
}, (t) => [index('seen_sessions_user').on(t.user_id)])
