import t from 'tap'
import { build } from '#test/helper.ts'
import { readPages } from '#test/pdf/read-pdf.ts'
import { person } from './sample.ts'

const test = await build(t, { TODAY: '2026-11-23' })
const { app } = test
const anna = await person(test, 'anna')
const URL = '/api/v1/report/csv'

function send (file: string | Buffer, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const parts = Object.entries(fields).map(([name, value]) =>
    `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="r.csv"\r\ncontent-type: text/csv\r\n\r\n'
  const payload = Buffer.concat([
    Buffer.from(parts.join('') + head), Buffer.from(file as string), Buffer.from('\r\n--x--\r\n')
  ])
  const type = { 'content-type': 'multipart/form-data; boundary=x' }
  return app.inject({ method: 'POST', url: URL, payload, headers: { ...type, ...anna.headers, ...headers } })
}

t.test('a CSV file becomes a report, which is kept for the person', async (t) => {
  const answer = await send('\uFEFFlistingTitle;Q1Payouts\nForlì;1.234,56\nLugo;0,44\n', { decimali: 'virgola' })
  t.equal(answer.headers['content-type'], 'application/pdf')
  t.match((await readPages(answer.rawPayload)).join(' '), /Totale incassi 1\.235,00 €.*Forlì 1\.234,56 €/)
  const json = await send('a\n1', {}, { accept: 'application/json' })
  t.match(json.json(), { status: 'success' })
  const list = await app.inject({ url: `/api/csv-pdf-list?user_id=${anna.id}`, headers: anna.headers })
  t.equal(list.json<{ data: object[] }>().data.length, 2)
})

t.test('a fault of the file is a 400 that names it and its line', async (t) => {
  t.match((await send('a,b\n1,2\n3\n')).json(), {
    status: 400, codice: 'CSV_NON_VALIDO', riga: 3, dettagli: [{ campo: 'file' }], error: /^File CSV non valido: riga 3/
  })
  t.match((await send('a,a\n1,2')).json(), { status: 400, codice: 'CSV_NON_VALIDO', riga: 1 })
  for (const rows of [20_001, 4_000_000]) {
    t.match((await send(`a\n${'1\n'.repeat(rows)}`)).json(), {
      status: 400, codice: 'LIMITE_SUPERATO', dettagli: [{ campo: 'file' }], riga: null
    }, `${rows} rows`)
  }
  t.equal((await send('x'.repeat(8 * 1024 * 1024 + 1))).statusCode, 413)
  t.match((await send('a\n1', { decimali: 'x', altro: 'y' })).json(), {
    status: 400, dettagli: [{ campo: /altro|decimali/ }, { campo: /altro|decimali/ }]
  })
})

t.test('JSON is a 415, and a form without the file a 400', async (t) => {
  const json = await app.inject({ method: 'POST', url: URL, payload: {}, headers: anna.headers })
  t.equal(json.statusCode, 415)
  const empty = await app.inject({
    method: 'POST',
    url: URL,
    payload: '--x\r\ncontent-disposition: form-data; name="titolo"\r\n\r\nx\r\n--x--\r\n',
    headers: { 'content-type': 'multipart/form-data; boundary=x', ...anna.headers }
  })
  t.match(empty.json(), { status: 400, dettagli: [{ campo: 'file' }] })
})

t.test('the same Idempotency-Key with the same file gives the same PDF, with another one a 422', async (t) => {
  const key = { 'idempotency-key': 'uno' }
  const first = await send('a\n1', {}, key)
  const second = await send('a\n1', {}, key)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.ok(second.rawPayload.equals(first.rawPayload))
  t.equal((await send('a\n2', {}, key)).statusCode, 422)
})
