import type { AuthFactor } from '#schemas/auth/factor.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import { AUDIENCE } from '../tokens/machine-tokens.ts'
import { isUuid } from '../uuid.ts'

type Fields = Record<string, unknown>
type Identity = AuthUser['identities'][number]

const INSTANTS = [
  'email_confirmed_at', 'invited_at', 'confirmation_sent_at', 'confirmed_at', 'recovery_sent_at',
  'email_change_sent_at', 'reauthentication_sent_at', 'last_sign_in_at', 'banned_until', 'deleted_at'
] as const

/**
 * Parses a user as Supabase Auth writes it (`internal/models/user.go`) into this API's shape. Missing or null fields
 * get their default, and unknown fields are dropped. Undefined when the value is not a user.
 */
export function readUser (value: unknown): AuthUser | undefined {
  const fields = object(value)
  if (fields === undefined || !isUuid(fields.id)) return undefined
  const { id, new_email } = fields
  const created_at = instant(fields.created_at) ?? new Date(0).toISOString()
  return {
    id: id.toLowerCase(),
    aud: text(fields.aud, AUDIENCE),
    role: text(fields.role, AUDIENCE),
    email: text(fields.email),
    phone: text(fields.phone),
    ...instants(fields, INSTANTS),
    ...(typeof new_email === 'string' && new_email !== '' ? { new_email } : {}),
    app_metadata: object(fields.app_metadata) ?? {},
    user_metadata: object(fields.user_metadata) ?? {},
    identities: Array.isArray(fields.identities)
      ? fields.identities.map(readIdentity).filter((identity) => identity !== undefined)
      : [],
    ...(Array.isArray(fields.factors)
      ? { factors: fields.factors.map(readFactor).filter((factor) => factor !== undefined) }
      : {}),
    created_at,
    updated_at: instant(fields.updated_at) ?? created_at,
    is_anonymous: fields.is_anonymous === true
  }
}

export function readUsers (body: unknown): AuthUser[] | undefined {
  const users = object(body)?.users
  return Array.isArray(users) ? users.map(readUser).filter((user) => user !== undefined) : undefined
}

export function isBannedOrDeleted (user: Pick<AuthUser, 'banned_until' | 'deleted_at'>): boolean {
  const { banned_until, deleted_at } = user
  return deleted_at !== undefined || (banned_until !== undefined && Date.parse(banned_until) > Date.now())
}

function readIdentity (value: unknown): Identity | undefined {
  const fields = object(value)
  if (
    fields === undefined || !isUuid(fields.identity_id) || !isUuid(fields.user_id) ||
    typeof fields.provider !== 'string'
  ) { return undefined }
  const { identity_id, id, user_id, provider, email } = fields
  const created_at = instant(fields.created_at) ?? new Date(0).toISOString()
  return {
    identity_id,
    id: text(id),
    user_id,
    identity_data: object(fields.identity_data) ?? {},
    provider,
    ...instants(fields, ['last_sign_in_at']),
    created_at,
    updated_at: instant(fields.updated_at) ?? created_at,
    ...(typeof email === 'string' ? { email } : {})
  }
}

function readFactor (value: unknown): AuthFactor | undefined {
  const fields = object(value)
  if (fields === undefined || !isUuid(fields.id)) return undefined
  const { id, friendly_name, factor_type, status } = fields
  const created_at = instant(fields.created_at) ?? new Date(0).toISOString()
  return {
    id,
    ...(typeof friendly_name === 'string' && friendly_name !== '' ? { friendly_name } : {}),
    factor_type: text(factor_type),
    status: status === 'verified' ? status : 'unverified',
    ...instants(fields, ['last_challenged_at']),
    created_at,
    updated_at: instant(fields.updated_at) ?? created_at
  }
}

function object (value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value as Fields : undefined
}

function text (value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback
}

/** Converts a time to UTC and milliseconds. Supabase Auth writes microseconds and offsets. */
function instant (value: unknown): string | undefined {
  const date = new Date(typeof value === 'string' ? value : NaN)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

function instants<K extends string> (fields: Fields, names: readonly K[]): Partial<Record<K, string>> {
  const known = names.map((name) => [name, instant(fields[name])] as const).filter(([, at]) => at !== undefined)
  return Object.fromEntries(known) as Partial<Record<K, string>>
}
