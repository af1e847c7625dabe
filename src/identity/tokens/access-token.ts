import { createSigner } from 'fast-jwt'
import type { AuthenticationMethod, Metadata } from '#drizzle/tables/identity.ts'
import type { AssuranceLevel } from '#schemas/auth/factor.ts'
import { ACCESS_TOKEN_SECONDS, type SigningKeys } from './signing-keys.ts'

/** The audience of access tokens (RFC 7519 `aud`), and the role of every person in them: rights are read elsewhere. */
export const AUDIENCE = 'authenticated'

/** The person and the session that a token is for. */
export interface TokenSubject {
  userId: string
  sessionId: string
  email: string
  app_metadata: Metadata
  user_metadata: Metadata
  aal: AssuranceLevel
  amr: AuthenticationMethod[]
}

export interface AccessToken { token: string, expiresIn: number, expiresAt: number }

/**
 * Signs access tokens with the claims of Supabase Auth (`internal/tokens/service.go`). Times are seconds since the
 * epoch.
 */
export async function signAccessToken (
  signingKeys: SigningKeys,
  issuer: string,
  subject: TokenSubject
): Promise<AccessToken> {
  const { kid, privatePem } = await signingKeys.current()
  const { userId: sub, sessionId: session_id, email, app_metadata, user_metadata, aal, amr } = subject
  const iat = Math.floor(Date.now() / 1000)
  const exp = iat + ACCESS_TOKEN_SECONDS
  const sign = createSigner({ key: privatePem, algorithm: 'ES256', kid })
  const token = sign({
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
    aal,
    amr,
    session_id,
    is_anonymous: false
  })
  return { token, expiresIn: ACCESS_TOKEN_SECONDS, expiresAt: exp }
}
