import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { pageWith, readPages } from '#test/pdf/read-pdf.ts'
import { pathOf, person, sampleRows } from './sample.ts'

const test = await build(t, { TODAY: '2026-11-23' })
const { app, call, logs } = test
const admin = (await person(test, 'capo', 'admin')).headers
const anna = (await person(test, 'anna')).headers

const URL = '/api/v1/templates'
const ID = '00377b2b1e0ee394'
const REPORT = 'd2577b23c4d40496'
const LETTER = 'b7c41f0a92d85e36'
const template = pageWith('<p>{{ ospite.nome }} {{ notti }}</p><table data="righe"/>')
const esempio = { ospite: { nome: 'Anna' }, notti: 3, righe: [{ a: 1 }] }

const put = (id: string, payload: object, headers: Record<string, string> = {}) =>
  app.inject({ method: 'PUT', url: `${URL}/${id}`, payload, headers: { ...admin, ...headers } })
const remove = (id: string, headers: Record<string, string> = {}) =>
  app.inject({ method: 'DELETE', url: `${URL}/${id}`, headers: { ...admin, ...headers } })

const has = (program: string) => spawnSync(program, ['--version']).error === undefined

t.test('a template is saved, read with its variables, listed, used and deleted', async (t) => {
  const created = await put(ID, { nome: 'Conferma', template, esempio })
  t.equal(created.statusCode, 201)
  t.equal(created.headers.location, `${URL}/${ID}`)
  t.match(created.json(), {
    status: 201,
    data: { id: ID, nome: 'Conferma', versione: 1, predefinito: false, variabili: ['notti', 'ospite.nome', 'righe'] }
  })
  const read = await call('GET', `${URL}/${ID}`)
  t.same(read.json(), { data: created.json<{ data: object }>().data })
  t.equal(read.headers.etag, '"1"')
  t.equal((await call('GET', `${URL}/${ID}`, undefined, { 'if-none-match': '"1"' })).statusCode, 304)
  const list = (await call('GET', URL)).json<{ data: { id: string }[] }>().data
  t.match(list, [{ id: REPORT, predefinito: true }, { id: LETTER, predefinito: true }, { id: ID, predefinito: false }])
  const made = await call('POST', '/api/generate-pdf', { template_id: ID, data: esempio })
  t.equal(made.statusCode, 200)
  t.same((await remove(ID)).json(), { message: 'Modello eliminato', status: 200 })
  t.equal((await call('GET', `${URL}/${ID}`)).statusCode, 404)
  t.equal((await remove(ID)).statusCode, 404)
  t.equal((await call('POST', '/api/generate-pdf', { template_id: ID, data: esempio })).statusCode, 404)
})

t.test('If-Match restricts a change to the version that was read', async (t) => {
  const body = { nome: 'Conferma', template: pageWith('uno') }
  t.equal((await put(ID, body, { 'if-match': '"1"' })).statusCode, 412, 'no template exists yet')
  const first = await put(ID, body, { 'if-none-match': '*' })
  t.equal(first.statusCode, 201)
  t.equal(first.headers.etag, '"2"', 'an earlier template of that id is another one')
  t.match((await put(ID, body, { 'if-none-match': '*' })).json(), { status: 412, codice: 'MODELLO_CAMBIATO' })
  const second = await put(ID, { ...body, nome: 'Altro' }, { 'if-match': '"2"' })
  t.match(second.json(), { status: 200, data: { versione: 3, nome: 'Altro' } })
  t.match((await put(ID, body, { 'if-match': '"2"' })).json(), { status: 412, codice: 'MODELLO_CAMBIATO' })
  t.equal((await remove(ID, { 'if-match': '"2"' })).statusCode, 412)
  t.equal((await remove(ID, { 'if-match': '"3"' })).statusCode, 200)
})

t.test('concurrent saves of one template each get their own version, and exactly one creates it', async (t) => {
  const id = 'cccccccccccccccc'
  const responses = await Promise.all(Array.from({ length: 6 }, (_, at) => put(id, { nome: `n${at}`, template })))
  t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 200, 200, 200, 200, 201])
  const only = await Promise.all([1, 2, 3].map(() =>
    put('dddddddddddddddd', { nome: 'x', template }, { 'if-none-match': '*' })))
  t.same(only.map(({ statusCode }) => statusCode).sort(), [201, 412, 412])
  const { data } = (await call('GET', `${URL}/${id}/versioni`)).json<{ data: { versione: number }[] }>()
  t.same(data.map(({ versione }) => versione), [6, 5, 4, 3, 2, 1])
})

t.test('fifty versions of a template are kept, and deleted with it', async (t) => {
  const id = 'eeeeeeeeeeeeeeee'
  const save = (version: number) =>
    put(id, { nome: `Versione ${version}`, template: pageWith(`${version}`), esempio: { version } })
  await save(1)
  // Simulates that these were also saved.
  await app.sql`
    insert into pdf_template_versions (id, versione, nome, template, esempio, variabili, updated_at)
    select id, n, 'Versione ' || n, replace(template, '1', n::text), jsonb_build_object('version', n), variabili, now()
    from pdf_templates, generate_series(2, 49) n where id = ${id}`
  await app.sql`update pdf_templates set versione = 49 where id = ${id}`
  for (const version of [50, 51, 52]) await save(version)
  const { data } = (await call('GET', `${URL}/${id}/versioni`)).json<{ data: object[] }>()
  t.equal(data.length, 50)
  t.match(data[0], { versione: 52, nome: 'Versione 52' })
  t.match((await call('GET', `${URL}/${id}/versioni/3`)).json(), {
    data: { id, nome: 'Versione 3', versione: 3, template: pageWith('3'), esempio: { version: 3 }, predefinito: false }
  })
  t.match((await call('GET', `${URL}/${id}/versioni/2`)).json(), { status: 404, codice: 'VERSIONE_NON_TROVATA' })
  t.equal((await remove(id)).statusCode, 200)
  t.match((await call('GET', `${URL}/${id}/versioni`)).json(), { status: 404, codice: 'MODELLO_NON_TROVATO' })
  t.equal((await call('GET', `${URL}/${id}/versioni/3`)).statusCode, 404)
  const left = await app.sql`select template || coalesce(esempio::text, '') as left from pdf_templates where id = ${id}`
  t.same([...left, ...await app.sql`select 1 from pdf_template_versions where id = ${id}`], [{ left: '' }])
  t.same((await call('GET', `${URL}/${REPORT}/versioni`)).json(), { data: [] })
  t.notMatch((await call('GET', URL)).body, id)
})

t.test('only administrators change templates, and every authenticated caller lists them', async (t) => {
  for (const headers of [anna, { 'x-api-key': 'chiave-di-prova-0123456789' }]) {
    const body = { nome: 'x', template: pageWith('x') }
    t.equal((await app.inject({ method: 'PUT', url: `${URL}/${ID}`, payload: body, headers })).statusCode, 403)
    t.equal((await app.inject({ method: 'DELETE', url: `${URL}/${ID}`, headers })).statusCode, 403)
    t.equal((await app.inject({ url: URL, headers })).statusCode, 200)
  }
  t.equal((await app.inject({ url: URL })).statusCode, 401)
})

t.test('the built-in templates are read-only', async (t) => {
  for (const id of [REPORT, LETTER]) {
    const read = (await call('GET', `${URL}/${id}`)).json<{ data: { template: string, variabili: string[] } }>().data
    t.match(read.template, /^<document /)
    t.ok(read.variabili.length > 3)
    const changed = await put(id, { nome: 'x', template: pageWith('x') })
    t.match(changed.json(), { status: 409, codice: 'MODELLO_PREDEFINITO' })
    t.equal((await remove(id)).statusCode, 409)
    const preview = await call('POST', `${URL}/${id}/preview`, {})
    t.equal(preview.headers['content-type'], 'application/pdf')
    t.match((await readPages(preview.rawPayload)).join(' '), /Bianchi/)
  }
})

t.test('a copy of the report’s template produces reports', async (t) => {
  const { template } = (await call('GET', `${URL}/${REPORT}`)).json<{ data: { template: string } }>().data
  const copy = { nome: 'Copia', template: template.replace('Dettaglio', 'Le righe') }
  t.equal((await put('abcdefabcdef0123', copy)).statusCode, 201)
  const body = { rows: [{ listingTitle: 'A', Q1Payouts: '1.00' }], templateId: 'abcdefabcdef0123' }
  const response = await call('POST', '/api/generate-template', body)
  t.match((await readPages(response.rawPayload)).join(' '), /Le righe .*A 1,00 €/)
})

t.test('a preview uses the given data, else the example, and is not stored', async (t) => {
  await put(ID, { nome: 'Conferma', template, esempio })
  const text = async (body: object) =>
    (await readPages((await call('POST', `${URL}/${ID}/preview`, body)).rawPayload))[0]
  t.match(await text({}), /Anna 3/)
  t.match(await text({ data: { ...esempio, notti: 7 } }), /Anna 7/)
  const { data } = (await call('GET', '/api/history')).json<{ data: { tipo: string }[] }>()
  t.equal(data.length, 1, 'the template of the first test')
})

t.test('an invalid template is not saved, and the response has line and column', async (t) => {
  const cases = [
    ['<document>\n <page><nix/></page></document>', 'ELEMENTO_SCONOSCIUTO', 2],
    [pageWith('{% if a %}'), 'SINTASSI_NON_VALIDA', 1],
    [pageWith('\n{{ a | nix }}'), 'ISTRUZIONE_SCONOSCIUTA', 2],
    [pageWith('<p>a'), 'XML_NON_BEN_FORMATO', 1]
  ] as const
  for (const [template, codice, riga] of cases) {
    t.match((await put(ID, { nome: 'x', template })).json(), { status: 400, codice, riga })
    t.match((await call('POST', `${URL}/valida`, { template })).json(), { valid: false, errors: [{ codice, riga }] })
  }
  t.same(fieldsAtFault(await put('1', { nome: 'x', template: pageWith('x') })), ['id'])
  t.same(fieldsAtFault(await put('1', { nome: '', template: 3 })).sort(), ['id', 'nome', 'template'])
  for (const text of ['a\0b', 'a\ud800b']) {
    const body = { nome: 'x', template: pageWith(text), esempio: { a: [{ [text]: 1 }] } }
    t.same(fieldsAtFault(await put(ID, body)).sort(), ['esempio', 'template'], 'text that PostgreSQL cannot store')
    t.same(fieldsAtFault(await put(ID, { ...body, template, esempio: { a: [text] } })), ['esempio'])
  }
  t.same(fieldsAtFault(await put(ID, { nome: '', template: 'x'.repeat(64_001) })).sort(), ['nome', 'template'])
})

t.test('a check lists the variables of a template, and tries it on an example if there is one', async (t) => {
  const check = async (body: object) => (await call('POST', `${URL}/valida`, body)).json<object>()
  const wants = pageWith('<p style="color: {{ colore }}">{{ a.b | currency: valuta }}</p>')
  t.same(await check({ template: wants }), {
    valid: true, variabili: ['a.b', 'colore', 'valuta'], errors: [], warnings: []
  })
  t.match(await check({ template: wants, esempio: { colore: 'rosso?', a: { b: 1 }, valuta: 'EUR' } }), {
    valid: false, errors: [{ codice: 'STILE_NON_AMMESSO' }]
  })
  t.match(await check({ template: wants, esempio: { colore: 'red', valuta: 'EUR' } }), {
    valid: true, warnings: [{ codice: 'VARIABILE_MANCANTE' }]
  })
})

t.test('changes of templates are audited', async (t) => {
  const { body } = await app.inject({ url: '/api/v1/audit', headers: admin })
  for (const action of ['modello_salvato', 'modello_eliminato']) t.match(body, action)
})

t.test('names of JavaScript\'s own properties are refused, or have no special meaning', async (t) => {
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'length']) {
    const rows = [{ [name]: '1.00', listingTitle: 'constructor' }, { listingTitle: '__proto__' }]
    t.equal((await call('POST', '/api/generate-template', { rows })).statusCode, 200, name)
  }
  const response = await call('POST', '/api/generate-template',
    JSON.parse('{"rows":[{"__proto__":{"x":1}}]}') as object)
  t.ok(response.statusCode === 400 || response.statusCode === 200)
})

t.test('rows with too many values or columns, or with a value that is too long, are refused', async (t) => {
  const wide = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`c${at}`, at]))
  const responses = [
    await call('POST', '/api/generate-template', { rows: Array.from({ length: 9000 }, () => wide) }),
    await call('POST', '/api/generate-template', { rows: [wide] }),
    await call('POST', '/api/generate-template', { rows: [{ a: 'x'.repeat(2_000_000) }] }),
    await call('POST', '/api/generate-template', { rows: [{ a: 'x y '.repeat(20_000) }] })
  ]
  for (const response of responses) t.match(response.json(), { status: 400 })
  for (const response of responses.slice(1)) t.match(response.json(), { dettagli: [{ campo: 'rows' }], riga: null })
})

t.test('rows that each have other columns are refused', async (t) => {
  const rows = Array.from({ length: 8000 }, (_, row) =>
    Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`f${row}x${at}`, 1])))
  const response = await call('POST', '/api/generate-template', { rows })
  t.match(response.json(), { status: 400, codice: 'LIMITE_SUPERATO', dettagli: [{ campo: 'rows' }] })
  t.same(logs.filter(({ level }) => Number(level) >= 50), [], 'no error is logged')
})

t.test('a column with dots in its name is shown and added up like any other', async (t) => {
  const rows = [{ 'Importo es. IVA': '10.50', 'a.b': 'uno' }, { 'Importo es. IVA': '0.50', 'a.b': 'due' }]
  const text = (await readPages((await call('POST', '/api/generate-template', { rows })).rawPayload)).join(' ')
  t.match(text, /11,00/)
  t.match(text, /10,50.*uno/)
})

t.test('layouts that repeatedly fail to render do not block other PDFs', async (t) => {
  const template = pageWith('<row><div style="flex: 1"><qr size="0" value="a"/></div><p>\u00AD\u00ADa</p></row>')
  for (let time = 0; time < 40; time++) {
    t.match((await call('POST', '/api/generate-pdf', { template })).statusCode, 400)
  }
  t.equal((await call('POST', '/api/generate-pdf', { template: pageWith('dopo') })).statusCode, 200)
})

t.test('a PDF that takes too long ends only its thread, and the next request succeeds', async (t) => {
  const template = pageWith('{% for i in (1..2500) %}<p>{{ testo }}</p>{% endfor %}')
  // The task would take several seconds.
  const { run } = app.pdfWorkers
  app.pdfWorkers.run = (task, job, options) => run(task, job, { ...options, deadlineMs: 1000 })
  t.teardown(() => { app.pdfWorkers.run = run })
  const response = await call('POST', '/api/generate-pdf', { template, data: { testo: 'uno due tre '.repeat(12) } })
  t.match(response.json(), { status: 503, codice: 'LAVORO_TROPPO_LUNGO' })
  app.pdfWorkers.run = run
  const next = await call('POST', '/api/generate-pdf', { template: pageWith('dopo') })
  const read = await call('GET', pathOf(next.json<{ download_url: string }>().download_url))
  t.same(await readPages(read.rawPayload), ['dopo'])
})

t.test('other programs read the PDFs', async (t) => {
  const folder = temporaryFolder(t)
  const save = (name: string, { rawPayload }: { rawPayload: Buffer }) => {
    const file = join(folder, `${name}.pdf`)
    writeFileSync(file, rawPayload)
    return file
  }
  const report = (count: number) => call('POST', '/api/generate-template', { rows: sampleRows(count) })
  const short = save('short', await report(5))
  const long = save('long', await report(400))
  const letter = save('letter', await call('POST', `${URL}/${LETTER}/preview`, {}))

  t.test('qpdf finds no error', { skip: !has('qpdf') && 'qpdf is not installed' }, async (t) => {
    for (const file of [short, long, letter]) {
      const { status, stdout, stderr } = spawnSync('qpdf', ['--check', file], { encoding: 'utf8' })
      t.equal(status, 0, `${file}: ${stdout}${stderr}`)
    }
  })

  t.test('pdftotext reads totals and names', { skip: !has('pdftotext') && 'pdftotext is not installed' }, async (t) => {
    const text = (file: string) => execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8' })
    t.match(text(short), /Totale incassi[\s\S]*11,50 €/)
    t.match(text(long), /Bianchi 399/)
    // 0 + 1 + … + 399 euros, and thirty cents a row.
    t.match(text(long), /79\.920,00 €/)
    t.match(text(letter), /Benvenuti, Anna Bianchi!/)
  })
})
