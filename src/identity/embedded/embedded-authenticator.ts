import type { FastifyInstance } from 'fastify'
import type { Authenticator } from '#src/http/auth.ts'
import {
  bearerAuthenticator, headerOf, readMachineToken, readPersonToken, type VerifiedToken
} from '../tokens/bearer.ts'
import { keyAuthenticator, type ApiKeyFormat } from '../keys/api-keys.ts'
import { ACCESS_TOKEN_SECONDS, type SigningKeys } from '../tokens/signing-keys.ts'
import type { EmbeddedStandings } from './standings.ts'

interface Parts {
  issuer: string
  machineSecret: Buffer
  signingKeys: SigningKeys
  standings: EmbeddedStandings
  apiKeys: ApiKeyFormat
}

interface SignedToken extends VerifiedToken { kid: string }

export function embeddedAuthenticator (
  app: FastifyInstance, { issuer, machineSecret, signingKeys, standings, apiKeys }: Parts
): Authenticator {
  const { jwt } = app

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
          key, algorithm: 'ES256', issuer, maxAgeSeconds: ACCESS_TOKEN_SECONDS + 60
        })
        if (found === undefined) return 'bad_jwt'
        const { userId, sessionId, expiresAt } = found
        return { userId, sessionId, expiresAt, kid }
      }
    }),

    key: keyAuthenticator(app, apiKeys, (id) => standings.key(id)),

    async isAdmin (principal) {
      const { kind, admin, scopes } = principal
      if (kind !== 'user') return admin
      if (scopes !== undefined && !scopes.includes('amministrazione')) return false
      return await standings.isAdmin(principal)
    }
  }
}
