import { createSigner } from 'fast-jwt'
import type { AuthSession } from '#schemas/auth/session.ts'
import { levelOf } from '../session-status.ts'
import type { User } from '../people/find-users.ts'
import { presentUser } from '../people/presenters.ts'
import { AUDIENCE } from '../tokens/machine-tokens.ts'
import { encodeRefreshToken } from '../tokens/refresh-token.ts'
import { ACCESS_TOKEN_SECONDS, type SigningKeys } from '../tokens/signing-keys.ts'
import type { SessionRow } from './person-sessions.ts'

export interface TokenSigner {
  issuer: string
  signingKeys: SigningKeys
  refreshSecret: Buffer
}

/**
 * The response to a sign-in: new tokens, and the user. The access token has the claims of Supabase Auth
 * (`internal/tokens/service.go`), with times in seconds since the epoch.
 */
export async function sessionResponse (
  { issuer, signingKeys, refreshSecret }: TokenSigner, user: User, session: SessionRow
): Promise<AuthSession> {
  const { id: sub, email, app_metadata, user_metadata } = user
  const { id: session_id, amr, refresh_counter: counter } = session
  const { kid, privatePem } = await signingKeys.current()
  const iat = Math.floor(Date.now() / 1000)
  const exp = iat + ACCESS_TOKEN_SECONDS
  const access_token = createSigner({ key: privatePem, algorithm: 'ES256', kid })({
    iss: issuer,
    sub,
    aud: AUDIENCE,
    exp,
    iat,
    email,
    phone: '',
    app_metadata,
    user_metadata,
    role: AUDIENCE,
    aal: levelOf(session),
    amr,
    session_id,
    is_anonymous: false
  })
  return {
    access_token,
    token_type: 'bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    expires_at: exp,
    refresh_token: encodeRefreshToken(refreshSecret, { sessionId: session_id, counter }),
    user: presentUser(user)
  }
}
