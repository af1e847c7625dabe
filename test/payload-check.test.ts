import { Readable } from 'node:stream'
import { Type, type TSchema } from '@sinclair/typebox'
import Fastify, { type FastifyReply, type RouteHandlerMethod } from 'fastify'
import t from 'tap'
import { Closed, Day, ErrorBody, Nullable, Ref } from '#schemas/common.ts'
import { schemaController } from '#src/plugins/validation.ts'
import { checkPayloads } from './payload-check.ts'

const Answer = Closed({
  nome: Type.String(),
  giorno: Type.Optional(Day),
  nota: Type.Optional(Nullable(Type.String())),
  altri: Type.Optional(Type.Array(Type.Integer()))
})

/** What the check says of a route that declares `schema` for 200 and answers so. */
async function complaints (
  handler: RouteHandlerMethod, schema: TSchema = Answer, own: { operationId?: string, hide?: true } = {}
): Promise<string[]> {
  const said: string[] = []
  const app = Fastify({ schemaController })
  checkPayloads({ fail: (...[message]) => said.push(String(message)) < 0 })(app)
  app.addSchema(ErrorBody)
  app.get('/prova', {
    config: { access: 'auth', rateLimit: false },
    schema: {
      ...own,
      response: { 200: schema, 206: schema, 304: Type.Null(), '4xx': Ref(ErrorBody) }
    }
  }, handler)
  await app.inject('/prova')
  await app.close()
  return said
}

/** Text that does not pass the serializer. */
function sendJson (reply: FastifyReply, json: string | Readable): FastifyReply {
  return reply.type('application/json; charset=utf-8').send(json)
}

const ERROR = { error: 'no', status: 404, codice: 'RISORSA_NON_TROVATA', requestId: 'x' }
const WRONG = ['GET /prova 200: the payload is not what the schema declares']

t.test('a payload that is exactly what is declared passes', async (t) => {
  t.same(await complaints(async () => ({ nome: 'Anna', giorno: '2026-11-21', nota: null, altri: [1] })), [])
  t.same(
    await complaints(async (_request, reply) => reply.code(404).send(ERROR)),
    [],
    'an error, by its class of status'
  )
})

t.test('null for a string, a missing field and a field too many fail, which the serializer would hide', async (t) => {
  t.same(await complaints(async () => ({ nome: null })), WRONG)
  t.same(await complaints(async () => ({ giorno: '2026-11-21' })), WRONG)
  t.same(await complaints(async () => ({ nome: 'Anna', segreto: 'x' })), WRONG)
  t.same(await complaints(async () => ({ nome: 'Anna', giorno: '2026-02-30' })), WRONG, 'a day that does not exist')
  t.same(await complaints(async () => ({ nome: 'Anna', altri: [1.9] })), WRONG, 'a fraction for an integer')
  t.same(await complaints(async () => ({ nome: 12 })), WRONG)
  t.same(
    await complaints(async (_request, reply) => reply.code(404).send({ ...ERROR, dettaglio: 'y' })),
    ['GET /prova 404: the payload is not what the schema declares']
  )
})

t.test('an error whose code nobody explains fails', async (t) => {
  t.same(
    await complaints(async (_request, reply) => reply.code(404).send({ ...ERROR, codice: 'IGNOTO' })),
    ['GET /prova 404: IGNOTO is not in schemas/errors']
  )
})

t.test('a Date is checked as it will be written', async (t) => {
  t.same(
    await complaints(async () => ({ quando: new Date(0) }), Closed({ quando: Type.String({ format: 'date-time' }) })),
    []
  )
  t.same(await complaints(async () => ({ nome: 'Anna', giorno: new Date(0) })), WRONG)
})

t.test('a status that is not declared fails', async (t) => {
  t.same(await complaints(async (_request, reply) => reply.code(202).send({ nome: 'Anna' })), [
    'GET /prova 202: no schema for this status'
  ])
  t.same(await complaints(async () => { throw new Error('guasto') }), ['GET /prova 500: no schema for this status'])
})

t.test('JSON that is sent as text or as a stream is checked too', async (t) => {
  for (const text of ['{"nome":"Anna"}', '{"nome":null}', '{"nome":"Anna","segreto":1}']) {
    const expected = text === '{"nome":"Anna"}' ? [] : WRONG
    t.same(await complaints(async (_request, reply) => sendJson(reply, text)), expected, text)
    t.same(
      await complaints(async (_request, reply) =>
        sendJson(reply, Readable.from([text.slice(0, 5), text.slice(5)], { objectMode: false }))
      ),
      expected,
      `${text} in two parts`
    )
  }
})

t.test('a header that the description does not name fails, and one that it promises and that is missing', async (t) => {
  const headers = {
    'x-request-id': 'x',
    etag: '"1"',
    'last-modified': 'Sat, 21 Nov 2026 09:30:00 GMT',
    'accept-ranges': 'bytes',
    'content-disposition': 'inline'
  }
  const said = async (sent: Record<string, string>, own = {}) => await complaints(
    async (_request, reply) => reply.headers(sent).send({ nome: 'Anna' }), Answer, { operationId: 'prova', ...own }
  )
  t.same(await said(headers), [])
  t.same(await said({ ...headers, location: '/' }), ['GET /prova 200: the header location is not declared'])
  const { etag, ...others } = headers
  t.same(await said(others), ['GET /prova 200: the header ETag is promised, and missing'])
  t.same(await said({ 'content-language': 'it' }, { hide: true }), [], 'a page is no part of the description')
})
