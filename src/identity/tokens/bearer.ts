import { hash } from 'node:crypto'
import type { JWT } from '@fastify/jwt'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Authenticator, Identified, Principal, Refusal } from '#src/http/auth.ts'
import { AUDIENCE } from './machine-tokens.ts'
import type { SessionStatus } from '../session-status.ts'
import { isUuid } from '../uuid.ts'

/** A user's token with a valid signature and valid claims. Its session may still have ended. */
export interface VerifiedToken {
  userId: string
  sessionId: string
  expiresAt: number
}

interface BearerChecks<V extends VerifiedToken> {
  verify (token: string): Promise<V | Identified>
  isStillValid (verified: V): boolean
  /** The status of the token's session. Returns no promise when it is cached. */
  status (
    verified: V, request: FastifyRequest, token: string
  ): SessionStatus | Refusal | Promise<SessionStatus | Refusal>
}

/** The caller with a service token, which is a machine and not a person. */
export const SERVICE: Principal = { id: 'service', kind: 'service', admin: true }

const SERVICE_ROLES = new Set(['service_role', 'supabase_admin'])
/** Maximum length of a token. All request headers together are limited to 16 KiB. */
const MAX_TOKEN_LENGTH = 16_384
const CACHED_TOKENS = 5000
/** Allowed clock skew of the issuer. */
const AHEAD_MS = 60_000

/**
 * Identifies the caller by a token. Verified tokens are cached under their SHA-256, because a verification costs more
 * than all other work of a small request.
 */
export function bearerAuthenticator<V extends VerifiedToken> ({
  verify, isStillValid, status
}: BearerChecks<V>): Authenticator['bearer'] {
  const verified = new LRUCache<string, V>({ max: CACHED_TOKENS })

  return function bearer (token, request) {
    if (token.length > MAX_TOKEN_LENGTH) return 'bad_jwt'
    const digest = hash('sha256', token, 'base64')
    const known = verified.get(digest)
    if (known === undefined || known.expiresAt <= Date.now() || !isStillValid(known)) {
      return checkNewToken(digest, token, request)
    }
    const found = status(known, request, token)
    return found instanceof Promise ? found.then((status) => principalOf(known, status)) : principalOf(known, found)
  }

  async function checkNewToken (digest: string, token: string, request: FastifyRequest): Promise<Identified> {
    verified.delete(digest)
    const found = await verify(token)
    if (typeof found === 'string' || !('expiresAt' in found)) return found
    const identity = principalOf(found, await status(found, request, token))
    if (typeof identity !== 'string') verified.set(digest, found)
    return identity
  }
}

function principalOf ({ userId, sessionId, expiresAt }: VerifiedToken, status: SessionStatus | Refusal): Identified {
  if (typeof status === 'string') return status
  const { userId: owner, admin, pending, lacks, recentUntil, endsAt } = status
  if (owner !== userId) return 'bad_jwt'
  const goodUntil = Math.min(expiresAt, endsAt)
  return { id: `user:${userId}`, kind: 'user', admin, userId, sessionId, pending, lacks, recentUntil, goodUntil }
}

/** The only key, algorithm and issuer that are accepted for a token. */
export interface SignatureCheck {
  key: string | Buffer
  algorithm: 'ES256' | 'RS256' | 'HS256'
  issuer: string
  maxAgeSeconds: number
}

export function readPersonToken (jwt: JWT, token: string, { key, algorithm, issuer, maxAgeSeconds }: SignatureCheck) {
  const claims = claimsOf(jwt, token, {
    key,
    algorithms: [algorithm],
    allowedIss: issuer,
    allowedAud: AUDIENCE,
    requiredClaims: ['iss', 'aud', 'sub', 'role', 'session_id', 'iat', 'exp'],
    // Seconds for this plugin, milliseconds for the library below it.
    maxAge: maxAgeSeconds
  })
  const { sub: userId, session_id: sessionId, role, iat, exp } = claims ?? {}
  if (
    claims === undefined || role !== AUDIENCE || !isLowerCaseUuid(userId) || !isLowerCaseUuid(sessionId) ||
    typeof iat !== 'number' ||
    typeof exp !== 'number'
  ) { return undefined }
  const issuedAt = iat * 1000
  // A time of issue in the future would disable the age limit.
  if (issuedAt > Date.now() + AHEAD_MS) return undefined
  return { userId, sessionId, expiresAt: Math.min(exp * 1000, issuedAt + maxAgeSeconds * 1000), claims }
}

/**
 * Reads a machine's token. The service key gives the caller `SERVICE`, and the anonymous key is rejected.
 * @param issuers the issuers that share the secret
 */
export function readMachineToken (jwt: JWT, token: string, key: Buffer, issuers: string[]): Identified {
  const claims = claimsOf(jwt, token, {
    key, algorithms: ['HS256'], allowedIss: issuers, requiredClaims: ['iss', 'role', 'exp']
  })
  if (claims === undefined) return 'bad_jwt'
  const { role, sub, exp } = claims
  return typeof role === 'string' && SERVICE_ROLES.has(role) && sub === undefined
    ? { ...SERVICE, goodUntil: Number(exp) * 1000 }
    : 'no_authorization'
}

export function headerOf (jwt: JWT, token: string): Record<string, unknown> | undefined {
  try {
    return jwt.decode<{ header: Record<string, unknown> }>(token, { complete: true })?.header
  } catch {
    return undefined
  }
}

function claimsOf (jwt: JWT, token: string, checks: Parameters<JWT['verify']>[1]): Record<string, unknown> | undefined {
  try {
    return jwt.verify<Record<string, unknown>>(token, checks)
  } catch {
    return undefined
  }
}

/** Ids are compared as text. The database writes them in lower case. */
function isLowerCaseUuid (value: unknown): value is string {
  return isUuid(value) && value === value.toLowerCase()
}
