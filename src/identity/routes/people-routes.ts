import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Ref, type FieldError } from '#schemas/common.ts'
import { AuthUser } from '#schemas/auth/user.ts'
import { ClientConfig, OperatorBody, OperatorList, PeopleQuery, UserList, type UserItem } from '#schemas/operator.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { DEFAULT_LIMIT, nextLink } from '#src/lib/paging.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { RequestFields } from '#src/http/validation-errors.ts'
import type { JsonPieces } from '#src/http/streams.ts'
import { PASSWORD_PROBLEMS, passwordProblems } from '../sign-in/passwords.ts'
import { isEmail } from '../people/email.ts'
import { USERS_AT_A_TIME } from '../people/find-users.ts'
import type { PeopleList, PeoplePosition } from '../directory.ts'
import { isUuid } from '../uuid.ts'
import { withPictureLinks } from './profile-pictures.ts'

const route = routesUnder('Utenti')

const findValidationErrors = ({ body }: RequestFields) => operatorErrors(body)

/** Routes of operators and users, for administrators, and of the configuration for clients of the identity provider. */
const peopleRoutes: FastifyPluginAsyncTypebox = async (app) => {
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
    errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'], querystring: PeopleQuery, response: { 200: OperatorList }
  }), async (request, reply) => {
    return await withPictureLinks(app, await collect(await listed(request, reply, 'operators')))
  })

  app.get('/api/users', route({ access: 'admin' }, 'listUtenti', 'Tutti gli utenti', {
    errorCodes: ['AMMINISTRAZIONE_NON_DISPONIBILE'], querystring: PeopleQuery, response: { 200: UserList }
  }), async (request, reply) => {
    return await reply.sendPieces(itemsOf(await listed(request, reply, 'users')))
  })
}
export default peopleRoutes

/** Returns the whole list, or the page that the query selects. Sets the headers of the list. */
async function listed (
  request: FastifyRequest<{ Querystring: PeopleQuery }>, reply: FastifyReply, list: PeopleList
): Promise<AsyncIterable<AuthUser[]>> {
  const { query, routeOptions: { url }, server: { identity: { directory } } } = request
  const { limit, cursor, conteggio: isCounted = cursor === undefined } = query
  const size = limit ?? (cursor === undefined ? undefined : DEFAULT_LIMIT)
  const after = cursor === undefined ? undefined : readCursor(cursor)
  // One row more than requested, to detect whether a next page exists.
  const { total, batches } = await directory.people(list, { limit: size && size + 1, after, isCounted })
  if (isCounted) reply.header('x-total-count', total)
  if (size === undefined) return batches
  const found = await collect(batches)
  const page = found.slice(0, size)
  if (found.length > size) reply.header('link', nextLink(url!, query, writeCursor(page.at(-1)!)))
  return Readable.from([page])
}

async function collect (batches: AsyncIterable<AuthUser[]>): Promise<AuthUser[]> {
  const all: AuthUser[] = []
  for await (const batch of batches) all.push(...batch)
  return all
}

function writeCursor ({ created_at, id }: PeoplePosition): string {
  return Buffer.from(JSON.stringify([created_at, id])).toString('base64url')
}

/** @throws CampiNonValidi */
function readCursor (cursor: string): PeoplePosition {
  const text = Buffer.from(cursor, 'base64url').toString()
  const [, created_at = '', id = ''] = /^\["([^"]{1,40})","([^"]{36})"\]$/.exec(text) ?? []
  const at = new Date(created_at)
  if (!isUuid(id) || Number.isNaN(at.getTime())) {
    throw new CampiNonValidi({ campo: 'cursor', messaggio: 'non è valido per questo elenco' })
  }
  return { created_at: at.toISOString(), id }
}

function presentItem ({ id, email, user_metadata, created_at }: AuthUser): UserItem {
  return { id, email, user_metadata, created_at }
}

function itemsOf (batches: AsyncIterable<AuthUser[]>): JsonPieces {
  return async function * list (acquireSlot) {
    let separator = '['
    for await (const users of batches) {
      if (users.length >= USERS_AT_A_TIME) await acquireSlot()
      if (users.length > 0) yield separator + users.map((user) => JSON.stringify(presentItem(user))).join(',')
      if (users.length > 0) separator = ','
    }
    yield separator === '[' ? '[]' : ']'
  }
}

/** Validation errors of a new operator's address and password. For the password, only the first error. */
function operatorErrors ({ email, password }: Readonly<Record<string, unknown>>): FieldError[] {
  const errors: FieldError[] = []
  const address = typeof email === 'string' ? email : undefined
  if (address !== undefined && !isEmail(address)) {
    errors.push({ campo: 'email', messaggio: 'non è un indirizzo e-mail' })
  }
  if (typeof password !== 'string') return errors
  const [problem] = passwordProblems(password, address)
  if (problem !== undefined) errors.push({ campo: 'password', messaggio: PASSWORD_PROBLEMS[problem] })
  return errors
}
