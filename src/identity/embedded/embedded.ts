import type { FastifyInstance } from 'fastify'
import { apiKeyFormat } from '../keys/api-keys.ts'
import { createAuthenticator } from './authenticator.ts'
import { listenToChanges } from '../changes.ts'
import { embeddedDirectory } from './directory.ts'
import type { Identity, IdentityParts } from '../identity.ts'
import { issuerOf, machineSecret } from '../tokens/machine-tokens.ts'
import { forgetEndedSessions, type TokenSigner } from '../sign-in/sessions.ts'
import { createSigningKeys } from '../tokens/signing-keys.ts'
import { createStandings } from './standings.ts'

/** The identity provider of this server itself. */
export function embeddedIdentity (app: FastifyInstance, { config, keys, passwords }: IdentityParts): Identity {
  const { db, log, jwt } = app
  const issuer = issuerOf(config)
  const signingKeys = createSigningKeys(db, keys)
  const standings = createStandings(db, () => changes)
  const changes = listenToChanges(
    app.sql,
    log,
    (change, id) => (change === 'signing' ? signingKeys.forget() : standings.changed(change, id)),
    () => {
      standings.forget()
      signingKeys.forget()
    }
  )
  const apiKeys = apiKeyFormat(keys)
  const signer: TokenSigner = { issuer, signingKeys, refreshSecret: keys.derive('refresh-token') }
  const authenticator = createAuthenticator({
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
    cron: '41 3 * * *',
    run: async () => {
      await signingKeys.rotateWhenOld((tx, { kid }) =>
        app.audit.append(tx, { actor: 'sistema', action: 'chiave_di_firma_ruotata', object: `signing_key:${kid}` })
      )
    }
  })
  app.addJob({ name: 'ended-sessions', cron: '23 3 * * *', run: () => forgetEndedSessions(db) })
  return { authenticator, directory, apiKeys, passwords, signer, settled: changes.settled }
}
