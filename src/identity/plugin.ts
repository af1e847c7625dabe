import jwt from '@fastify/jwt'
import fp from 'fastify-plugin'
import type { Config } from '#src/config.ts'
import type { Keys } from '#src/keys.ts'
import type { Authenticator } from '#src/plugins/auth.ts'
import { apiKeyFormat, type ApiKeyFormat } from './api-keys.ts'
import { createAuthenticator } from './authenticator.ts'
import { listenToChanges, type Changes } from './changes.ts'
import type { Directory } from './directory.ts'
import { embeddedDirectory } from './embedded-directory.ts'
import { issuerOf, machineSecret } from './machine-tokens.ts'
import { createPasswords, type Passwords } from './passwords.ts'
import type { TokenSigner } from './sessions.ts'
import { createSigningKeys } from './signing-keys.ts'
import { createStandings } from './standing.ts'

/** What the server knows of people. */
export interface Identity {
  authenticator: Authenticator
  directory: Directory
  apiKeys: ApiKeyFormat
  passwords: Passwords
  signer: TokenSigner
  /** To be awaited after whatever takes somebody's rights away, before it is answered. */
  settled: Changes['settled']
}

declare module 'fastify' {
  interface FastifyInstance {
    identity: Identity
  }
}

/** The identity provider: the embedded one. Its parts are put together here; who asks for what is up to the routes. */
export default fp<{ config: Config, keys: Keys }>(async function identity (app, { config, keys }) {
  const { db, log } = app
  const secret = machineSecret(keys)
  await app.register(jwt, { secret })

  const issuer = issuerOf(config)
  const signingKeys = createSigningKeys(db, keys)
  const standings = createStandings(db, () => changes)
  const changes = listenToChanges(app.sql, log, (change, id) => change === 'signing' ? signingKeys.forget() : standings.changed(change, id), standings.forget)
  const apiKeys = apiKeyFormat(keys)
  const passwords = createPasswords()
  const signer: TokenSigner = { issuer, signingKeys, refreshSecret: keys.derive('refresh-token') }
  const authenticator = createAuthenticator({ jwt: app.jwt, issuer, machineSecret: secret, signingKeys, standings, apiKeys, db, log })
  const directory = embeddedDirectory({ app, config, keys, passwords })

  app.decorate('identity', { authenticator, directory, apiKeys, passwords, signer, settled: changes.settled })

  app.addJob({
    name: 'signing-keys',
    cron: '41 3 * * *',
    run: async () => {
      await signingKeys.rotateWhenOld((tx, { kid }) => app.audit.append(tx, { actor: 'sistema', action: 'chiave_di_firma_ruotata', object: `signing_key:${kid}` }))
    }
  })
}, { name: 'identity', dependencies: ['database', 'jobs', 'audit'] })
