import type { FastifyInstance } from 'fastify'
import { apiKeyFormat, type ApiKeyFormat } from '../keys/api-keys.ts'
import { listenToChanges, type Changes } from '../changes.ts'
import { AmministrazioneNonDisponibile } from '../errors.ts'
import type { Identity, IdentityParts } from '../identity.ts'
import { createAccounts } from './accounts.ts'
import { externalAuthenticator } from './authenticator.ts'
import { providerClient } from './client.ts'
import { externalDirectory } from './directory.ts'
import { createJwks } from './jwks.ts'
import { keyStandings } from './key-standings.ts'
import { createPeople } from './people.ts'
import { seenSessions } from './seen-sessions.ts'
import { externalSettings } from './settings.ts'

/** Without the service key nobody can be asked whether a key's person still stands. */
const NO_KEYS: ApiKeyFormat = {
  mint () { throw new AmministrazioneNonDisponibile() },
  read: () => undefined
}

/**
 * An identity provider elsewhere that speaks the protocol of Supabase Auth. @throws ConfigError naming IDP_URL or
 * IDP_JWT_SECRET
 */
export function externalIdentity (app: FastifyInstance, { config, keys, passwords }: IdentityParts): Identity {
  const { db, log, jwt } = app
  const settings = externalSettings(config)
  const { serviceKey } = settings
  const client = providerClient({ settings, log })
  const jwks = createJwks({ url: `${settings.base}/.well-known/jwks.json`, log })
  const people = serviceKey === undefined ? undefined : createPeople({ client, serviceKey })

  const listening = (): Changes => changes
  const seen = seenSessions(db, log, listening)
  const personKeys = people && keyStandings(db, people, listening)
  const changes = listenToChanges(app.sql, log, (change, id) => {
    if (change === 'session') seen.changed(id)
    else if (change === 'key') personKeys?.changed(id)
  }, () => {
    seen.forget()
    personKeys?.forget()
  })

  const apiKeys = people === undefined ? NO_KEYS : apiKeyFormat(keys)
  const accounts = createAccounts(client, seen)
  const authenticator = externalAuthenticator({
    jwt,
    settings,
    jwks,
    accounts,
    seen,
    people,
    keys: personKeys,
    apiKeys,
    db,
    log
  })
  const directory = externalDirectory({ app, keys, settings, client, accounts, seen })

  app.addJob({ name: 'seen-sessions', cron: '47 3 * * *', run: () => seen.clear() })
  // After the last request, before the database closes.
  app.addHook('onClose', () => seen.written())

  return {
    authenticator,
    directory,
    apiKeys,
    passwords,
    settled: changes.settled,
    get signer (): never { throw new Error('Only the embedded provider signs tokens') }
  }
}
