import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Ref, type FieldError } from '#schemas/common.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { ClientConfig, OperatorBody, OperatorList, UserList, type UserItem } from '#schemas/operator.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { PASSWORD_PROBLEMS, passwordProblems } from '../sign-in/passwords.ts'
import { isEmail } from '../people/email.ts'
import { USERS_AT_A_TIME } from '../people/find-users.ts'

const route = routesUnder('Utenti')

const findValidationErrors = ({ body }: RequestFields) => operatorErrors(body)

/** Operators and users, for administrators, and the configuration for clients of the identity provider. */
const people: FastifyPluginAsyncTypebox = async (app) => {
  const { directory } = app.identity

  app.get('/api/config', route({ access: 'public' }, 'getConfig', 'URL e chiave anonima del provider di identità', {
    response: { 200: ClientConfig }
  }), async () => directory.clientConfig)

  app.post('/api/operators', route(
    { access: 'admin', recentFactor: true, idempotent: true, findValidationErrors },
    'createOperatore', 'Crea un operatore', {
      errorCodes: ['EMAIL_GIA_REGISTRATA', 'AMMINISTRAZIONE_NON_DISPONIBILE'],
      body: OperatorBody,
      response: { 200: Ref(AuthUser) }
    }
  ), async (request) => await directory.createOperator(request.body, authorOf(request), (tx) => request.noteDone(tx)))

  app.get('/api/operators', route({ access: 'admin' }, 'listOperatori', 'Gli amministratori e gli operatori', {
    errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'], response: { 200: OperatorList }
  }), async () => directory.operators())

  app.get('/api/users', route({ access: 'admin' }, 'listUtenti', 'Tutti gli utenti', {
    errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'], response: { 200: UserList }
  }), async (_request, reply) => reply.sendPieces(itemsOf(directory.users())))
}
export default people

function itemsOf (batches: AsyncIterable<AuthUser[]>): JsonPieces {
  return async function * list (acquireSlot) {
    let separator = '['
    for await (const users of batches) {
      if (users.length >= USERS_AT_A_TIME) acquireSlot()
      const items = users.map(({ id, email, user_metadata, created_at }): UserItem => (
        { id, email, user_metadata, created_at }
      ))
      if (items.length > 0) yield separator + items.map((item) => JSON.stringify(item)).join(',')
      if (items.length > 0) separator = ','
    }
    yield separator === '[' ? '[]' : ']'
  }
}

/** Validation errors of a new operator's address and password. For the password, only the first problem. */
function operatorErrors ({ email, password }: Readonly<Record<string, unknown>>): FieldError[] {
  const faults: FieldError[] = []
  const address = typeof email === 'string' ? email : undefined
  if (address !== undefined && !isEmail(address)) {
    faults.push({ campo: 'email', messaggio: 'non è un indirizzo e-mail' })
  }
  if (typeof password !== 'string') return faults
  const [problem] = passwordProblems(password, address)
  if (problem !== undefined) faults.push({ campo: 'password', messaggio: PASSWORD_PROBLEMS[problem] })
  return faults
}
