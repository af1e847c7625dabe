import { randomBytes } from 'node:crypto'
import type { AdminUserBody } from '#schemas/auth/requests.ts'
import { isEmail } from '../people/email.ts'
import { AuthError } from '../errors.ts'
import { mergeMetadata, storableMetadata } from '../people/metadata.ts'
import { isKnownHash, requireStrongPassword, type Passwords } from '../sign-in/passwords.ts'
import type { User } from '../people/find-users.ts'
import type { NewUser, UserChange } from '../people/users.ts'
import { AUDIENCE } from '../tokens/access-token.ts'

const UNITS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 }
const GO_DURATION = /^(\d{1,9}(\.\d{1,3})?(h|ms|m|s))+$/
const NIL = '00000000-0000-0000-0000-000000000000'
/** No ban is longer: its end must be a valid date. */
const LONGEST_MS = 200 * 365 * 86_400_000

/** The account that an administrator describes, with a random password that is not shown where none is given. */
export async function newUserOf (body: AdminUserBody, passwords: Passwords, withPassword = true): Promise<NewUser> {
  const { email, password, password_hash: imported, phone } = body
  if (phone) throw new AuthError('phone_provider_disabled')
  requireOnlyRole(body)
  if (!email || !isEmail(email)) {
    throw new AuthError('validation_failed', { message: 'Unable to validate email address: invalid format' })
  }
  if (imported !== undefined && !isKnownHash(imported)) {
    throw new AuthError('validation_failed', { message: 'Password hash is of an unknown kind, or too expensive' })
  }
  if (password !== undefined && imported !== undefined) {
    throw new AuthError('validation_failed', { message: 'Only a password or a password hash should be provided' })
  }
  if (password !== undefined) requireStrongPassword(password, email)
  const metadata = metadataOf(body)
  const chosen =
    password ?? (withPassword && imported === undefined ? randomBytes(48).toString('base64url') : undefined)
  return {
    id: idOf(body),
    email,
    password_hash: chosen === undefined ? imported : await passwords.hash(chosen),
    confirmed: body.email_confirm === true,
    ...metadata
  }
}

/** Everybody has the same role and audience: rights are in `app_metadata`. @throws AuthError validation_failed */
function requireOnlyRole ({ role, aud }: AdminUserBody): void {
  if (role && role !== AUDIENCE) {
    const message = `role can only be ${AUDIENCE}: rights are in app_metadata.role`
    throw new AuthError('validation_failed', { message })
  }
  if (aud && aud !== AUDIENCE) throw new AuthError('validation_failed', { message: `aud can only be ${AUDIENCE}` })
}

/** @throws AuthError validation_failed */
function idOf ({ id }: AdminUserBody): string | undefined {
  if (id === NIL) throw new AuthError('validation_failed', { message: 'ID cannot be a nil uuid' })
  return id?.toLowerCase()
}

function metadataOf ({ app_metadata, user_metadata }: AdminUserBody): Pick<NewUser, 'app_metadata' | 'user_metadata'> {
  return {
    app_metadata: app_metadata && storableMetadata(app_metadata, 'app'),
    user_metadata: user_metadata && storableMetadata(user_metadata)
  }
}

/** The change that an administrator asks for. Metadata are merged, and null removes a key. */
export function userChangeOf (body: AdminUserBody, user: User): UserChange {
  const { email, email_confirm: confirm, app_metadata, user_metadata, ban_duration: ban } = body
  return {
    ...(email === undefined ? {} : { email }),
    ...(confirm === true ? { email_confirmed_at: user.email_confirmed_at ?? new Date() } : {}),
    ...(app_metadata === undefined
      ? {}
      : { app_metadata: storableMetadata(mergeMetadata(user.app_metadata, app_metadata), 'app') }),
    ...(user_metadata === undefined
      ? {}
      : { user_metadata: storableMetadata(mergeMetadata(user.user_metadata, user_metadata)) }),
    ...(ban === undefined ? {} : { banned_until: ban === 'none' ? null : new Date(Date.now() + durationMs(ban)) })
  }
}

/** A duration as Go writes one (`24h`, `1h30m`), in milliseconds. */
function durationMs (text: string): number {
  if (!GO_DURATION.test(text)) throw new AuthError('validation_failed', { message: 'invalid format for ban duration' })
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)]
  return Math.min(LONGEST_MS, parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * UNITS[unit!]!, 0))
}
