import type { JWT } from '@fastify/jwt'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuthenticationMethod } from '#drizzle/tables/identity.ts'
import { secretComparer } from '#src/lib/secrets.ts'
import {
  permits, type Authenticator, type Credential, type Identified, type Principal, type Refusal
} from '#src/http/auth.ts'
import {
  bearerAuthenticator, headerOf, readMachineToken, readPersonToken, SERVICE, type SignatureCheck, type VerifiedToken
} from '../tokens/bearer.ts'
import { keyAuthenticator, type ApiKeyFormat } from '../keys/api-keys.ts'
import { isAdmin, isStaff } from '../people/roles.ts'
import { clientOf } from '../sign-in/person-sessions.ts'
import { mustHaveFactor, recentUntil, type KeyStatus, type SessionStatus } from '../session-status.ts'
import type { Jwks } from './jwks.ts'
import type { KeyStatusCache } from './key-status-cache.ts'
import type { SeenSession, SeenSessions } from './seen-sessions.ts'
import type { ExternalSettings } from './external-settings.ts'
import type { TokenLookup, UserLookup } from './user-lookup.ts'

interface Parts {
  settings: ExternalSettings
  jwks: Jwks
  tokens: TokenLookup
  seen: SeenSessions
  /** Undefined without the service key. Then users cannot be looked up, and users' API keys are rejected. */
  users: UserLookup | undefined
  keys: KeyStatusCache | undefined
  apiKeys: ApiKeyFormat
}

/** A token with the rights that it claims. `isAdmin` asks the provider, `isStillValid` only with a service key. */
interface ClaimingToken extends VerifiedToken, Pick<SessionStatus, 'admin' | 'pending' | 'lacks' | 'recentUntil'> {
  verifiedAt: number
}

/** The maximum age of a token, even if the provider gives it a longer lifetime. */
const MAX_AGE_SECONDS = 24 * 3600
/** After this time a signature is verified again, because the provider may have withdrawn its key. */
const RECHECK_MS = 600_000
/** Issuers of the keys that Supabase's hosting and its local environment issue. */
const KEY_ISSUERS = ['supabase', 'supabase-demo']

export function externalAuthenticator (app: FastifyInstance, parts: Parts): Authenticator {
  const { settings, tokens, seen, keys, apiKeys } = parts
  const isServiceKey = secretComparer(settings.serviceKey)
  const isAnonKey = secretComparer(settings.anonKey)

  return {
    bearer: bearerAuthenticator<ClaimingToken>({
      isStillValid: ({ verifiedAt }) => Date.now() - verifiedAt < RECHECK_MS,

      status (verified, request, token) {
        const cached = seen.cached(verified.sessionId)
        if (cached !== undefined) return statusOf(verified, cached)
        return seen.recordUse(verified, clientOf(request), () => tokens.isAccepted(token))
          .then((session) => statusOf(verified, session))
      },

      async verify (token) {
        if (isServiceKey(token)) return SERVICE
        return isAnonKey(token) ? 'no_authorization' : await verifyToken(app.jwt, parts, token)
      }
    }),

    key: keyAuthenticator(app, apiKeys, async (id) => await keys?.status(id)),
    isAdmin: (principal, request) => isAdminNow(parts, principal, request),
    isStillValid: (credential) => isStillValid(parts, credential)
  }
}

async function verifyToken (jwt: JWT, { jwks, settings }: Parts, token: string): Promise<ClaimingToken | Identified> {
  const { base: issuer, jwtSecret } = settings
  const signature = await signatureOf(headerOf(jwt, token) ?? {}, settings, jwks)
  const found = signature && readPersonToken(jwt, token, signature)
  if (found === undefined) {
    return signature?.algorithm === 'HS256'
      ? readMachineToken(jwt, token, jwtSecret!, [issuer, ...KEY_ISSUERS])
      : 'bad_jwt'
  }
  const { userId, sessionId, expiresAt, claims: { app_metadata, is_anonymous, ...claims } } = found
  // A provider with anonymous accounts gives such an account to any caller.
  if (is_anonymous === true) return 'no_authorization'
  const metadata = typeof app_metadata === 'object' && app_metadata !== null ? { ...app_metadata } : {}
  const admin = isAdmin(metadata)
  const hasProven = claims.aal === 'aal2'
  return {
    userId,
    sessionId,
    expiresAt,
    admin,
    pending: !isStaff(metadata),
    // The token does not show whether the person has a second factor at the provider.
    lacks: !hasProven && mustHaveFactor(settings, { admin }) ? 'proof' : undefined,
    recentUntil: hasProven ? recentUntil(methodsOf(claims.amr)) : undefined,
    verifiedAt: Date.now()
  }
}

/** The only key and algorithm that this token may use. A public key is never used as a shared secret. */
async function signatureOf (
  { alg, kid }: Record<string, unknown>, { base: issuer, jwtSecret }: ExternalSettings, jwks: Jwks
): Promise<SignatureCheck | undefined> {
  if (alg === 'HS256') return jwtSecret && { key: jwtSecret, algorithm: alg, issuer, maxAgeSeconds: MAX_AGE_SECONDS }
  if ((alg !== 'ES256' && alg !== 'RS256') || typeof kid !== 'string') return undefined
  const key = await jwks.key(kid)
  return key?.alg === alg ? { key: key.pem, algorithm: alg, issuer, maxAgeSeconds: MAX_AGE_SECONDS } : undefined
}

async function isAdminNow (
  { tokens, seen, users, keys }: Parts, principal: Principal, request: FastifyRequest
): Promise<boolean> {
  const { kind, admin, userId, sessionId, keyId, lacks } = principal
  if (kind !== 'user') return admin
  if (lacks !== undefined || !permits(principal, 'amministrazione')) return false
  const token = bearerTokenOf(principal, request)
  if (token !== undefined) {
    const user = await tokens.user(token, { userId: userId!, sessionId: sessionId! })
    return user !== undefined && isAdmin(user.app_metadata)
  }
  // Without a token the caller used an API key, or a session of the administrators' pages.
  if (sessionId !== undefined && await seen.isRevoked(sessionId)) return false
  const user = await users?.now(userId!)
  if (user === undefined || !isAdmin(user.app_metadata)) return false
  // The key's status depends on the data that the provider just returned about the person.
  return keyId === undefined || mayAdministerNow(await keys?.status(keyId))
}

async function isStillValid (
  { seen, users, keys }: Parts, { kind, userId, sessionId, keyId }: Credential
): Promise<boolean> {
  if (kind !== 'user') return true
  if (sessionId !== undefined && await seen.isRevoked(sessionId)) return false
  // Without the service key this server cannot ask the provider about a person.
  const user = users === undefined ? undefined : await users.now(userId!)
  if (users !== undefined && (user === undefined || !isStaff(user.app_metadata))) return false
  return keyId === undefined || await keys?.status(keyId) !== undefined
}

function mayAdministerNow (key: KeyStatus | undefined): boolean {
  return key !== undefined && key.admin && key.lacks === undefined
}

function statusOf (
  { admin, pending, lacks, recentUntil, expiresAt }: ClaimingToken, { userId, isRevoked }: SeenSession
): SessionStatus | Refusal {
  return isRevoked ? 'session_not_found' : { userId, admin, pending, lacks, recentUntil, endsAt: expiresAt }
}

/** The methods with a timestamp in a token's `amr`. */
function methodsOf (amr: unknown): AuthenticationMethod[] {
  return (Array.isArray(amr) ? amr as unknown[] : []).filter((entry): entry is AuthenticationMethod => (
    typeof entry === 'object' && entry !== null && 'method' in entry && typeof entry.method === 'string' &&
    'timestamp' in entry && typeof entry.timestamp === 'number'
  ))
}

/** The caller's own bearer token. Undefined when the caller used another credential. */
export function bearerTokenOf ({ sessionId }: Principal, { principal, headers }: FastifyRequest): string | undefined {
  return sessionId !== undefined && principal?.sessionId === sessionId
    ? headers.authorization?.replace(/^Bearer /i, '')
    : undefined
}
