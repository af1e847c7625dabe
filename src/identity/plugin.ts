import jwt from '@fastify/jwt'
import fp from 'fastify-plugin'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Identity } from './identity.ts'
import { machineSecret } from './tokens/machine-tokens.ts'
import { createPasswords } from './sign-in/passwords.ts'

declare module 'fastify' {
  interface FastifyInstance {
    identity: Identity
  }
}

/** The identity provider: the embedded one, or with `IDP_URL` another. Who asks it for what is up to the routes. */
export default fp<{ config: Config, keys: Keys }>(async function identity (app, { config, keys }) {
  // Whoever verifies a token names its key; this one signs nothing.
  await app.register(jwt, { secret: machineSecret(keys) })
  const options = { config, keys, passwords: createPasswords() }
  app.decorate('identity', config.IDP_URL === undefined
    ? (await import('./embedded/embedded.ts')).embeddedIdentity(app, options)
    : (await import('./external/external.ts')).externalIdentity(app, options))
}, { name: 'identity', dependencies: ['database', 'jobs', 'audit'] })
