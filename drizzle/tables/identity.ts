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

/** What is known of a person; its keys belong to the provider and to the front end. */
export type Metadata = Record<string, unknown>

/** One way of having signed in, and when (RFC 8176 names the claim `amr`). */
export interface AuthenticationMethod { method: string, timestamp: number }

/** Whether a hash is of another kind or cost than ours (`sign-in/passwords.ts`), so that it takes another time. */
export const isImportedHash = (hash: AnyPgColumn) => sql`${hash} not like '$argon2id$v=19$m=19456,t=2,p=1$%'`

/** People who can sign in. The columns are named as Supabase Auth names the fields of a user. */
export const users = pgTable('users', {
  id: uuid().primaryKey().defaultRandom(),
  /** Normalized: trimmed, plain ASCII, lower case. */
  email: text().notNull(),
  /** An argon2id or, imported, a bcrypt hash; null: this account has no password. */
  password_hash: text(),
  /**
   * The digest of the cookie of the browser that chose the password in a sign-up: until the address is confirmed in the
   * same browser, the password may be a stranger's. Null for all others.
   */
  password_browser: bytea(),
  email_confirmed_at: instantDate(),
  invited_at: instantDate(),
  confirmation_sent_at: instantDate(),
  recovery_sent_at: instantDate(),
  /** An address that is waiting to be confirmed. */
  new_email: text(),
  email_change_sent_at: instantDate(),
  reauthentication_sent_at: instantDate(),
  last_sign_in_at: instantDate(),
  /** Written by administrators alone: `role`, `provider`, `providers`. */
  app_metadata: jsonb().$type<Metadata>().notNull().default({}),
  /** Written by the person: never a source of rights. */
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

/** The accounts through which a person can sign in: by e-mail, or at another provider. */
export const identities = pgTable('identities', {
  /** `identity_id` on the wire. */
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  provider: text().notNull(),
  /** The provider's id of the person (`sub`); for `email` the user's own id. `id` on the wire. */
  provider_id: text().notNull(),
  identity_data: jsonb().$type<Metadata>().notNull(),
  last_sign_in_at: instantDate(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  unique('identities_provider_id').on(t.provider, t.provider_id),
  index('identities_user').on(t.user_id)
])

/** A person's login on one device. Deleting the row ends the session: its tokens are refused. */
export const sessions = pgTable('sessions', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  amr: jsonb().$type<AuthenticationMethod[]>().notNull(),
  /** The provider of the identity that began it. */
  provider: text().notNull(),
  /** The second factor that was proven in it; null: none, the session is at `aal1`. */
  factor_id: uuid().references(() => factors.id, { onDelete: 'set null' }),
  /** The number of the current refresh token. The tokens are computed, not kept. */
  refresh_counter: integer().notNull().default(0),
  refreshed_at: instantDate(),
  /** How many doubtful repeats of a refresh there were on the session's day `repeats_day`: its first day is 0. */
  repeats: integer().notNull().default(0),
  repeats_day: integer().notNull().default(0),
  /** The session ends then, however often it is refreshed. */
  not_after: instantDate().notNull(),
  user_agent: text(),
  ip: text(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [index('sessions_user').on(t.user_id), index('sessions_factor').on(t.factor_id)])

/** What a person proves after the password: an app, or one of a set of recovery codes. */
export const factors = pgTable('factors', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  factor_type: text({ enum: FACTOR_TYPES }).notNull(),
  status: text({ enum: FACTOR_STATUSES }).notNull(),
  friendly_name: text(),
  /** Of an app, sealed. */
  secret: bytea(),
  /** The latest time step (RFC 6238) whose code was taken: no code is good twice. */
  last_step: integer(),
  last_challenged_at: instantDate(),
  created_at: instantDate().notNull().defaultNow(),
  updated_at: instantDate().notNull().defaultNow()
}, (t) => [
  index('factors_user').on(t.user_id),
  uniqueIndex('factors_recovery_codes').on(t.user_id).where(sql`${t.factor_type} = 'recovery_code'`)
])

/** Proofs of a factor that were begun and not ended. */
export const factor_challenges = pgTable('factor_challenges', {
  id: uuid().primaryKey().defaultRandom(),
  factor_id: uuid().notNull().references(() => factors.id, { onDelete: 'cascade' }),
  /** Where it was begun: it is ended from there. */
  network: text().notNull(),
  /** What a device is to sign; null: an app shows a code. */
  challenge: text(),
  created_at: instantDate().notNull().defaultNow()
}, (t) => [index('factor_challenges_factor').on(t.factor_id)])

/** Recovery codes, of which only keyed fingerprints are kept. */
export const recovery_codes = pgTable('recovery_codes', {
  factor_id: uuid().notNull().references(() => factors.id, { onDelete: 'cascade' }),
  fingerprint: bytea().notNull(),
  used_at: instantDate()
}, (t) => [primaryKey({ columns: [t.factor_id, t.fingerprint] })])

/** A sign-in through another provider or a link in a mail, from its start until its code is exchanged. */
export const flow_states = pgTable('flow_states', {
  /** The `state` of OAuth 2. */
  id: uuid().primaryKey().defaultRandom(),
  provider: text().notNull(),
  /** PKCE (RFC 7636) of the client towards us; null: tokens come back in the fragment. */
  code_challenge: text(),
  code_challenge_method: text(),
  /** The password of the sign-up that began it: the account gets it when the client that began it ends it. */
  password_hash: text(),
  redirect_to: text().notNull(),
  /** The user who is linking a further identity. */
  linking_user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  /** PKCE and nonce of ours towards the provider, sealed. */
  provider_secrets: bytea(),
  /** SHA-256 of the code that the client exchanges. */
  auth_code: bytea(),
  user_id: uuid().references(() => users.id, { onDelete: 'cascade' }),
  authentication_method: text().notNull(),
  /** The provider's own tokens until they are handed over, sealed. */
  provider_tokens: bytea(),
  created_at: instantDate().notNull().defaultNow(),
  /** When the provider came back; the code lives from then. */
  authenticated_at: instantDate()
}, (t) => [
  uniqueIndex('flow_states_auth_code').on(t.auth_code),
  index('flow_states_created_at').on(t.created_at)
])

/**
 * The codes and links sent by mail to prove an address, one of each kind per person. Only keyed fingerprints are kept.
 */
export const one_time_tokens = pgTable('one_time_tokens', {
  id: uuid().primaryKey().defaultRandom(),
  user_id: uuid().notNull().references(() => users.id, { onDelete: 'cascade' }),
  kind: text({ enum: TOKEN_KINDS }).notNull(),
  /** The address that the mail went to. */
  sent_to: text().notNull(),
  otp_fingerprint: bytea().notNull(),
  link_fingerprint: bytea().notNull(),
  /** The number of wrong codes so far. */
  attempts: integer().notNull().default(0),
  flow_state_id: uuid().references(() => flow_states.id, { onDelete: 'set null' }),
  created_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull()
}, (t) => [
  unique('one_time_tokens_kind').on(t.user_id, t.kind),
  index('one_time_tokens_link').on(t.link_fingerprint)
])

/**
 * The keys that sign access tokens (ES256). A key is published from its creation on and signs from `signs_from` on,
 * until a newer key signs.
 */
export const signing_keys = pgTable('signing_keys', {
  kid: text().primaryKey(),
  /** The public key as PEM (SubjectPublicKeyInfo). */
  public_key: text().notNull(),
  /** The private key as PEM (PKCS #8), sealed. */
  private_key: bytea().notNull(),
  signs_from: instantDate().notNull(),
  /** After this no token with its signature is accepted; null while it is in use. */
  retires_at: instantDate(),
  created_at: instantDate().notNull().defaultNow()
})

/** Keys of persons. The secret is shown once; only its hash is kept. `user_id` may be one of an external provider. */
export const api_keys = pgTable('api_keys', {
  id: text().primaryKey(),
  user_id: uuid().notNull(),
  name: text().notNull(),
  /** SHA-256 of the whole key: it is random, so a slow hash would add nothing. */
  secret_hash: bytea().notNull(),
  scopes: text({ enum: SCOPES }).array().notNull(),
  /** Whether it was made in a session with a second factor. */
  second_factor: boolean().notNull().default(false),
  created_at: instantDate().notNull().defaultNow(),
  expires_at: instantDate().notNull(),
  last_used_at: instantDate(),
  revoked_at: instantDate()
}, (t) => [index('api_keys_user').on(t.user_id)])

/** Sessions of an external provider whose tokens this server has seen: the provider has no list of sessions. */
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
