import type { FastifyInstance } from 'fastify'
import type { NotificationListener } from '#src/database/notifications.ts'
import { apiKeyFormat, type ApiKeyFormat } from '../keys/api-keys.ts'
import { AmministrazioneNonDisponibile } from '../errors.ts'
import type { IdentityProvider, ProviderOptions } from '../identity-provider.ts'
import { externalAuthenticator } from './external-authenticator.ts'
import { idpClient } from './idp-client.ts'
import { ExternalDirectory } from './external-directory.ts'
import { createJwks } from './jwks.ts'
import { keyStatusCache } from './key-status-cache.ts'
import { SeenSessions } from './seen-sessions.ts'
import { externalSettings } from './external-settings.ts'
import { tokenLookup, userLookup } from './user-lookup.ts'

/** Without the service key this server cannot ask the provider about the owner of a key, so API keys do not exist. */
const NO_KEYS: ApiKeyFormat = { mint () { throw new AmministrazioneNonDisponibile() }, read: () => undefined }

/**
 * An external identity provider with the protocol of Supabase Auth.
 * @throws ConfigError, which names IDP_URL or IDP_JWT_SECRET
 */
export function externalProvider (
  app: FastifyInstance, { config, keys, passwords, timeoutMs }: ProviderOptions
): IdentityProvider {
  const { db, log } = app
  const settings = externalSettings(config)
  const { serviceKey } = settings
  const client = idpClient({ settings, log, timeoutMs })
  const jwks = createJwks({ url: `${settings.base}/.well-known/jwks.json`, log, timeoutMs })
  const users = serviceKey === undefined ? undefined : userLookup({ client, serviceKey })

  const seen = new SeenSessions(db, log, () => notifications)
  const personKeys = users && keyStatusCache(db, users, () => notifications, settings)
  const notifications: NotificationListener = app.notifications.subscribe({
    session: (id) => seen.onChange(id), key: (id) => personKeys?.onChange(id)
  }, () => {
    seen.clear()
    personKeys?.clear()
  })

  const apiKeys = users === undefined ? NO_KEYS : apiKeyFormat(keys)
  const tokens = tokenLookup(client, seen)
  const parts = { settings, jwks, tokens, seen, users, keys: personKeys, apiKeys }

  app.addJob({
    name: 'seen-sessions',
    description: 'Elimina le sessioni del provider esterno finite da un mese',
    cron: '47 3 * * *',
    run: () => seen.deleteOld()
  })
  // Runs after the last request, and before the database closes.
  app.addHook('onClose', () => seen.flush())

  return {
    config,
    keys,
    authenticator: externalAuthenticator(app, parts),
    directory: new ExternalDirectory(app, { settings, client, tokens, seen, users }),
    apiKeys,
    passwords,
    clients: new Map(),
    waitForListeners: notifications.waitForListeners,
    get signer (): never { throw new Error('Only the embedded provider signs tokens') }
  }
}
