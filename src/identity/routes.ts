import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiKey } from '#schemas/api-key.ts'
import { Operator, UserItem } from '#schemas/operator.ts'
import { Session } from '#schemas/session.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { AuthUser, AuthIdentity } from '#schemas/auth/user.ts'
import pages, { home, unknownPages } from './pages/plugin.ts'
import provider from './protocol/routes.ts'
import keyRoutes, { signingKeyRoutes } from './routes/key-routes.ts'
import people from './routes/people-routes.ts'
import own from './routes/current-user-routes.ts'
import pictures from './routes/profile-pictures.ts'

const identity: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [AuthIdentity, AuthFactor, AuthUser, Operator, UserItem, Session, ApiKey]) app.addSchema(schema)
  for (const routes of [people, own, pictures, keyRoutes]) await app.register(routes)
  // With the embedded provider, `/` leads to the desk.
  if (app.identity.config.IDP_URL !== undefined) {
    await app.register(home)
    return
  }
  await app.register(signingKeyRoutes)
  await app.register(provider, { prefix: '/auth/v1' })
  await app.register(pages)
  await app.register(unknownPages, { prefix: '/auth' })
}
export default identity
