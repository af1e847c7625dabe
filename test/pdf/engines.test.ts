import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import sharp from 'sharp'
import t from 'tap'
import { encodeCursor } from '#src/lib/paging.ts'
import { downloadFrom } from '#src/pdf/engines/apitemplate.ts'
import { wholePage } from '#src/pdf/engines/printed-page.ts'
import type { NewPdf } from '#src/pdf/index.ts'
import { makeHtml } from '#src/pdf/task.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { pathOf, sampleRows } from '#test/reports/sample.ts'
import { make, samples } from './pictures.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'
import { apitemplateAt, FOREIGN_PDF, json, REFERENCE, standIn } from './stand-in-engine.ts'

const { url, seen, state } = await standIn(t)
const environ = { PDF_ENGINE: 'apitemplate', PDF_ENGINE_URL: url, PDF_ENGINE_KEY: 'chiave-del-motore' }
const { app, call } = await build(t, environ, undefined, { times: { pdfEngineMs: 5000 } })

const generate = (template = pageWith('<p>{{ nome }}</p>'), data: object = { nome: 'Anna' }) =>
  call('POST', '/api/generate-pdf', { template, data })

/*
 * Compares the built-in templates with approved pictures. After an intended change, run with RENEW=1 and check the new
 * pictures.
 */

const APPROVED = new URL('../../fixtures/pdf/', import.meta.url)
const isDrawn = spawnSync('pdftoppm', ['-v']).error === undefined
const options = { skip: !isDrawn && 'pdftoppm is not installed' }
const renew = process.env.RENEW === '1'

/** Maximum mean difference per pixel, of 255. Each version of pdftoppm draws the edges of letters differently. */
const TOLERANCE = 0.6

const folder = temporaryFolder(t)

/** The first page, small and in gray. */
function draw (name: string, pdf: Uint8Array): Buffer {
  const file = join(folder, name)
  writeFileSync(`${file}.pdf`, pdf)
  execFileSync('pdftoppm', ['-r', '48', '-gray', '-png', '-f', '1', '-l', '1', '-singlefile', `${file}.pdf`, file])
  return readFileSync(`${file}.png`)
}

/** The mean difference of two pictures. Infinite when their sizes differ. */
async function distance (one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all([one, other].map((picture) =>
    sharp(picture).greyscale().blur(1).raw().toBuffer({ resolveWithObject: true })))
  if (a!.info.width !== b!.info.width || a!.info.height !== b!.info.height) return Infinity
  return a!.data.reduce((sum, value, at) => sum + Math.abs(value - b!.data[at]!), 0) / a!.data.length
}

const { app: own } = await build(t)
const { db, pdf, files } = own

const job = { kind: 'template', source: pageWith('{{ nome }}'), data: { nome: 'Anna' }, date: DATE.getTime() } as const

async function keep (values: Partial<NewPdf> = {}) {
  const { bytes } = await pdf.make(job, { caller: 'prova' })
  const object = { bucket: 'reports', name: `${randomUUID()}.pdf`, contentType: 'application/pdf', owner: null }
  const file = await files.write(bytes, object, bytes.length)
  return await files.settle(file, () => db.transaction(async (tx) => {
    const object = await files.keep(tx, file, { replace: false })
    const record = { tipo: 'documento_pdf' as const, utente: null, template_id: null, nome: 'prova.pdf', object }
    return await pdf.record(tx, { ...record, ...values })
  }))
}

t.beforeEach(() => {
  seen.length = 0
  state.handle = apitemplateAt(url)
})

t.test('APITemplate gets the page with a short expiry, and the PDF is downloaded and deleted there', async (t) => {
  const answer = await generate()
  t.equal(answer.statusCode, 200)
  const read = await call('GET', pathOf(answer.json<{ download_url: string }>().download_url))
  t.ok(read.rawPayload.equals(FOREIGN_PDF))
  t.match(seen.map(({ method, path }) => `${method} ${path}`), [
    'POST /v2/create-pdf-from-html?export_type=json&expiration=5',
    'GET /2026/11/file.pdf',
    `GET /v2/delete-object?transaction_ref=${REFERENCE}`
  ])
  t.equal(seen[0]!.headers['x-api-key'], 'chiave-del-motore')
  t.equal(seen[1]!.headers['x-api-key'], undefined, 'the key is sent only to the engine')
  const body = JSON.parse(seen[0]!.body.toString()) as { body: string, settings: object }
  t.match(body.body, /Anna/)
  t.match(body.settings, { paper_size: 'custom', custom_width: '210mm', custom_height: '297mm' })
})

t.test('data sent to an engine contain no template syntax and no markup', async (t) => {
  await generate(pageWith('<p>{{ nome }}</p><table data="righe"/>'), {
    nome: '{{ 7 * 7 }}{% for x in y %}<script>', righe: [{ '{{ a }}': '{# b #}' }]
  })
  const { body } = JSON.parse(seen[0]!.body.toString()) as { body: string }
  t.notMatch(body, /\{[{%#]|<script/)
  t.match(body, '&#123;&#123; 7 * 7 &#125;&#125;&#123;% for x in y %&#125;&#60;script&#62;')
})

/** A failure of the engine, the error for the caller, and the number of requests to the engine. */
type Told = [status: number, codice: string]
const FAILURES: [failure: string, handle: typeof state.handle, told: Told, times: number][] = [
  ['an error with the status 200',
    (_, response) => json(response, { status: 'error', message: 'Anna' }), [502, 'MOTORE_PDF_RIFIUTA'], 1],
  ['a wrong key', (_, response) => json(response, { status: 'error' }, 401), [502, 'MOTORE_PDF_RIFIUTA'], 1],
  ['too many requests',
    (_, response) => { response.writeHead(429, { 'retry-after': '0' }).end() }, [503, 'MOTORE_PDF_OCCUPATO'], 2],
  ['a failure of the engine',
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
  ['the address of an internal host',
    (_, response) => json(response, {
      status: 'success', download_url: 'http://127.0.0.2:9/x', transaction_ref: REFERENCE
    }),
    [502, 'MOTORE_PDF_INCOMPRENSIBILE'], 2]
]
for (const [failure, handle, [status, codice], times] of FAILURES) {
  t.test(`an engine failure has this server's own message, and no request is billed twice: ${failure}`, async (t) => {
    state.handle = handle
    const answer = await generate()
    t.match(answer.json(), { status, codice })
    t.notMatch(answer.body, /Anna|chiave-del-motore/)
    t.equal(seen.filter(({ method }) => method === 'POST').length, codice === 'MOTORE_PDF_OCCUPATO' ? 2 : 1)
    t.equal(seen.length, times)
  })
}

t.test('a download that is not a PDF is not stored, and the object at the engine is deleted', async (t) => {
  const usual = apitemplateAt(url)
  state.handle = (one, response) => {
    if (one.path.endsWith('.pdf')) response.end('<html>')
    else usual(one, response)
  }
  t.match((await generate()).json(), { status: 502, codice: 'MOTORE_PDF_INCOMPRENSIBILE' })
  t.match(seen.at(-1)!.path, '/v2/delete-object')
})

t.test('returns 400 for an invalid template without calling the engine', async (t) => {
  t.match((await generate('<document><page><nix/></page></document>')).json(), { status: 400, riga: 1 })
  t.same(seen, [])
})

t.test('downloads PDFs only from the engine\'s host, or from another host of the service', async (t) => {
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

t.test('Gotenberg gets a form with page, margins and paper size, and its response is the PDF', async (t) => {
  const other = await build(t, { PDF_ENGINE: 'gotenberg', PDF_ENGINE_URL: `${url}/pdf/` })
  // Reuse the first app's worker thread.
  other.app.pdfWorkers.run = app.pdfWorkers.run
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

t.test('a browser prints all rows and repeats the head', { skip: !hasBrowser && 'no chromium here' }, async (t) => {
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
  t.ok(texts.slice(3).every((text) => text.includes('Cognome')), 'the table head is on every page')
})

for (const [name, job] of Object.entries(samples())) {
  t.test(`the first page matches the approved picture: ${name}`, options, async (t) => {
    const picture = draw(name, await make(job))
    const approved = new URL(`${name}.png`, APPROVED)
    if (renew) writeFileSync(approved, await sharp(picture).png({ palette: true, colours: 16 }).toBuffer())
    const far = await distance(picture, readFileSync(approved))
    t.ok(far < TOLERANCE, `${far.toFixed(2)} of ${TOLERANCE}`)
  })
}

t.test('a PDF recorded in the transaction of its file is found with its file', async (t) => {
  const made = await keep({ utente: 'anna' })
  t.match(await pdf.find(db, made.id), { utente: 'anna', stato: 'completato', nome: 'prova.pdf' })
  const object = await files.find(db, made.bucket, made.oggetto)
  const bytes = Buffer.concat(await (await files.read(object!)).toArray() as Buffer[])
  t.same(await readPages(bytes), ['Anna'])
})

t.test('records are listed newest first, in pages, filtered by owner and kind', async (t) => {
  const made = []
  for (let at = 0; at < 5; at++) {
    made.unshift((await keep({ utente: 'bruno', tipo: at % 2 ? 'report_finanziario' : 'lettera_benvenuto' })).id)
  }
  const first = await pdf.page(db, { utente: 'bruno' }, 3)
  const second = await pdf.page(db, { utente: 'bruno' }, 3, encodeCursor(first.next!))
  t.same([...first.data, ...second.data].map(({ id }) => id), made)
  t.equal(second.next, undefined)
  t.equal(await pdf.count(db, { utente: 'bruno' }), 5)
  t.equal(await pdf.count(db, { utente: 'bruno', tipi: ['report_finanziario'] }), 2)
  await t.rejects(pdf.page(db, {}, 3, 'x'), { code: 'RICHIESTA_NON_VALIDA' })
})

t.test('when a PDF is removed its file is deleted, but not after a rollback', async (t) => {
  const { id, bucket, oggetto } = await keep()
  const failing = db.transaction(async (tx) => {
    await pdf.remove(tx, [id])
    throw new Error('no')
  })
  await t.rejects(failing, { message: 'no' })
  t.ok(await pdf.find(db, id))
  await db.transaction((tx) => pdf.remove(tx, [id]))
  t.equal(await pdf.find(db, id), undefined)
  t.equal(await files.find(db, bucket, oggetto), undefined)
})

t.test('a record is deleted when its file is discarded, and find returns undefined for an invalid id', async (t) => {
  const { id, bucket, oggetto } = await keep()
  const object = await files.find(db, bucket, oggetto)
  await db.transaction((tx) => files.discard(tx, [object!]))
  t.equal(await pdf.find(db, id), undefined)
  t.equal(await pdf.find(db, '1'), undefined)
})
