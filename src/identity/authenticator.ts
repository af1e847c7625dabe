import { hash, timingSafeEqual } from 'node:crypto'
import type { JWT } from '@fastify/jwt'
import { eq } from 'drizzle-orm'
import type { FastifyBaseLogger } from 'fastify'
import { LRUCache } from 'lru-cache'
import { api_keys } from '#drizzle/tables/index.ts'
import type { Authenticator, Identified, Principal } from '#src/plugins/auth.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { AUDIENCE } from './access-token.ts'
import type { ApiKeyFormat } from './api-keys.ts'
import { ACCESS_TOKEN_SECONDS, type SigningKeys } from './signing-keys.ts'
import type { Standing, Standings } from './standing.ts'

/** A token whose signature and claims hold. Whether its session still stands is another question. */
interface Verified { userId: string, sessionId: string, kid: string, expiresAt: number }

export interface AuthenticatorOptions {
  jwt: JWT
  /** Whose tokens are taken. */
  issuer: string
  machineSecret: Buffer
  signingKeys: SigningKeys
  standings: Standings
  apiKeys: ApiKeyFormat
  db: Database
  log: FastifyBaseLogger
}

const SERVICE_ROLES = new Set(['service_role', 'supabase_admin'])
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** Beyond this nothing is a token of ours. */
const LONGEST_TOKEN = 8192
const REMEMBERED_TOKENS = 5000
/** When a key was used is kept to the minute. */
const TOUCH_MS = 60_000

/** Who is behind a credential of the embedded provider. */
export function createAuthenticator (options: AuthenticatorOptions): Authenticator {
  const { jwt, issuer, machineSecret, signingKeys, standings, apiKeys, db, log } = options
  /** By SHA-256: a signature costs more to check than everything else of a small request. */
  const verified = new LRUCache<string, Verified>({ max: REMEMBERED_TOKENS })

  return {
    bearer (token) {
      if (token.length > LONGEST_TOKEN) return 'bad_jwt'
      const digest = hash('sha256', token, 'base64')
      const known = verified.get(digest)
      if (known === undefined) return verify(token, digest)
      if (known.expiresAt <= Date.now() || !signingKeys.isLive(known.kid)) {
        verified.delete(digest)
        return 'bad_jwt'
      }
      const standing = standings.remembered(known.sessionId)
      return standing === undefined ? bySession(known) : person(known, standing)
    },

    async key (text) {
      const presented = apiKeys.read(text)
      if (presented === undefined) return undefined
      const standing = await standings.key(presented.id)
      if (standing === undefined || !timingSafeEqual(standing.hash, presented.hash)) return undefined
      if (Date.now() - standing.lastUsedAt > TOUCH_MS) touch(presented.id, standing)
      const { userId, admin, pending, scopes } = standing
      return { id: `user:${userId}`, kind: 'user', userId, admin, pending, keyId: presented.id, scopes }
    },

    async isAdmin ({ kind, admin, userId, sessionId, scopes }) {
      if (kind !== 'user') return admin
      if (scopes !== undefined && !scopes.includes('amministrazione')) return false
      return await standings.isAdmin(userId!, sessionId)
    }
  }

  async function verify (token: string, digest: string): Promise<Identified> {
    const header = headerOf(token)
    if (header?.alg === 'HS256') return machine(token)
    if (header?.alg !== 'ES256' || typeof header.kid !== 'string') return 'bad_jwt'
    const key = await signingKeys.find(header.kid)
    if (key === undefined) return 'bad_jwt'
    const claims = claimsOf(token, {
      key, algorithms: ['ES256'], allowedIss: issuer, allowedAud: AUDIENCE, requiredClaims: ['iss', 'aud', 'sub', 'role', 'session_id', 'iat', 'exp'],
      maxAge: (ACCESS_TOKEN_SECONDS + 60) * 1000
    })
    const { sub, session_id: sessionId, role, exp } = claims ?? {}
    if (role !== AUDIENCE || !isUuid(sub) || !isUuid(sessionId) || typeof exp !== 'number') return 'bad_jwt'
    const subject: Verified = { userId: sub, sessionId, kid: header.kid, expiresAt: exp * 1000 }
    const identity = await bySession(subject)
    if (typeof identity !== 'string') verified.set(digest, subject)
    return identity
  }

  async function bySession (subject: Verified): Promise<Identified> {
    const standing = await standings.session(subject.sessionId)
    return typeof standing === 'string' ? standing : person(subject, standing)
  }

  function person ({ userId, sessionId }: Verified, { userId: owner, admin, pending }: Standing): Identified {
    return owner === userId ? { id: `user:${userId}`, kind: 'user', admin, userId, sessionId, pending } : 'bad_jwt'
  }

  /** The service key. The anonymous one is signed alike, and is nobody. */
  function machine (token: string): Identified {
    const claims = claimsOf(token, { key: machineSecret, algorithms: ['HS256'], allowedIss: issuer, requiredClaims: ['iss', 'role', 'iat', 'exp'] })
    if (claims === undefined) return 'bad_jwt'
    return typeof claims.role === 'string' && SERVICE_ROLES.has(claims.role) && claims.sub === undefined ? SERVICE : 'no_authorization'
  }

  function claimsOf (token: string, how: Parameters<JWT['verify']>[1]): Record<string, unknown> | undefined {
    try {
      return jwt.verify<Record<string, unknown>>(token, how)
    } catch {
      return undefined
    }
  }

  function headerOf (token: string): Record<string, unknown> | undefined {
    try {
      return jwt.decode<{ header: Record<string, unknown> }>(token, { complete: true })?.header
    } catch {
      return undefined
    }
  }

  function touch (id: string, standing: { lastUsedAt: number }) {
    standing.lastUsedAt = Date.now()
    db.update(api_keys).set({ last_used_at: new Date() }).where(eq(api_keys.id, id))
      .then(() => {}, (err: unknown) => log.warn({ err }, 'the use of a key was not noted'))
  }
}

export const SERVICE: Principal = { id: 'service', kind: 'service', admin: true }

function isUuid (value: unknown): value is string {
  return typeof value === 'string' && UUID.test(value)
}
