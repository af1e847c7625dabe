import type { AuthSession } from '#schemas/auth/session.ts'
import { levelOf } from '../factors/methods.ts'
import type { User } from '../people/find-users.ts'
import { presentUser } from '../people/present.ts'
import { signAccessToken } from '../tokens/access-token.ts'
import { encodeRefreshToken } from '../tokens/refresh-token.ts'
import type { SigningKeys } from '../tokens/signing-keys.ts'
import type { SessionRow } from './sessions.ts'

/** What signs the tokens of this installation. */
export interface TokenSigner {
  issuer: string
  signingKeys: SigningKeys
  refreshSecret: Buffer
}

/** The answer to a sign-in: new tokens, and the user. */
export async function sessionAnswer (
  { issuer, signingKeys, refreshSecret }: TokenSigner,
  user: User,
  session: SessionRow
): Promise<AuthSession> {
  const { email, app_metadata, user_metadata } = user
  const subject = {
    userId: user.id,
    sessionId: session.id,
    email,
    app_metadata,
    user_metadata,
    aal: levelOf(session),
    amr: session.amr
  }
  const { token, expiresIn, expiresAt } = await signAccessToken(signingKeys, issuer, subject)
  return {
    access_token: token,
    token_type: 'bearer',
    expires_in: expiresIn,
    expires_at: expiresAt,
    refresh_token: encodeRefreshToken(refreshSecret, { sessionId: session.id, counter: session.refresh_counter }),
    user: presentUser(user)
  }
}
