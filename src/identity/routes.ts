import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiKey } from '#schemas/api-key.ts'
import { UserItem } from '#schemas/operator.ts'
import { Session } from '#schemas/session.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { AuthUser, AuthIdentity } from '#schemas/auth/user.ts'
import type { IdentityOptions } from './options.ts'
import home from './pages/home.ts'
import pages from './pages/plugin.ts'
import unknownPages from './pages/unknown-pages.ts'
import provider from './protocol/routes.ts'
import keyRoutes from './routes/keys.ts'
import people from './routes/people.ts'
import own from './routes/own.ts'
import pictures from './routes/pictures.ts'
import signingKeyRoutes from './routes/signing-keys.ts'

/** The API's own endpoints for people, and the endpoints of the embedded provider (the protocol of Supabase Auth). */
const identity: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  for (const schema of [AuthIdentity, AuthFactor, AuthUser, UserItem, Session, ApiKey]) app.addSchema(schema)
  await app.register(people)
  await app.register(own)
  await app.register(pictures, { config })
  await app.register(keyRoutes)
  await app.register(home, { config })
  if (config.IDP_URL !== undefined) return
  await app.register(signingKeyRoutes)
  await app.register(provider, { config, keys, prefix: '/auth/v1' })
  await app.register(pages, { config, keys })
  await app.register(unknownPages, { prefix: '/auth' })
}
export default identity
