import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { ApiKey } from '#schemas/api-key.ts'
import { Operator, UserItem } from '#schemas/operator.ts'
import { Session } from '#schemas/session.ts'
import { AuthFactor } from '#schemas/auth/factor.ts'
import { AuthUser, AuthIdentity } from '#schemas/auth/user.ts'
import pages, { home, unknownPages } from './pages/plugin.ts'
import protocol from './protocol/routes.ts'
import keyRoutes, { signingKeyRoutes } from './routes/key-routes.ts'
import peopleRoutes from './routes/people-routes.ts'
import currentUserRoutes from './routes/current-user-routes.ts'
import profilePictures from './routes/profile-pictures.ts'

const identity: FastifyPluginAsyncTypebox = async (app) => {
  for (const schema of [AuthIdentity, AuthFactor, AuthUser, Operator, UserItem, Session, ApiKey]) app.addSchema(schema)
  for (const routes of [peopleRoutes, currentUserRoutes, profilePictures, keyRoutes]) await app.register(routes)
  // With the embedded provider, `/` leads to the desk.
  if (app.identity.config.IDP_URL !== undefined) {
    await app.register(home)
    return
  }
  await app.register(signingKeyRoutes)
  await app.register(protocol, { prefix: '/auth/v1' })
  await app.register(pages)
  await app.register(unknownPages, { prefix: '/auth' })
}
export default identity
