import { hash } from 'node:crypto'
import type { JWT } from '@fastify/jwt'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Authenticator, Identified, Principal, Refusal } from '#src/plugins/auth.ts'
import { AUDIENCE } from './access-token.ts'
import type { Standing } from '../embedded/standings.ts'

/** A person's token whose signature and claims hold. Whether its session still stands is another question. */
export interface Verified {
  userId: string
  sessionId: string
  /** Milliseconds since the epoch. */
  expiresAt: number
}

/** What the bearers of tokens are judged by, of the embedded provider or of another one. */
export interface Judge<V extends Verified> {
  /** Signature and claims of a token that is not remembered. */
  verify (token: string): Promise<V | Identified>
  /** Whether what held before is believed without another look at the signature. */
  isLive (subject: V): boolean
  /** How its session stands; at once when that is remembered. */
  standing (subject: V, request: FastifyRequest, token: string): Standing | Refusal | Promise<Standing | Refusal>
}

/** The caller behind a token that no person stands behind. */
export const SERVICE: Principal = { id: 'service', kind: 'service', admin: true }

const SERVICE_ROLES = new Set(['service_role', 'supabase_admin'])
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Beyond this nothing is a token: a request's headers have 16 KiB. */
const LONGEST_TOKEN = 16_384
const REMEMBERED_TOKENS = 5000
/** How far another clock may be ahead. */
const AHEAD_MS = 60_000

/**
 * Who bears a token. Tokens are remembered by SHA-256: a signature costs more to check than everything else of a small
 * request.
 */
export function bearerAuthenticator<V extends Verified> ({
  verify,
  isLive,
  standing
}: Judge<V>): Authenticator['bearer'] {
  const verified = new LRUCache<string, V>({ max: REMEMBERED_TOKENS })

  return function bearer (token, request) {
    if (token.length > LONGEST_TOKEN) return 'bad_jwt'
    const digest = hash('sha256', token, 'base64')
    const known = verified.get(digest)
    if (known === undefined || known.expiresAt <= Date.now() || !isLive(known)) {
      return firstSight(digest, token, request)
    }
    const found = standing(known, request, token)
    return found instanceof Promise ? found.then((standing) => person(known, standing)) : person(known, found)
  }

  async function firstSight (digest: string, token: string, request: FastifyRequest): Promise<Identified> {
    verified.delete(digest)
    const found = await verify(token)
    if (typeof found === 'string' || !('expiresAt' in found)) return found
    const identity = person(found, await standing(found, request, token))
    if (typeof identity !== 'string') verified.set(digest, found)
    return identity
  }
}

function person ({ userId, sessionId }: Verified, standing: Standing | Refusal): Identified {
  if (typeof standing === 'string') return standing
  const { userId: owner, admin, pending } = standing
  return owner === userId ? { id: `user:${userId}`, kind: 'user', admin, userId, sessionId, pending } : 'bad_jwt'
}

export interface Signature {
  key: string | Buffer
  algorithm: 'ES256' | 'RS256' | 'HS256'
  issuer: string
  maxAgeSeconds: number
}

/** A person's token: who, which session, and all its claims. Undefined for one that does not hold. */
export function readPersonToken (jwt: JWT, token: string, { key, algorithm, issuer, maxAgeSeconds }: Signature) {
  const claims = claimsOf(jwt, token, {
    key,
    algorithms: [algorithm],
    allowedIss: issuer,
    allowedAud: AUDIENCE,
    requiredClaims: ['iss', 'aud', 'sub', 'role', 'session_id', 'iat', 'exp'],
    // Seconds, to this plugin; milliseconds to the library below it.
    maxAge: maxAgeSeconds
  })
  const { sub: userId, session_id: sessionId, role, iat, exp } = claims ?? {}
  if (
    claims === undefined ||
    role !== AUDIENCE ||
    !isUuid(userId) ||
    !isUuid(sessionId) ||
    typeof iat !== 'number' ||
    typeof exp !== 'number'
  ) { return undefined }
  const issuedAt = iat * 1000
  // A time of issue to come would make the greatest age meaningless.
  if (issuedAt > Date.now() + AHEAD_MS) return undefined
  return { userId, sessionId, expiresAt: Math.min(exp * 1000, issuedAt + maxAgeSeconds * 1000), claims }
}

/**
 * A token without a person: the service's, or the public key, which is nobody. Issuers are those whose secret it is.
 */
export function readMachineToken (jwt: JWT, token: string, key: Buffer, issuers: string[]): Identified {
  const claims = claimsOf(jwt, token, {
    key,
    algorithms: ['HS256'],
    allowedIss: issuers,
    requiredClaims: ['iss', 'role', 'exp']
  })
  if (claims === undefined) return 'bad_jwt'
  return typeof claims.role === 'string' && SERVICE_ROLES.has(claims.role) && claims.sub === undefined
    ? SERVICE
    : 'no_authorization'
}

/** The header of a token, nothing of which is to be believed yet. */
export function headerOf (jwt: JWT, token: string): Record<string, unknown> | undefined {
  try {
    return jwt.decode<{ header: Record<string, unknown> }>(token, { complete: true })?.header
  } catch {
    return undefined
  }
}

function claimsOf (jwt: JWT, token: string, how: Parameters<JWT['verify']>[1]): Record<string, unknown> | undefined {
  try {
    return jwt.verify<Record<string, unknown>>(token, how)
  } catch {
    return undefined
  }
}

function isUuid (value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}
