import { sql } from 'drizzle-orm'
import t from 'tap'
import { booking, create } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { bearer } from '#test/identity/requests.ts'

const QUERY_PASSWORD = 'una-password-per-le-query'
const { app, call, token } = await build(t, { PUBLIC_URL: 'https://locanda.example', QUERY_PASSWORD })
const headers = bearer(await token({ name: 'capo', role: 'admin' }))
const { id } = await create(call)

const LATIN = 'Nicolò'
const JSON_TYPE = 'application/json'
const FORM = 'application/x-www-form-urlencoded'
const json = (body: object) => Buffer.from(JSON.stringify(body), 'latin1')
const csv = (...pieces: (string | Buffer)[]) => Buffer.concat(pieces.map((each) => Buffer.from(each as string)))
const post = (url: string, payload: Buffer | string, type = JSON_TYPE, more: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url, payload, headers: { ...headers, 'content-type': type, ...more } })

/** A body with bytes that are not UTF-8, and the field that the error names. */
const REFUSED: [method: 'POST' | 'PUT', url: string, body: Buffer | string, type?: string, campo?: string][] = [
  ['POST', '/api/v1/prenotazioni', json(booking({ nome_cognome: LATIN }))],
  ['PUT', `/api/v1/prenotazioni/${id}`, json({ nome_cognome: LATIN })],
  ['POST', '/api/saveOspiti', json({ prenotazione_id: id, dati: [{ nome: LATIN, cognome: 'Prova' }] })],
  ['POST', '/api/alloggiati/valida', json({ ospiti: [{ nome: LATIN }], prenotazione: {} })],
  ['POST', '/api/alloggiati/invio', json({ ospiti: [{ nome: LATIN }], prenotazione: {} })],
  ['PUT', '/api/v1/struttura', json({ nome: LATIN })],
  ['POST', '/api/querysql', json({ password: QUERY_PASSWORD, sql: `select '${LATIN}'` })],
  ['POST', '/api/settings/maintenance', json({ enabled: true, message: LATIN })],
  ['POST', '/api/send-email', json({ recipients: ['a@example.org'], subject: LATIN, body: 'x' })],
  ['POST', '/api/generate-template', json({ rows: [{ nome: LATIN }] })],
  ['POST', '/api/operators', json({ email: 'a@example.org', password: LATIN, name: 'a', surname: 'b' })],
  ['POST', '/api/v1/prenotazioni', Buffer.concat([json(booking()), Buffer.from([0xe2, 0x82])])],
  ['POST', '/api/v1/prenotazioni', Buffer.from('{"nome_cognome":"\ud800"}', 'utf16le')],
  ['POST', '/api/v1/report/csv', form([['titolo', Buffer.from(LATIN, 'latin1')], ['file', 'a\n1', 'r.csv']]),
    FORM_TYPE, 'titolo'],
  ['POST', '/api/v1/report/csv', form([['file', csv('nome\nNicolò ', Buffer.from([0xe8])), 'r.csv']]),
    FORM_TYPE, 'file'],
  ['POST', '/api/v1/report/csv', form([['file', csv('nome\nAnna ', Buffer.from([0x81, 0xe8])), 'r.csv']]),
    FORM_TYPE, 'file'],
  ['POST', '/api/v1/report/csv', form([['file', csv('\ufeffnome\n', Buffer.from([0xe8])), 'r.csv']]), FORM_TYPE, 'file']
]

t.test('a body with bytes that are not UTF-8 is answered with a 400, in JSON, forms and CSV', async (t) => {
  for (const [method, url, payload, type = JSON_TYPE, campo = ''] of REFUSED) {
    const answer = await app.inject({ method, url, payload, headers: { ...headers, 'content-type': type } })
    t.match(answer.json(), {
      status: 400, codice: 'CORPO_NON_UTF8', error: /inviare il testo in UTF-8/, dettagli: [{ campo }]
    }, `${method} ${url}`)
    t.equal(answer.json().dettagli.length, 1)
  }
})

t.test('auth and storage reject a body that is not UTF-8 in their own error format', async (t) => {
  const account = json({ email: 'a@example.org', password: `${LATIN}-lunga-e-mia` })
  for (const url of ['/auth/v1/signup', '/auth/v1/token?grant_type=password', '/auth/v1/recover']) {
    t.match((await post(url, account)).json(), { code: 400, error_code: 'bad_json', msg: /UTF-8/ }, url)
  }
  for (const body of [Buffer.from(`state=${LATIN}`, 'latin1'), 'state=Nicol%F2']) {
    t.match((await post('/auth/v1/callback', body, FORM)).json(), { code: 400, error_code: 'bad_json' })
    t.equal((await post('/auth/accedi', body, FORM)).statusCode, 400)
  }
  t.match((await post('/storage/v1/object/list/public', json({ prefix: LATIN }))).json(), {
    statusCode: '400', code: 'InvalidRequest', message: /UTF-8/
  })
  const metadata = json({ autore: LATIN })
  const parts = form([['metadata', metadata], ['', 'testo', 'a.txt']])
  t.match((await post('/storage/v1/object/public/a.txt', parts, FORM_TYPE)).json(), { message: /UTF-8/ })
  const header = { 'x-metadata': metadata.toString('base64') }
  t.match((await post('/storage/v1/object/public/a.txt', 'testo', 'text/plain', header)).json(), { message: /UTF-8/ })
})

t.test('a refused body writes nothing to the database, with or without U+FFFD', async (t) => {
  const tables = await app.db.execute<{ name: string }>(
    sql`select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'public'`)
  for (const { name } of tables) {
    const rows = await app.db.execute(sql`select 1 from ${sql.raw(name)} t where t::text like ${'%\ufffd%'}`)
    t.same(rows.length, 0, name)
  }
  t.equal((await call('GET', '/api/v1/prenotazioni')).json().data.length, 1)
  t.equal((await call('GET', '/api/v1/struttura')).json().data.nome, null)
})

t.test('UTF-8 is stored unchanged, even U+FFFD, and a CSV in Latin-1 is read', async (t) => {
  for (const name of [LATIN, 'Łukasz', '李', '\ufffd']) {
    t.equal((await create(call, { nome_cognome: name })).nome_cognome, name)
  }
  const key = { 'x-api-key': API_KEY }
  const file = Buffer.from('nome;perché\n1;è', 'latin1')
  for (const content of [file, csv('nome,perché\nŁ,è'), csv('a\nPERCH', Buffer.from([0xc9, 0x92]))]) {
    const payload = form([['titolo', 'Nicolò'], ['file', content, 'r.csv']])
    const answer = await app.inject({
      method: 'POST', url: '/api/v1/report/csv', payload, headers: { ...key, 'content-type': FORM_TYPE }
    })
    t.equal(answer.statusCode, 200, content.toString('latin1'))
  }
})
