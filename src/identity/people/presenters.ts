import type { AuthFactor } from '#schemas/auth/factor.ts'
import type { AuthUser } from '#schemas/auth/user.ts'
import type { Session } from '#schemas/session.ts'
import { AUDIENCE } from '../tokens/machine-tokens.ts'
import type { FactorRow, IdentityRow, User } from './find-users.ts'

export function presentUser (user: User): AuthUser {
  const { id, email, app_metadata, user_metadata, created_at, updated_at, email_confirmed_at } = user
  return {
    id,
    aud: AUDIENCE,
    role: AUDIENCE,
    email,
    phone: '',
    ...instants({
      email_confirmed_at,
      confirmed_at: email_confirmed_at,
      invited_at: user.invited_at,
      confirmation_sent_at: user.confirmation_sent_at,
      recovery_sent_at: user.recovery_sent_at,
      email_change_sent_at: user.email_change_sent_at,
      reauthentication_sent_at: user.reauthentication_sent_at,
      last_sign_in_at: user.last_sign_in_at,
      banned_until: user.banned_until,
      deleted_at: user.deleted_at
    }),
    ...(user.new_email === null ? {} : { new_email: user.new_email }),
    app_metadata,
    user_metadata,
    identities: user.identities.map(presentIdentity),
    ...(user.factors.length > 0 ? { factors: user.factors.map(presentFactor) } : {}),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    is_anonymous: false
  }
}

function presentIdentity ({
  id, user_id, provider, provider_id, identity_data, last_sign_in_at, created_at, updated_at
}: IdentityRow): AuthUser['identities'][number] {
  return {
    identity_id: id,
    id: provider_id,
    user_id,
    identity_data,
    provider,
    ...instants({ last_sign_in_at }),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    ...(typeof identity_data.email === 'string' ? { email: identity_data.email } : {})
  }
}

export function presentFactor (
  { id, factor_type, status, friendly_name, last_challenged_at, created_at, updated_at }: FactorRow
): AuthFactor {
  return {
    id,
    ...(friendly_name === null ? {} : { friendly_name }),
    factor_type,
    status,
    ...instants({ last_challenged_at }),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString()
  }
}

/** A session in the form that its owner sees. @param current the session of the request */
export function presentSession (
  { id, created_at, updated_at, user_agent, ip }:
  Pick<Session, 'id' | 'user_agent' | 'ip'> & { created_at: Date, updated_at: Date },
  current: string | undefined
): Session {
  return {
    id,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
    user_agent,
    ip,
    current: id === current
  }
}

function instants<K extends string> (values: Record<K, Date | null>): Partial<Record<K, string>> {
  const known = Object.entries<Date | null>(values).flatMap(([name, value]) =>
    value === null ? [] : [[name, value.toISOString()] as const]
  )
  return Object.fromEntries(known) as Partial<Record<K, string>>
}
