import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import type { OcrResponse } from '#schemas/ocr.ts'
import { textEngine, type TextEngineOptions } from '#src/scanning/text/text-engine.ts'
import { build } from '#test/helper.ts'
import { withPlace } from '#test/services/images/pictures.ts'
import { CLEAN, photograph, skip } from '../mrz/reader/render.ts'
import { type Behaviour, google, providerServer, space } from './provider-server.ts'
import { WIDTHS } from './thread.ts'

const script = new URL('thread.ts', import.meta.url)

function startEngine (t: Test, options: TextEngineOptions = {}) {
  const engine = textEngine({ script, ...options })
  t.teardown(engine.close)
  const read = (kind: keyof typeof WIDTHS, signal?: AbortSignal) => engine.read({
    page: { data: new Uint8Array(WIDTHS[kind]), width: WIDTHS[kind], height: 1 }, languages: ['IT'], quarters: 0
  }, 'a', signal)
  return { engine, read }
}

const KEY = 'chiave-del-provider-4711'
const LINES = ['P<FRAVERDI<<LUCA<MARIA<<<<<<<<<<<<<<<<<<<<<<', 'V123456781FRA8002295M3006302<<<<<<<<<<<<<<00']
const TEXT = 'Comune di Bergamo\nRossi Bianca'
// Created first, because sharp accepts no other formats after the first decoding.
const photo = (await withPlace('SEGRETO-4711')).toString('base64')

async function start (name: 'google-vision' | 'ocr-space') {
  const provider = await providerServer(t)
  const environ = { OCR_PROVIDER: name, OCR_PROVIDER_URL: provider.url, OCR_PROVIDER_KEY: KEY }
  const { call, logs } = await build(t, environ, undefined, { times: { ocrTimeoutMs: 5000 } })
  const ocr = (options: object = {}) => call('POST', '/api/ocr', { image: photo, ...options })
  return { provider, call, logs, ocr }
}

const servers = { 'google-vision': await start('google-vision'), 'ocr-space': await start('ocr-space') }

const ROOT = new URL('../../../', import.meta.url)
/** An import that remains after the types are removed. */
const IMPORT = /^(?:import|export)\s+(?!type\b)(?:[^'"]*?\sfrom\s+)?'([^']+)'/gm

/** The project files and packages that a module loads by static imports. */
function loadedBy (first: string): Set<string> {
  const seen = new Set<string>()
  const rest = [new URL(first, ROOT)]
  for (let file = rest.pop(); file !== undefined; file = rest.pop()) {
    if (seen.has(file.href)) continue
    seen.add(file.href)
    for (const [, name] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      if (name!.startsWith('.')) rest.push(new URL(name!, file))
      else if (name!.startsWith('#')) rest.push(new URL(name!.slice(1), ROOT))
      else seen.add(name!)
    }
  }
  return seen
}

t.test('starts one thread for the first page, and keeps it', async (t) => {
  const { engine, read } = startEngine(t)
  t.equal(engine.threads(), 0)
  t.same(await Promise.all([read('read'), read('read'), read('read')]), ['1', '2', '3'])
  t.equal(engine.threads(), 1)
  await engine.close()
  t.equal(engine.threads(), 0)
})

t.test('replaces the thread after readingsMax pages', async (t) => {
  const { read } = startEngine(t, { readingsMax: 2 })
  const texts: string[] = []
  for (let n = 0; n < 5; n++) texts.push(await read('read'))
  t.same(texts, ['1', '2', '1', '2', '1'])
})

t.test('a page past the deadline fails with 503 and ends the thread, and the next page is read', async (t) => {
  const { read } = startEngine(t, { deadlineMs: 6000 })
  await t.rejects(read('hang'), { code: 'LAVORO_TROPPO_LUNGO' })
  t.equal(await read('read'), '1')
})

t.test('a page that crashes the thread fails with 503, and the next page is read', async (t) => {
  const { read } = startEngine(t)
  for (const kind of ['exit', 'fail'] as const) {
    await t.rejects(read(kind), { code: 'LAVORO_NON_RIUSCITO' })
    t.equal(await read('read'), '1')
  }
})

t.test('does not read a queued page after its caller has aborted', async (t) => {
  const { read } = startEngine(t)
  const gone = new AbortController()
  const first = read('read')
  const second = read('read', gone.signal)
  gone.abort()
  await t.rejects(second, { code: 'SERVIZIO_OCCUPATO' })
  t.equal(await first, '1')
  t.equal(await read('read'), '2')
})

t.test('ends the thread when idle and starts another for the next page', async (t) => {
  const { engine, read } = startEngine(t, { idleMs: 1 })
  t.equal(await read('read'), '1')
  while (engine.threads() > 0) await new Promise((resolve) => { setTimeout(resolve, 10) })
  t.equal(await read('read'), '1')
})

t.test('close does not wait for pages in progress', async (t) => {
  const { engine, read } = startEngine(t)
  const failing = t.rejects(Promise.all([read('hang'), read('read')]), { name: 'FastifyError' })
  await engine.close()
  await failing
})

t.beforeEach(() => {
  for (const { provider } of Object.values(servers)) provider.received.length = 0
})

t.test('Google gets the image without metadata, and its text is returned', async (t) => {
  const { provider, ocr } = servers['google-vision']
  provider.behave(google.text(TEXT))
  const response = await ocr({ lingue: ['IT', 'DE'] })
  t.same(response.json(), { text: TEXT, mrz: null, zone: [], avvisi: [] })
  const [{ method, path, headers, body }] = provider.received as [(typeof provider.received)[number]]
  t.same([method, path, headers['x-goog-api-key']], ['POST', '/lettura', KEY])
  const { requests: [asked] } = JSON.parse(body.toString()) as {
    requests: [{ image: { content: string }, features: object[], imageContext: object }]
  }
  t.same(asked.features, [{ type: 'TEXT_DETECTION' }])
  t.same(asked.imageContext, { languageHints: ['it', 'de'] })
  const sent = Buffer.from(asked.image.content, 'base64')
  t.same(sent.subarray(0, 3), Buffer.from('ffd8ff', 'hex'))
  t.notOk(sent.includes('SEGRETO'))
  provider.behave(google.nothing)
  t.same((await ocr()).json(), { text: '', mrz: null, zone: [], avvisi: [] })
})

t.test('OCR.space gets a form with the image, and its text is returned', async (t) => {
  const { provider, ocr } = servers['ocr-space']
  provider.behave(space.text(TEXT))
  t.same((await ocr({ lingue: ['DE'] })).json(), { text: TEXT, mrz: null, zone: [], avvisi: [] })
  const [{ headers, body }] = provider.received as [(typeof provider.received)[number]]
  t.equal(headers.apikey, KEY)
  t.match(headers['content-type'], /^multipart\/form-data; boundary=/)
  t.match(body.toString('latin1'), /name="file"; filename="documento.jpg"[^]*name="language"\r\n\r\nger\r\n/)
  t.notOk(body.includes('SEGRETO'))
})

t.test('the local reader reads the zone when a provider reads the text', { skip }, async (t) => {
  const { provider, call } = servers['google-vision']
  provider.behave(google.text('P<FRAVERD1<<LUCA'))
  const image = (await photograph(LINES, { ...CLEAN, size: 26 })).toString('base64')
  t.match((await call('POST', '/api/ocr', { image })).json<OcrResponse>(), { text: 'P<FRAVERD1<<LUCA', mrz: LINES })
  provider.received.length = 0
  t.match((await call('POST', '/api/ocr', { image, solo_mrz: true })).json(), { text: '', mrz: LINES })
  t.same(provider.received, [], 'solo_mrz sends no picture to the provider')
})

const FAULTS: Record<string, ['google-vision' | 'ocr-space', Behaviour, number, string]> = {
  'no answer in time': ['google-vision', 'silence', 503, 'OCR_NON_DISPONIBILE'],
  'a failure of Google': ['google-vision', { status: 500, body: 'no' }, 503, 'OCR_NON_DISPONIBILE'],
  'a redirect': [
    'google-vision', { status: 302, body: '', location: 'http://127.0.0.1:1/' }, 503, 'OCR_NON_DISPONIBILE'
  ],
  'Google’s limit': ['google-vision', google.refusal(429, 'RATE_LIMIT_EXCEEDED'), 503, 'OCR_QUOTA_ESAURITA'],
  'a quota error reported for the picture': ['google-vision', google.ofPicture(8), 503, 'OCR_QUOTA_ESAURITA'],
  'a key that Google does not know': [
    'google-vision', google.refusal(400, 'API_KEY_INVALID'), 502, 'OCR_CREDENZIALI_RIFIUTATE'
  ],
  'a key without right': ['google-vision', google.refusal(403, 'SERVICE_DISABLED'), 502, 'OCR_CREDENZIALI_RIFIUTATE'],
  'a picture that Google refuses': ['google-vision', google.ofPicture(3), 502, 'OCR_RISPOSTA_NON_VALIDA'],
  'an answer that is not JSON': ['google-vision', { status: 200, body: '<html>' }, 502, 'OCR_RISPOSTA_NON_VALIDA'],
  'a text that is not a string': [
    'google-vision', { status: 200, body: { responses: [{ fullTextAnnotation: { text: 7 } }] } }, 502,
    'OCR_RISPOSTA_NON_VALIDA'
  ],
  'an endless answer': [
    'google-vision', { status: 200, body: 'x'.repeat(9 * 1024 * 1024) }, 503, 'OCR_NON_DISPONIBILE'
  ],
  'OCR.space’s limit': [
    'ocr-space', { status: 403, body: 'You have reached the limit of 10 times within 600 seconds' }, 503,
    'OCR_QUOTA_ESAURITA'
  ],
  'a picture that is too large for OCR.space': [
    'ocr-space',
    space.error(200, 'File failed validation. File size exceeds the maximum permissible file size limit of 1024 KB'),
    413, 'OCR_IMMAGINE_TROPPO_GRANDE'
  ],
  'a request that is too large for OCR.space': [
    'ocr-space', { status: 413, body: 'Request Entity Too Large' }, 413, 'OCR_IMMAGINE_TROPPO_GRANDE'
  ],
  'a key that OCR.space does not know': [
    'ocr-space', { status: 403, body: 'The API key is invalid' }, 502, 'OCR_CREDENZIALI_RIFIUTATE'
  ],
  'a time-out at OCR.space': [
    'ocr-space', space.error(200, 'Timed out waiting for results'), 503, 'OCR_NON_DISPONIBILE'
  ],
  'a picture that OCR.space cannot read': [
    'ocr-space', space.error(200, 'Unable to recognize the file type'), 502, 'OCR_RISPOSTA_NON_VALIDA'
  ]
}

t.test('gives every provider failure a status, with neither key nor text in response or log', async (t) => {
  for (const [fault, [name, behaviour, status, codice]] of Object.entries(FAULTS)) {
    const { provider, ocr } = servers[name]
    provider.behave(behaviour)
    const response = await ocr()
    t.match(response.json(), { status, codice }, fault)
    t.equal(response.headers['retry-after'] !== undefined, status === 503, fault)
    t.notMatch(response.body, KEY)
    provider.behave(name === 'ocr-space' ? space.text(TEXT) : google.text(TEXT))
    t.equal((await ocr()).statusCode, 200, `after ${fault}`)
  }
  for (const { logs } of Object.values(servers)) {
    t.notMatch(JSON.stringify(logs), new RegExp(`${KEY}|Bergamo|Rossi`))
    t.ok(logs.some(({ msg }) => msg === 'the OCR provider returned no text'))
  }
})

t.test('sends no image to a provider that is not configured', async (t) => {
  const provider = await providerServer(t)
  const { call } = await build(t)
  t.equal((await call('POST', '/api/ocr', { image: photo })).statusCode, 200)
  t.same(provider.received, [])
})

t.test('loads no reader, weights or decoder before the first image', async (t) => {
  const loaded = [...loadedBy('src/app.ts')]
  t.ok(loaded.some((name) => name.endsWith('/src/scanning/ocr/read-document.ts')), 'the walk finds the imports')
  const heavy = /^(sharp|tesseract\.js|piscina)$|\/reader\/network\.ts$|\/text\/text-thread\.ts$/
  t.same(loaded.filter((name) => heavy.test(name)), [])
})
