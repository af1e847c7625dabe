import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref } from '#schemas/common.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { ClientConfig, OperatorBody, OperatorList, UserList } from '#schemas/operator.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { isAdmin } from '../people/roles.ts'

const tags = ['Utenti']

/** Operators and users, for administrators; and what a client of the identity provider starts with. */
const people: FastifyPluginAsyncTypebox = async (app) => {
  const { directory } = app.identity

  app.route({
    method: 'GET',
    url: '/api/config',
    config: { access: 'public' },
    schema: {
      operationId: 'getConfig',
      tags,
      summary: 'URL e chiave anonima del provider di identità',
      response: { 200: ClientConfig }
    },
    handler: async () => directory.clientConfig
  })

  app.route({
    method: 'POST',
    url: '/api/operators',
    config: { access: 'admin' },
    schema: {
      operationId: 'createOperatore',
      tags,
      summary: 'Crea un operatore',
      body: OperatorBody,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request) => await directory.createOperator(request.body, authorOf(request))
  })

  app.route({
    method: 'GET',
    url: '/api/operators',
    config: { access: 'admin' },
    schema: {
      operationId: 'listOperatori',
      tags,
      summary: 'Gli amministratori e gli operatori',
      response: { 200: OperatorList }
    },
    handler: async () =>
      (await directory.users()).filter(({ app_metadata }) => isAdmin(app_metadata) || app_metadata.role === 'operator')
  })

  app.route({
    method: 'GET',
    url: '/api/users',
    config: { access: 'admin' },
    schema: { operationId: 'listUtenti', tags, summary: 'Tutti gli utenti', response: { 200: UserList } },
    handler: async () =>
      (await directory.users()).map(({ id, email, user_metadata, created_at }) => ({
        id,
        email,
        user_metadata,
        created_at
      }))
  })
}
export default people
