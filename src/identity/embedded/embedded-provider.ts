import type { FastifyInstance } from 'fastify'
import type { NotificationListener } from '#src/database/notifications.ts'
import { permits, type Authenticator } from '#src/http/auth.ts'
import { apiKeyFormat, keyAuthenticator, type ApiKeyFormat } from '../keys/api-keys.ts'
import { oauthClients } from '../oauth/clients.ts'
import { deleteUnconfirmed } from '../people/unconfirmed.ts'
import type { IdentityProvider, ProviderOptions } from '../identity-provider.ts'
import { deleteEndedSessions } from '../sign-in/person-sessions.ts'
import { issuerOf, machineSecret } from '../tokens/machine-tokens.ts'
import {
  bearerAuthenticator, headerOf, readMachineToken, readPersonToken, type VerifiedToken
} from '../tokens/bearer.ts'
import { ACCESS_TOKEN_SECONDS, SigningKeys } from '../tokens/signing-keys.ts'
import { EmbeddedDirectory } from './embedded-directory.ts'
import { EmbeddedStatusCache } from './embedded-status-cache.ts'

export function embeddedProvider (
  app: FastifyInstance, { config, keys, passwords }: ProviderOptions
): IdentityProvider {
  const { db } = app
  const issuer = issuerOf(config)
  const signingKeys = new SigningKeys(db, keys)
  const statuses = new EmbeddedStatusCache(db, () => notifications, config)
  const notifications: NotificationListener = app.notifications.subscribe({
    user: (id) => statuses.onUserChange(id),
    session: (id) => statuses.onSessionChange(id),
    key: (id) => statuses.onKeyChange(id),
    signing: () => signingKeys.forget()
  }, () => {
    statuses.clear()
    signingKeys.forget()
  })
  const apiKeys = apiKeyFormat(keys)
  const parts = { issuer, machineSecret: machineSecret(keys), signingKeys, statuses, apiKeys }
  addJobs(app, signingKeys)
  return {
    config,
    keys,
    authenticator: embeddedAuthenticator(app, parts),
    directory: new EmbeddedDirectory(app, { config, keys }),
    apiKeys,
    passwords,
    signer: { issuer, signingKeys, refreshSecret: keys.derive('refresh-token') },
    clients: oauthClients(config),
    waitForListeners: notifications.waitForListeners
  }
}

function addJobs (app: FastifyInstance, signingKeys: SigningKeys): void {
  const { db, log, audit } = app
  app.addJob({
    name: 'signing-keys',
    description: 'Sostituisce la chiave che firma i token di accesso quando ha 90 giorni',
    cron: '41 3 * * *',
    run: async () => {
      await signingKeys.rotateWhenOld((tx, { kid }) =>
        audit.append(tx, { actor: 'sistema', action: 'chiave_di_firma_ruotata', object: `signing_key:${kid}` })
      )
    }
  })
  app.addJob({
    name: 'ended-sessions',
    description: 'Elimina le sessioni finite',
    cron: '23 3 * * *',
    run: () => deleteEndedSessions(db)
  })
  app.addJob({
    name: 'unconfirmed-sign-ups',
    description: 'Elimina le registrazioni il cui indirizzo non è stato confermato in 7 giorni',
    cron: '33 3 * * *',
    run: async () => {
      const deleted = await deleteUnconfirmed(db, audit)
      if (deleted > 0) log.info({ users: deleted }, 'unconfirmed sign-ups were deleted')
    }
  })
}

interface Parts {
  issuer: string
  machineSecret: Buffer
  signingKeys: SigningKeys
  statuses: EmbeddedStatusCache
  apiKeys: ApiKeyFormat
}

interface SignedToken extends VerifiedToken { kid: string }

function embeddedAuthenticator (
  app: FastifyInstance, { issuer, machineSecret, signingKeys, statuses, apiKeys }: Parts
): Authenticator {
  const { jwt } = app

  return {
    bearer: bearerAuthenticator<SignedToken>({
      isStillValid: ({ kid }) => signingKeys.isLive(kid),
      status: ({ sessionId }) => statuses.cached(sessionId) ?? statuses.session(sessionId),

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

    key: keyAuthenticator(app, apiKeys, (id) => statuses.key(id)),

    async isAdmin (principal) {
      const { kind, admin } = principal
      if (kind !== 'user') return admin
      return permits(principal, 'amministrazione') && await statuses.isAdmin(principal)
    },

    isStillValid: async (credential) => credential.kind !== 'user' || await statuses.isStillValid(credential)
  }
}
