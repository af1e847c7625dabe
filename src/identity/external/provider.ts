import type { FastifyInstance } from 'fastify'
import type { ChangeListener } from '#src/database/changes.ts'
import { apiKeyFormat, type ApiKeyFormat } from '../keys/api-keys.ts'
import { AmministrazioneNonDisponibile } from '../errors.ts'
import type { IdentityProvider, ProviderOptions } from '../provider.ts'
import { externalAuthenticator } from './authenticator.ts'
import { idpClient } from './client.ts'
import { externalDirectory } from './directory.ts'
import { createJwks } from './jwks.ts'
import { keyStandings } from './key-standings.ts'
import { seenSessions } from './seen-sessions.ts'
import { externalSettings } from './settings.ts'
import { tokenLookup } from './token-lookup.ts'
import { userLookup } from './user-lookup.ts'

/** Without the service key the provider cannot be asked how a key's person stands: there are no API keys then. */
const NO_KEYS: ApiKeyFormat = {
  mint () { throw new AmministrazioneNonDisponibile() },
  read: () => undefined
}

/**
 * An identity provider elsewhere that speaks the protocol of Supabase Auth. @throws ConfigError naming IDP_URL or
 * IDP_JWT_SECRET
 */
export function externalProvider (
  app: FastifyInstance,
  { config, keys, passwords, timeoutMs }: ProviderOptions
): IdentityProvider {
  const { db, log, jwt } = app
  const settings = externalSettings(config)
  const { serviceKey } = settings
  const client = idpClient({ settings, log, timeoutMs })
  const jwks = createJwks({ url: `${settings.base}/.well-known/jwks.json`, log, timeoutMs })
  const users = serviceKey === undefined ? undefined : userLookup({ client, serviceKey })

  const seen = seenSessions(db, log, () => changes)
  const personKeys = users && keyStandings(db, users, () => changes, settings)
  const changes: ChangeListener = app.changes.subscribe({
    session: (id) => seen.onChange(id),
    key: (id) => personKeys?.onChange(id)
  }, () => {
    seen.clear()
    personKeys?.clear()
  })

  const apiKeys = users === undefined ? NO_KEYS : apiKeyFormat(keys)
  const tokens = tokenLookup(client, seen)
  const authenticator = externalAuthenticator({
    jwt,
    settings,
    jwks,
    tokens,
    seen,
    users,
    keys: personKeys,
    apiKeys,
    db,
    log
  })
  const directory = externalDirectory({ app, keys, settings, client, tokens, seen, users })

  app.addJob({
    name: 'seen-sessions',
    description: 'Elimina le sessioni del provider esterno finite da un mese',
    cron: '47 3 * * *',
    run: () => seen.deleteOld()
  })
  // After the last request, before the database closes.
  app.addHook('onClose', () => seen.flush())

  return {
    authenticator,
    directory,
    apiKeys,
    passwords,
    waitForListeners: changes.waitForListeners,
    get signer (): never { throw new Error('Only the embedded provider signs tokens') }
  }
}
