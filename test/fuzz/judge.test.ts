import t from 'tap'
import type { Described, Document } from './document.ts'
import { judge, type Answer } from './judge.ts'

const anything = { content: { 'application/json': { schema: {} } } }

const named = (header: string) => ({ $ref: `#/components/headers/${header}` })

const operation = {
  operationId: 'prova',
  responses: {
    200: { ...anything, headers: { ETag: named('ETag'), Link: named('Link') } },
    400: anything,
    500: anything,
    502: anything,
    503: anything,
    '5XX': anything
  },
  'x-codici': { 503: ['OCR_NON_DISPONIBILE'], 500: ['FILE_ILLEGGIBILE'] }
}
const document: Document = {
  paths: { '/prova': { get: operation } },
  components: { headers: { ETag: { required: true }, Link: {} } }
}
const described: Described = { method: 'GET', path: '/prova', operation }

/** What the judge says of an answer. */
function judged (status: number, body: object, headers: Answer['headers'] = {}): string | undefined {
  return judge(document)(
    { operation: described, kind: 'valid', caller: 'nobody', path: '/prova', headers: {}, body: undefined },
    { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
  )
}

t.test('a 500 is a fault, though every operation declares it by its number and some name a code for it', async (t) => {
  t.match(judged(500, { codice: 'ERRORE_INTERNO' }), /^status 500/)
  t.match(judged(500, { codice: 'FILE_ILLEGGIBILE' }), /^status 500/)
})

t.test('a 502 or 503 is a fault, unless the operation names its code for this status', async (t) => {
  t.equal(judged(503, { codice: 'OCR_NON_DISPONIBILE' }), undefined)
  t.match(judged(503, { codice: 'SERVIZIO_OCCUPATO' }), /^status 503/)
  t.match(judged(502, { codice: 'OCR_NON_DISPONIBILE' }), /^status 502/)
  t.match(judged(503, {}), /^status 503/)
})

t.test('a maintenance that another request has begun is none', async (t) => {
  t.equal(judged(503, { error: 'Servizio in manutenzione: torniamo subito', codice: 'MANUTENZIONE' }), undefined)
})

t.test('a header that is promised and missing is a fault, and one that is not declared', async (t) => {
  t.equal(judged(200, {}, { etag: '"1"' }), undefined)
  t.match(judged(200, {}), /lacks the headers ETag/)
  t.match(judged(400, {}, { etag: '"1"' }), /not declared/)
})
