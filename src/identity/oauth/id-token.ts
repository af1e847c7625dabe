import { createHash } from 'node:crypto'
import {
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTPayload
} from 'jose'
import type { OpenidProvider } from '#schemas/oauth-provider.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { fetchFromProvider, PROVIDER_TIMEOUT_SECONDS } from './fetch-from-provider.ts'
import { profileOf, type Profile } from './profile.ts'

export interface IdTokenChecks {
  /** The text whose SHA-256, in hexadecimal, is the `nonce` of the token. */
  nonce?: string
  /** The access token that the provider issued together with the ID token. */
  accessToken?: string
}

interface Issuer { issuer: string, jwks_uri?: string }

/** Only public-key algorithms, because the secret shared with the provider must not sign ID tokens. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
/** Allowed clock skew between two servers. */
const TOLERANCE_SECONDS = 30

/** Verifies ID tokens that an app got through the provider's SDK (OpenID Connect Core, 3.1.3.7). */
export function idTokenReader ({ client_id }: Pick<OpenidProvider, 'client_id'>, discover: () => Promise<Issuer>) {
  const keySets = new Map<string, JWTVerifyGetKey>()

  function keysAt (uri = ''): JWTVerifyGetKey {
    const known = keySets.get(uri)
    if (known) return known
    const timeoutDuration = PROVIDER_TIMEOUT_SECONDS * 1000
    const keys = createRemoteJWKSet(new URL(uri), {
      timeoutDuration,
      [customFetch]: (url, { method, headers, redirect, signal }) =>
        fetchFromProvider(url, { method, headers: Object.fromEntries(headers), redirect, signal, body: undefined })
    })
    keySets.set(uri, keys)
    return keys
  }

  /**
   * Returns the profile in an ID token after checking signature, issuer, audience, expiry, nonce and `at_hash`.
   * @throws AuthError validation_failed, ProviderUnreachable, and errors of discovery
   */
  return async function readIdToken (token: string, { nonce, accessToken }: IdTokenChecks): Promise<Profile> {
    requireForm(token)
    const { issuer, jwks_uri } = await discover()
    const { payload, protectedHeader: { alg } } = await jwtVerify(token, keysAt(jwks_uri), {
      issuer,
      audience: client_id,
      algorithms: ALGORITHMS,
      requiredClaims: ['sub', 'iat', 'exp'],
      clockTolerance: TOLERANCE_SECONDS
    }).catch((err: unknown) => { throw faultOf(err) })
    requireOwnAudience(payload, client_id)
    requireNonce(payload.nonce, nonce)
    if (accessToken && payload.at_hash !== undefined && payload.at_hash !== halfHash(alg, accessToken)) {
      throw bad('Bad ID token')
    }
    const { sub: subject, email, email_verified: emailVerified, name, preferred_username, nickname, picture } = payload
    return profileOf({
      issuer, subject, email, emailVerified, name, userName: preferred_username ?? nickname, picture
    })
  }
}

/** Rejects malformed tokens before a request to the provider. */
function requireForm (token: string): void {
  try {
    decodeProtectedHeader(token)
    decodeJwt(token)
  } catch {
    throw bad('Bad ID token')
  }
}

/** If a token has several audiences, this client must have requested it (OpenID Connect Core, 3.1.3.7). */
function requireOwnAudience ({ aud, azp }: JWTPayload, clientId: string): void {
  if (Array.isArray(aud) && aud.length > 1 && azp !== clientId) throw bad('Bad ID token')
}

/** The client sent only the hash to the provider and keeps the text. So a thief with only the token cannot use it. */
function requireNonce (inToken: unknown, given = ''): void {
  if ((inToken !== undefined && inToken !== '') !== (given !== '')) {
    throw bad('Passed nonce and nonce in id_token should either both exist or not.')
  }
  if (given !== '' && inToken !== createHash('sha256').update(given).digest('hex')) throw bad('Nonces mismatch')
}

/** The `at_hash` of an access token: the left half of its hash (OpenID Connect Core, 3.1.3.6). */
function halfHash (alg: string, accessToken: string): string {
  const digest = createHash(alg === 'EdDSA' ? 'sha512' : `sha${alg.slice(-3)}`).update(accessToken).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

function faultOf (err: unknown): unknown {
  if (!(err instanceof errors.JOSEError)) return err
  const isAudience = err instanceof errors.JWTClaimValidationFailed && err.claim === 'aud'
  return bad(isAudience ? 'Unacceptable audience in id_token' : 'Bad ID token')
}

function bad (message: string): AuthError {
  return validationFailed(message)
}
