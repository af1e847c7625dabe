import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { downloadFrom } from '#src/pdf/engines/apitemplate.ts'
import { wholePage } from '#src/pdf/engines/page.ts'
import { makeHtml } from '#src/pdf/task.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { pathOf, sampleRows } from '#test/reports/sample.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'
import { apitemplateAt, FOREIGN_PDF, json, REFERENCE, standIn } from './stand-in-engine.ts'

const { url, seen, state } = await standIn(t)
const environ = { PDF_ENGINE: 'apitemplate', PDF_ENGINE_URL: url, PDF_ENGINE_KEY: 'chiave-del-motore' }
const { app, call } = await build(t, environ, undefined, { pdfEngineMs: 5000 })

const make = (template = pageWith('<p>{{ nome }}</p>'), data: object = { nome: 'Anna' }) =>
  call('POST', '/api/generate-pdf', { template, data })

t.beforeEach(() => {
  seen.length = 0
  state.handle = apitemplateAt(url)
})

t.test('APITemplate gets the page, with a short life; the PDF is fetched, kept here, and deleted there', async (t) => {
  const answer = await make()
  t.equal(answer.statusCode, 200)
  const read = await call('GET', pathOf(answer.json<{ download_url: string }>().download_url))
  t.ok(read.rawPayload.equals(FOREIGN_PDF))
  t.match(seen.map(({ method, path }) => `${method} ${path}`), [
    'POST /v2/create-pdf-from-html?export_type=json&expiration=5',
    'GET /2026/11/file.pdf',
    `GET /v2/delete-object?transaction_ref=${REFERENCE}`
  ])
  t.equal(seen[0]!.headers['x-api-key'], 'chiave-del-motore')
  t.equal(seen[1]!.headers['x-api-key'], undefined, 'the key goes to no other address')
  const body = JSON.parse(seen[0]!.body.toString()) as { body: string, settings: object }
  t.match(body.body, /Anna/)
  t.match(body.settings, { paper_size: 'custom', custom_width: '210mm', custom_height: '297mm' })
})

t.test('what stands in the data is no template there either: it holds no brace and no markup', async (t) => {
  await make(pageWith('<p>{{ nome }}</p><table data="righe"/>'), {
    nome: '{{ 7 * 7 }}{% for x in y %}<script>', righe: [{ '{{ a }}': '{# b #}' }]
  })
  const { body } = JSON.parse(seen[0]!.body.toString()) as { body: string }
  t.notMatch(body, /\{[{%#]|<script/)
  t.match(body, '&#123;&#123; 7 * 7 &#125;&#125;&#123;% for x in y %&#125;&#60;script&#62;')
})

/** What the engine does, what our caller is told of it, and how many requests the engine has got. */
const FAILURES: [what: string, handle: typeof state.handle, told: [status: number, codice: string], times: number][] = [
  ['an error with the status 200',
    (_, response) => json(response, { status: 'error', message: 'Anna' }), [502, 'MOTORE_PDF_RIFIUTA'], 1],
  ['a wrong key', (_, response) => json(response, { status: 'error' }, 401), [502, 'MOTORE_PDF_RIFIUTA'], 1],
  ['too much at a time',
    (_, response) => { response.writeHead(429, { 'retry-after': '0' }).end() }, [503, 'MOTORE_PDF_OCCUPATO'], 2],
  ['a failure of its own',
    (_, response) => { response.writeHead(502).end('bad gateway') }, [503, 'MOTORE_PDF_IRRAGGIUNGIBILE'], 1],
  ['a page for people',
    (_, response) => { response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Anna</html>') },
    [502, 'MOTORE_PDF_INCOMPRENSIBILE'], 1],
  ['a redirection',
    (_, response) => { response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end() },
    [502, 'MOTORE_PDF_RIFIUTA'], 1],
  ['no answer', () => {}, [503, 'MOTORE_PDF_TROPPO_LENTO'], 1],
  ['a connection that is cut', (_, response) => { response.destroy() }, [503, 'MOTORE_PDF_IRRAGGIUNGIBILE'], 1],
  ['a success without an address',
    (_, response) => json(response, { status: 'success' }), [502, 'MOTORE_PDF_INCOMPRENSIBILE'], 1],
  ['an address of a host behind our walls',
    (_, response) => json(response, {
      status: 'success', download_url: 'http://127.0.0.2:9/x', transaction_ref: REFERENCE
    }),
    [502, 'MOTORE_PDF_INCOMPRENSIBILE'], 2]
]
for (const [what, handle, [status, codice], times] of FAILURES) {
  t.test(`a failure of the engine is told in our words, and nothing is billed twice: ${what}`, async (t) => {
    state.handle = handle
    const answer = await make()
    t.match(answer.json(), { status, codice })
    t.notMatch(answer.body, /Anna|chiave-del-motore/)
    t.equal(seen.filter(({ method }) => method === 'POST').length, codice === 'MOTORE_PDF_OCCUPATO' ? 2 : 1)
    t.equal(seen.length, times)
  })
}

t.test('an answer that is no PDF is not kept, and what lies at the engine is deleted all the same', async (t) => {
  const usual = apitemplateAt(url)
  state.handle = (one, response) => {
    if (one.path.endsWith('.pdf')) response.end('<html>')
    else usual(one, response)
  }
  t.match((await make()).json(), { status: 502, codice: 'MOTORE_PDF_INCOMPRENSIBILE' })
  t.match(seen.at(-1)!.path, '/v2/delete-object')
})

t.test('a faulty template is a 400, and the engine is not asked', async (t) => {
  t.match((await make('<document><page><nix/></page></document>')).json(), { status: 400, riga: 1 })
  t.same(seen, [])
})

t.test('a PDF is fetched from the host that was asked or another one of the service, and nowhere else', async (t) => {
  const service = new URL('https://rest-de.apitemplate.io')
  t.ok(downloadFrom(service, 'https://pub-cdn.apitemplate.io/2026/x.pdf'))
  t.ok(downloadFrom(new URL('https://pdf.example.org/api'), 'https://pdf.example.org/x.pdf'))
  for (const address of [
    'http://pub-cdn.apitemplate.io/x', 'https://apitemplate.io.evil.example/x', 'https://evilapitemplate.io/x',
    'https://a:b@rest-de.apitemplate.io/x', 'https://pub-cdn.apitemplate.io:8443/x', 'https://169.254.169.254/x',
    'http://127.0.0.1/x', 'file:///etc/passwd', 'x', ''
  ]) {
    t.throws(() => downloadFrom(service, address), { code: 'MOTORE_PDF_INCOMPRENSIBILE' }, address)
  }
  t.throws(() => downloadFrom(new URL('https://pdf.example.org'), 'https://pub-cdn.apitemplate.io/x'))
})

t.test('Gotenberg gets a form with the page, its margins and its paper; the answer is the PDF', async (t) => {
  const other = await build(t, { PDF_ENGINE: 'gotenberg', PDF_ENGINE_URL: `${url}/pdf/` })
  // Whose thread is there already.
  other.app.workers.run = app.workers.run
  state.handle = (_, response) => { response.writeHead(200, { 'content-type': 'application/pdf' }).end(FOREIGN_PDF) }
  const answer = await other.call('POST', '/api/generate-template', { rows: sampleRows(3) })
  t.ok(answer.rawPayload.equals(FOREIGN_PDF))
  t.equal(seen[0]!.path, '/pdf/forms/chromium/convert/html')
  const form = seen[0]!.body.toString()
  for (const part of ['filename="index.html"', 'filename="footer.html"', 'name="paperWidth"', 'class="pageNumber"']) {
    t.ok(form.includes(part), part)
  }
})

const BROWSER = '/usr/bin/chromium'
const hasBrowser = spawnSync(BROWSER, ['--version']).error === undefined

t.test('an engine that is not there is a 503, after a second attempt', async (t) => {
  const other = await build(t, { PDF_ENGINE: 'gotenberg', PDF_ENGINE_URL: 'http://127.0.0.1:1' })
  other.app.workers.run = app.workers.run
  const answer = await other.call('POST', '/api/generate-pdf', { template: pageWith('x') })
  t.match(answer.json(), { status: 503, codice: 'MOTORE_PDF_IRRAGGIUNGIBILE' })
})

t.test('a browser prints the page with all that ours has', { skip: !hasBrowser && 'no chromium here' }, async (t) => {
  const folder = temporaryFolder(t)
  const request = { rows: sampleRows(400) as never, data: '2026-11-23' }
  const made = await makeHtml({ kind: 'report', request, date: DATE.getTime() })
  if (made.fault !== null) throw new Error(made.fault.message)
  const page = join(folder, 'page.html')
  writeFileSync(page, wholePage(made.html))
  execFileSync(BROWSER, [
    '--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}/profile`,
    `--print-to-pdf=${folder}/page.pdf`, pathToFileURL(page).href
  ], { stdio: 'ignore' })
  const texts = await readPages(readFileSync(join(folder, 'page.pdf')))
  t.ok(texts.length > 3)
  t.match(texts.join(' '), /Riepilogo per alloggio.*Bianchi 399/)
  t.ok(texts.slice(3).every((text) => text.includes('Cognome')), 'the head of the table is on every page')
})
