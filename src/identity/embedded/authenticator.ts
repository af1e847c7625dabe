import type { JWT } from '@fastify/jwt'
import type { FastifyBaseLogger } from 'fastify'
import type { Authenticator } from '#src/http/auth.ts'
import type { Database } from '#src/database/connect.ts'
import type { ApiKeyFormat } from '../keys/api-keys.ts'
import {
  bearerAuthenticator,
  headerOf,
  readMachineToken,
  readPersonToken,
  type VerifiedToken
} from '../tokens/bearer.ts'
import { keyAuthenticator } from '../keys/person-keys.ts'
import { ACCESS_TOKEN_SECONDS, type SigningKeys } from '../tokens/signing-keys.ts'
import type { Standings } from './standings.ts'

export interface EmbeddedAuthenticatorOptions {
  jwt: JWT
  /** The issuer whose tokens are accepted. */
  issuer: string
  machineSecret: Buffer
  signingKeys: SigningKeys
  standings: Standings
  apiKeys: ApiKeyFormat
  db: Database
  log: FastifyBaseLogger
}

interface SignedToken extends VerifiedToken { kid: string }

/** Identifies the caller by a credential of the embedded provider. */
export function embeddedAuthenticator (options: EmbeddedAuthenticatorOptions): Authenticator {
  const { jwt, issuer, machineSecret, signingKeys, standings, apiKeys, db, log } = options

  return {
    bearer: bearerAuthenticator<SignedToken>({
      isStillValid: ({ kid }) => signingKeys.isLive(kid),
      standing: ({ sessionId }) => standings.cached(sessionId) ?? standings.session(sessionId),

      async verify (token) {
        const { alg, kid } = headerOf(jwt, token) ?? {}
        if (alg === 'HS256') return readMachineToken(jwt, token, machineSecret, [issuer])
        if (alg !== 'ES256' || typeof kid !== 'string') return 'bad_jwt'
        const key = await signingKeys.find(kid)
        if (key === undefined) return 'bad_jwt'
        const found = readPersonToken(jwt, token, {
          key,
          algorithm: 'ES256',
          issuer,
          maxAgeSeconds: ACCESS_TOKEN_SECONDS + 60
        })
        if (found === undefined) return 'bad_jwt'
        const { userId, sessionId, expiresAt } = found
        return { userId, sessionId, expiresAt, kid }
      }
    }),

    key: keyAuthenticator({ apiKeys, standing: (id) => standings.key(id), db, log }),

    async isAdmin (principal) {
      const { kind, admin, scopes } = principal
      if (kind !== 'user') return admin
      if (scopes !== undefined && !scopes.includes('amministrazione')) return false
      return await standings.isAdmin(principal)
    }
  }
}
