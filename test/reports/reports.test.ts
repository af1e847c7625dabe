import t from 'tap'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { pageWith, readPages } from '#test/pdf/read-pdf.ts'
import { pathOf, person, sampleRows } from './sample.ts'

const PUBLIC_URL = 'https://locanda.example'
const test = await build(t, { PUBLIC_URL, TODAY: '2026-11-23' })
const { app, call } = test
const anna = await person(test, 'anna')
const bruno = await person(test, 'bruno')
const admin = await person(test, 'capo', 'admin')

interface Made { status: string, download_url: string, transaction_ref: string }

const post = (url: string, payload: object, headers: Record<string, string>) =>
  app.inject({ method: 'POST', url, payload, headers })
const get = (url: string, headers: Record<string, string>) => app.inject({ url, headers })

const gianni = await person(test, 'gianni')

function send (file: string | Buffer, fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
  const parts = Object.entries(fields).map(([name, value]) =>
    `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
  const head = '--x\r\ncontent-disposition: form-data; name="file"; filename="r.csv"\r\ncontent-type: text/csv\r\n\r\n'
  const payload = Buffer.concat([
    Buffer.from(parts.join('') + head), Buffer.from(file as string), Buffer.from('\r\n--x--\r\n')
  ])
  const own = { 'content-type': 'multipart/form-data; boundary=x', ...gianni.headers }
  return app.inject({ method: 'POST', url: '/api/v1/report/csv', payload, headers: { ...own, ...headers } })
}

t.test('a PDF is created from a template in the request, and its owner can download it', async (t) => {
  const body = { template: pageWith('<p>Buongiorno {{ ospite.nome }}</p>'), data: { ospite: { nome: 'Łukasz' } } }
  const response = await post('/api/generate-pdf', body, anna.headers)
  t.equal(response.statusCode, 200)
  const made = response.json<Made>()
  t.match(made, { status: 'success', transaction_ref: /^[0-9a-f-]{36}$/ })
  t.equal(made.download_url, `${PUBLIC_URL}/api/csv-pdf-download/${made.transaction_ref}`)
  t.equal(response.headers['x-pdf-warnings'], undefined)
  const read = await get(pathOf(made.download_url), anna.headers)
  t.match(read.headers, {
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="documento-2026-11-23.pdf"',
    'cache-control': 'no-store'
  })
  t.same(await readPages(read.rawPayload), ['Buongiorno Łukasz'])
})

t.test('missing variables are listed in an ASCII header, and the PDF is created nevertheless', async (t) => {
  const body = { template: pageWith('<p>{{ città }}{{ nome }} x</p>'), data: {} }
  const response = await post('/api/generate-pdf', { ...body, nome: 'perché' }, anna.headers)
  t.same(JSON.parse(String(response.headers['x-pdf-warnings'])), [
    { codice: 'VARIABILE_MANCANTE', messaggio: 'i dati non hanno «nome»' }
  ])
  const read = await get(pathOf(response.json<Made>().download_url), anna.headers)
  t.match(read.headers['content-disposition'], "filename*=UTF-8''perch%C3%A9.pdf")
})

t.test('an unknown template is answered with a 404, with any form of id', async (t) => {
  for (const template_id of ['0000000000000000', 'ZZ', '../../etc/passwd', '__proto__']) {
    const response = await call('POST', '/api/generate-pdf', { template_id, data: {} })
    t.match(response.json(), { status: 404, codice: 'MODELLO_NON_TROVATO' })
    const report = await call('POST', '/api/generate-template', { rows: [], templateId: template_id })
    t.match(report.json(), { status: 404, codice: 'MODELLO_NON_TROVATO' })
  }
})

t.test('exactly one of template and template_id is required', async (t) => {
  t.same(fieldsAtFault(await call('POST', '/api/generate-pdf', { data: {} })), ['template_id'])
  const both = { template: pageWith('x'), template_id: 'd2577b23c4d40496', data: {} }
  t.same(fieldsAtFault(await call('POST', '/api/generate-pdf', both)), ['template_id'])
  t.same(fieldsAtFault(await call('POST', '/api/generate-pdf', { template: {}, data: [], x: 1 })).sort(),
    ['data', 'template', 'x'])
})

t.test('a template error is answered with a 400 with line and column', async (t) => {
  const response = await call('POST', '/api/generate-pdf', { template: '<document>\n<page><nix/></page></document>' })
  t.match(response.json(), {
    status: 400, codice: 'ELEMENTO_SCONOSCIUTO', riga: 2, colonna: 7, dettagli: [{ campo: 'template' }]
  })
})

t.test('a report is returned as PDF, and appears in the caller\'s list and history', async (t) => {
  const carla = await person(test, 'carla')
  const response = await post('/api/generate-template', { rows: sampleRows(7) }, carla.headers)
  t.equal(response.statusCode, 200)
  t.match(response.headers, {
    'content-type': 'application/pdf', 'content-disposition': 'attachment; filename="report-2026-11-23.pdf"'
  })
  const [text] = await readPages(response.rawPayload)
  t.match(text, /Totale incassi 23,10 €/)
  const list = (await get(`/api/csv-pdf-list?user_id=${carla.id}`, carla.headers)).json<{ data: { id: string }[] }>()
  t.match(list.data, [{ nome: 'report-2026-11-23.pdf', download_url: `${PUBLIC_URL}/api/csv-pdf-download/` }])
  const history = (await get('/api/history', carla.headers)).json<{ data: { download_url: string }[] }>()
  t.match(history.data, [{
    id: list.data[0]!.id,
    tipo: 'report_finanziario',
    utente: carla.id,
    template_id: 'd2577b23c4d40496',
    stato: 'completato'
  }])
  const read = await get(pathOf(history.data[0]!.download_url), carla.headers)
  t.ok(read.rawPayload.equals(response.rawPayload), 'the same bytes')
})

t.test('a caller who prefers JSON gets the report’s URL, and otherwise a machine’s PDF is not stored', async (t) => {
  const rows = sampleRows(2)
  const before = (await call('GET', '/api/history')).json<{ data: object[] }>().data.length
  const bytes = await call('POST', '/api/generate-template', { rows })
  t.equal(bytes.headers['content-type'], 'application/pdf')
  t.equal((await call('GET', '/api/history')).json<{ data: object[] }>().data.length, before)
  const response = await call('POST', '/api/generate-template', { rows }, { accept: 'application/json' })
  t.match(response.json(), { status: 'success' })
  const read = await call('GET', pathOf(response.json<Made>().download_url))
  t.ok(read.rawPayload.equals(bytes.rawPayload), 'the same rows and day give the same bytes')
  t.equal((await call('GET', '/api/history')).json<{ data: object[] }>().data.length, before + 1)
  for (const accept of ['*/*', 'application/json, text/plain, */*', 'application/pdf', 'application/json;q=0.5, */*']) {
    const other = await call('POST', '/api/generate-template', { rows }, { accept })
    t.equal(other.headers['content-type'], 'application/pdf', accept)
  }
})

t.test('a machine creates a report for a person, who then owns it', async (t) => {
  const dario = await person(test, 'dario')
  await call('POST', '/api/generate-template', { rows: [], user_id: dario.id })
  const list = (await get(`/api/csv-pdf-list?user_id=${dario.id}`, dario.headers)).json<{ data: object[] }>()
  t.equal(list.data.length, 1)
})

t.test('a person sees only their own PDFs, and the server key and administrators see all', async (t) => {
  const { download_url } = (await post('/api/generate-pdf', { template: pageWith('x') }, anna.headers)).json<Made>()
  const path = pathOf(download_url)
  const list = `/api/csv-pdf-list?user_id=${anna.id}`
  for (const url of [path, list]) {
    t.equal((await get(url, anna.headers)).statusCode, 200)
    t.match((await get(url, bruno.headers)).json(), { status: 403, codice: 'NON_AUTORIZZATO' })
    t.equal((await get(url, admin.headers)).statusCode, 200)
    t.equal((await call('GET', url)).statusCode, 200)
    t.equal((await get(url, {})).statusCode, 401)
  }
  t.equal((await app.inject({ method: 'DELETE', url: `/api/v1/pdf/${path.split('/').at(-1)}`, headers: bruno.headers }))
    .statusCode, 403)
  const history = (await get('/api/history', bruno.headers)).json<{ data: { utente: string }[] }>().data
  t.ok(history.every(({ utente }) => utente === bruno.id))
  t.ok((await get('/api/history', admin.headers)).json<{ data: { utente: string }[] }>().data
    .some(({ utente }) => utente === anna.id))
  for (const url of ['/api/generate-pdf', '/api/generate-template']) {
    const body = url.endsWith('pdf') ? { template: pageWith('x') } : { rows: [] }
    t.equal((await post(url, { ...body, user_id: anna.id }, bruno.headers)).statusCode, 403)
  }
  t.same(fieldsAtFault(await call('GET', '/api/csv-pdf-list')), ['user_id'])
})

t.test('lists are paged, newest first', async (t) => {
  const elena = await person(test, 'elena')
  for (let at = 0; at < 3; at++) {
    await post('/api/generate-pdf', { template: pageWith('x'), nome: `n${at}` }, elena.headers)
  }
  const first = await get(`/api/csv-pdf-list?user_id=${elena.id}&limit=2`, elena.headers)
  t.equal(first.headers['x-total-count'], '3')
  t.match(first.json(), { data: [{ nome: 'n2.pdf' }, { nome: 'n1.pdf' }] })
  const next = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link))![1]!
  t.match((await get(next, elena.headers)).json(), { data: [{ nome: 'n0.pdf' }] })
  t.equal((await get(next, elena.headers)).headers.link, undefined)
})

t.test('a deleted PDF is deleted with its file', async (t) => {
  const made = (await post('/api/generate-pdf', { template: pageWith('x') }, anna.headers)).json<Made>()
  const url = `/api/v1/pdf/${made.transaction_ref}`
  const gone = await app.inject({ method: 'DELETE', url, headers: anna.headers })
  t.same(gone.json(), { message: 'PDF eliminato', status: 200 })
  t.equal((await get(pathOf(made.download_url), anna.headers)).statusCode, 404)
  t.equal((await app.inject({ method: 'DELETE', url, headers: anna.headers })).statusCode, 404)
  t.equal(await app.files.find(app.db, 'reports', `${made.transaction_ref}.pdf`), undefined)
  t.equal((await get('/api/csv-pdf-download/1', anna.headers)).statusCode, 404)
})

t.test('the same Idempotency-Key creates one PDF, and a repeated request gets its bytes or its URL', async (t) => {
  const franca = await person(test, 'franca')
  const headers = { ...franca.headers, 'idempotency-key': 'uno' }
  const body = { rows: sampleRows(3) }
  const first = await post('/api/generate-template', body, headers)
  const second = await post('/api/generate-template', body, headers)
  t.equal(first.headers['idempotency-replayed'], undefined)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.ok(second.rawPayload.equals(first.rawPayload))
  const third = await post('/api/generate-template', body, { ...headers, accept: 'application/json' })
  const list = (await get(`/api/csv-pdf-list?user_id=${franca.id}`, headers)).json<{ data: { id: string }[] }>().data
  t.same(list.map(({ id }) => id), [third.json<Made>().transaction_ref])
  t.equal((await post('/api/generate-template', { rows: [] }, headers)).statusCode, 422)
  const other = { ...franca.headers, 'idempotency-key': 'due' }
  const made = await post('/api/generate-pdf', { template: pageWith('x') }, other)
  t.equal((await post('/api/generate-pdf', { template: pageWith('x') }, other)).body, made.body)
})

t.test('rows that are not a list of objects, or too many, get a 400, and a too long body gets a 413', async (t) => {
  for (const rows of [undefined, {}, 'x', [1]]) {
    t.match(fieldsAtFault(await call('POST', '/api/generate-template', { rows })), [/^rows/])
  }
  const many = Array.from({ length: 20_001 }, () => ({}))
  t.same(fieldsAtFault(await call('POST', '/api/generate-template', { rows: many })), ['rows'])
  const long = await call('POST', '/api/generate-template', { rows: [{ a: 'x'.repeat(9_000_000) }] })
  t.equal(long.statusCode, 413)
})

t.test('many concurrent requests all get a response, each with its own PDF', async (t) => {
  const names = Array.from({ length: 12 }, (_, at) => `nome ${at}`)
  const responses = await Promise.all(names.map((nome) =>
    post('/api/generate-pdf', { template: pageWith('{{ nome }}'), data: { nome } }, anna.headers)))
  const texts = await Promise.all(responses.map(async (response) =>
    (await readPages((await get(pathOf(response.json<Made>().download_url), anna.headers)).rawPayload))[0]))
  t.same(texts, names)
})

t.test('the key of a deleted PDF returns no PDF and creates no other', async (t) => {
  const request = () => call('POST', '/api/generate-pdf', { template: pageWith('uno') }, { 'idempotency-key': 'uno' })
  const first = (await request()).json<{ transaction_ref: string }>()
  const again = await request()
  t.same(again.json(), first)
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.equal((await call('DELETE', `/api/v1/pdf/${first.transaction_ref}`)).statusCode, 200)
  t.match((await request()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
})

t.test('a CSV file becomes a report, which is stored for the person', async (t) => {
  const response = await send('\uFEFFlistingTitle;Q1Payouts\nForlì;1.234,56\nLugo;0,44\n', { decimali: 'virgola' })
  t.equal(response.headers['content-type'], 'application/pdf')
  t.match((await readPages(response.rawPayload)).join(' '), /Totale incassi 1\.235,00 €.*Forlì 1\.234,56 €/)
  const json = await send('a\n1', {}, { accept: 'application/json' })
  t.match(json.json(), { status: 'success' })
  const list = await app.inject({ url: `/api/csv-pdf-list?user_id=${gianni.id}`, headers: gianni.headers })
  t.equal(list.json<{ data: object[] }>().data.length, 2)
})

t.test('an error in the file is answered with a 400 that names it and its line', async (t) => {
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

t.test('JSON is answered with a 415, and a form without the file with a 400', async (t) => {
  const json = await app.inject({ method: 'POST', url: '/api/v1/report/csv', payload: {}, headers: gianni.headers })
  t.equal(json.statusCode, 415)
  const empty = await app.inject({
    method: 'POST',
    url: '/api/v1/report/csv',
    payload: '--x\r\ncontent-disposition: form-data; name="titolo"\r\n\r\nx\r\n--x--\r\n',
    headers: { 'content-type': 'multipart/form-data; boundary=x', ...gianni.headers }
  })
  t.match(empty.json(), { status: 400, dettagli: [{ campo: 'file' }] })
})

t.test('the same Idempotency-Key with the same file gives the same PDF, and with another file a 422', async (t) => {
  const key = { 'idempotency-key': 'csv' }
  const first = await send('a\n1', {}, key)
  const second = await send('a\n1', {}, key)
  t.equal(second.headers['idempotency-replayed'], 'true')
  t.ok(second.rawPayload.equals(first.rawPayload))
  t.equal((await send('a\n2', {}, key)).statusCode, 422)
})
