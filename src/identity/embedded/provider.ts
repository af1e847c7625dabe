import type { FastifyInstance } from 'fastify'
import type { ChangeListener } from '#src/database/changes.ts'
import { apiKeyFormat } from '../keys/api-keys.ts'
import { deleteUnconfirmed } from '../people/unconfirmed.ts'
import type { IdentityProvider, ProviderOptions } from '../provider.ts'
import type { TokenSigner } from '../sign-in/session-answer.ts'
import { deleteEndedSessions } from '../sign-in/sessions.ts'
import { issuerOf, machineSecret } from '../tokens/machine-tokens.ts'
import { createSigningKeys } from '../tokens/signing-keys.ts'
import { embeddedAuthenticator } from './authenticator.ts'
import { embeddedDirectory } from './directory.ts'
import { embeddedStandings } from './standings.ts'

/** The identity provider of this server itself. */
export function embeddedProvider (
  app: FastifyInstance,
  { config, keys, passwords }: ProviderOptions
): IdentityProvider {
  const { db, log, jwt } = app
  const issuer = issuerOf(config)
  const signingKeys = createSigningKeys(db, keys)
  const standings = embeddedStandings(db, () => changes, config)
  const changes: ChangeListener = app.changes.subscribe(
    {
      user: standings.onUserChange,
      session: standings.onSessionChange,
      key: standings.onKeyChange,
      signing: signingKeys.forget
    },
    () => {
      standings.clear()
      signingKeys.forget()
    }
  )
  const apiKeys = apiKeyFormat(keys)
  const signer: TokenSigner = { issuer, signingKeys, refreshSecret: keys.derive('refresh-token') }
  const authenticator = embeddedAuthenticator({
    jwt,
    issuer,
    machineSecret: machineSecret(keys),
    signingKeys,
    standings,
    apiKeys,
    db,
    log
  })
  const directory = embeddedDirectory({ app, config, keys, passwords })

  app.addJob({
    name: 'signing-keys',
    description: 'Sostituisce la chiave che firma i token di accesso quando ha 90 giorni',
    cron: '41 3 * * *',
    run: async () => {
      await signingKeys.rotateWhenOld((tx, { kid }) =>
        app.audit.append(tx, { actor: 'sistema', action: 'chiave_di_firma_ruotata', object: `signing_key:${kid}` })
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
      const deleted = await deleteUnconfirmed(db, app.audit)
      if (deleted > 0) log.info({ utenti: deleted }, 'sign-ups that nobody confirmed were deleted')
    }
  })
  return { authenticator, directory, apiKeys, passwords, signer, waitForListeners: changes.waitForListeners }
}
