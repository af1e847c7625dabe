import jwt from '@fastify/jwt'
import fp from 'fastify-plugin'
import { hasImportedHashes } from './people/find-users.ts'
import type { IdentityOptions, IdentityProvider, ProviderOptions } from './identity-provider.ts'
import { createPasswords } from './sign-in/passwords.ts'
import { machineSecret } from './tokens/machine-tokens.ts'

declare module 'fastify' {
  interface FastifyInstance {
    identity: IdentityProvider
  }
}

/** Sets up the identity provider: the embedded one, or with `IDP_URL` an external one. */
export default fp<IdentityOptions & Pick<ProviderOptions, 'timeoutMs'>>(async function identity (app, options) {
  // Every verification passes its own key. The plugin requires a default key, which signs no token.
  await app.register(jwt, { secret: machineSecret(options.keys) })
  const parts = { ...options, passwords: createPasswords({ hasImportedHashes: () => hasImportedHashes(app.db) }) }
  app.decorate('identity', options.config.IDP_URL === undefined
    ? (await import('./embedded/embedded-provider.ts')).embeddedProvider(app, parts)
    : (await import('./external/external-provider.ts')).externalProvider(app, parts))
}, { name: 'identity', dependencies: ['database', 'notifications', 'jobs', 'audit'] })
