import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref } from '#schemas/common.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { ClientConfig, OperatorBody, OperatorList, UserList, type UserItem } from '#schemas/operator.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { operatorFaults } from '../people/operator-faults.ts'
import { USERS_AT_A_TIME } from '../people/user-lists.ts'

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
    config: {
      access: 'admin', recentFactor: true, idempotent: true, findFaults: ({ body }) => operatorFaults(body)
    },
    schema: {
      operationId: 'createOperatore',
      errorCodes: ['EMAIL_GIA_REGISTRATA', 'AMMINISTRAZIONE_NON_DISPONIBILE'],
      tags,
      summary: 'Crea un operatore',
      body: OperatorBody,
      response: { 200: Ref(AuthUser) }
    },
    handler: async (request) => await directory.createOperator(
      request.body, authorOf(request), (tx) => request.noteDone(tx)
    )
  })

  app.route({
    method: 'GET',
    url: '/api/operators',
    config: { access: 'admin' },
    schema: {
      operationId: 'listOperatori',
      errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'],
      tags,
      summary: 'Gli amministratori e gli operatori',
      response: { 200: OperatorList }
    },
    handler: async () => directory.operators()
  })

  app.route({
    method: 'GET',
    url: '/api/users',
    config: { access: 'admin' },
    schema: {
      operationId: 'listUtenti',
      errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'],
      tags,
      summary: 'Tutti gli utenti',
      response: { 200: UserList }
    },
    handler: async (_request, reply) => reply.sendPieces(itemsOf(directory.users()))
  })
}
export default people

function itemsOf (batches: AsyncIterable<AuthUser[]>): JsonPieces {
  return async function * list (takeTurn) {
    let separator = '['
    for await (const users of batches) {
      if (users.length >= USERS_AT_A_TIME) takeTurn()
      const items = users.map(({ id, email, user_metadata, created_at }): UserItem => (
        { id, email, user_metadata, created_at }
      ))
      if (items.length > 0) yield separator + items.map((item) => JSON.stringify(item)).join(',')
      if (items.length > 0) separator = ','
    }
    yield separator === '[' ? '[]' : ']'
  }
}
