import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import t from 'tap'
import type { OcrResponse } from '#schemas/ocr.ts'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { pngOf } from '#test/services/images/hostile.ts'
import { jpeg, pdfOf } from '#test/services/images/pictures.ts'
import { CLEAN, photograph, skip } from '../mrz/reader/render.ts'
import { page } from './pages.ts'

const PASSPORT = ['P<FRAVERDI<<LUCA<MARIA<<<<<<<<<<<<<<<<<<<<<<', 'V123456781FRA8002295M3006302<<<<<<<<<<<<<<00']
const LINES = ['Comune di Bergamo', 'Carta di soggiorno', 'Valida fino al 12 marzo']

/** As small as possible, because large text takes a long time to read. */
const SHOT = { ...CLEAN, size: 26 }
// Created first, because sharp accepts no other formats after the first decoding.
const line = await page(LINES.slice(0, 1), { width: 500, dpi: 130 })
const photo = skip ? line : await photograph(PASSPORT, SHOT)
const others = {
  heic: readFileSync(new URL('../../../fixtures/images/passport.heic', import.meta.url)),
  avif: await sharp(photo).avif({ effort: 0 }).toBuffer(),
  tiff: await sharp(photo).tiff().toBuffer(),
  pdf: await pdfOf([[photo]])
}
const { app, call, logs } = await build(t, { RATE_LIMIT_HEAVY_MAX: '1000' })

/** The text reader would need more time for it than its deadline. */
const jpegNoise = async () =>
  await sharp(randomBytes(1600 * 1200 * 3), { raw: { width: 1600, height: 1200, channels: 3 } }).jpeg().toBuffer()

const ocr = (image: Buffer | string, options: object = {}, headers?: Record<string, string>) =>
  call('POST', '/api/ocr', { image: typeof image === 'string' ? image : image.toString('base64'), ...options }, headers)

t.test('reads zone and text from the image of a document', { skip }, async (t) => {
  const response = await ocr(await photograph(PASSPORT, SHOT))
  t.equal(response.statusCode, 200, response.body)
  const { mrz, text } = response.json<OcrResponse>()
  t.same(mrz, PASSPORT)
  t.match(text, /REPUBLIC OF UTOPIA/)
  const parsed = await call('POST', '/api/mrz/parse', { lines: mrz })
  t.match(parsed.json(), { parsed: { surname: 'VERDI', valid: true } })
})

t.test('returns the zone without text when solo_mrz is set', { skip }, async (t) => {
  const response = await ocr(await photograph(PASSPORT, SHOT), { solo_mrz: true })
  const zone = [{ lines: PASSPORT, parsed: { valid: true } }]
  t.match(response.json(), { text: '', mrz: PASSPORT, zone, avvisi: [] })
})

t.test('an image on its side or upside down gives the same zone and text', { skip }, async (t) => {
  const upright = await photograph(PASSPORT, SHOT)
  for (const angle of [90, 180, 270]) {
    const { mrz, text } = (await ocr(await sharp(upright).rotate(angle).jpeg().toBuffer())).json<OcrResponse>()
    t.same(mrz, PASSPORT, String(angle))
    t.match(text, /REPUBLIC OF UTOPIA/, String(angle))
  }
})

t.test('applies the EXIF orientation before reading', { skip }, async (t) => {
  const upright = await photograph(PASSPORT, SHOT)
  const lying = await sharp(upright).rotate(270).withMetadata({ orientation: 6 }).jpeg().toBuffer()
  t.match((await ocr(lying, { solo_mrz: true })).json(), { text: '', mrz: PASSPORT })
})

t.test('a page without a zone has text, and null as zone, in all languages', async (t) => {
  for (const lingue of [undefined, ['EN', 'IT'], ['DE'], ['FR']]) {
    const { mrz, text } = (await ocr(await page(LINES), lingue && { lingue })).json<OcrResponse>()
    t.equal(mrz, null)
    t.match(text, /Bergamo[^]*12/, String(lingue))
  }
})

t.test('a driving licence gives a proposed guest, and other pages give none', async (t) => {
  const licence = [
    'PATENTE DI GUIDA', 'REPUBBLICA ITALIANA', '1. VERDI', '2. LUCA', '3. 29/02/1980 ROMA (RM)', '5. U1A23B456C'
  ]
  const { ospite, avvisi } = (await ocr(await page(licence))).json<OcrResponse>()
  t.match(ospite, { cognome: 'VERDI', data_nascita: '1980-02-29', tipo_documento: 'PATEN' })
  t.match(ospite, { comune_nascita: '412058091' })
  t.ok(ospite!.proposti!.includes('cognome'))
  t.match(avvisi, [{ campo: 'cognome' }])
  t.same(Object.keys((await ocr(line)).json<object>()), ['text', 'mrz', 'zone', 'avvisi'])
})

t.test('accepts gray, transparent, two-colour and one-pixel images', async (t) => {
  const pictures = [
    await sharp(line).greyscale().png().toBuffer(), await sharp(line).ensureAlpha(0.99).webp().toBuffer(),
    await sharp(line).threshold(128).png({ palette: true, colours: 2 }).toBuffer(), await jpeg(1, 1)
  ]
  for (const [n, picture] of pictures.entries()) {
    const response = await ocr(picture)
    t.equal(response.statusCode, 200, response.body)
    t.match(response.json<OcrResponse>(), { mrz: null, text: n < 3 ? /Bergamo/ : '' })
  }
})

t.test('the response for noise has no text', async (t) => {
  const response = await ocr(await jpegNoise())
  t.same(response.json(), { text: '', mrz: null, zone: [], avvisi: [] })
})

t.test('accepts data URLs and Base64 as phones, browsers and mail programs write them', async (t) => {
  const text = line.toString('base64')
  const prefixes = [
    'data:image/jpeg;base64,', 'data:image/jpg;base64,', 'DATA:IMAGE/JPEG;BASE64,', 'data:;base64,',
    'data:application/octet-stream;base64,', 'data:image/jpeg;name=foto%201.jpg;base64,',
    'data:image/jpeg;name="a;b";charset=utf-8;base64,'
  ]
  const lines = text.replace(/.{76}/g, '$&\r\n')
  const urlSafe = line.toString('base64url')
  t.match(urlSafe, /^(?=.*-)(?=.*_)/)
  const texts = [...prefixes.map((prefix) => prefix + text), lines, `${prefixes[0]}\n${lines}\n`, urlSafe, ` ${text}`]
  for (const image of texts) t.equal((await ocr(image, { solo_mrz: true })).statusCode, 200, image.slice(0, 50))
  for (const prefix of ['data:text/html;base64,', 'data:image/jpeg,', 'data:image/jpeg;base64', 'data:,']) {
    t.same(fieldsAtFault(await ocr(prefix + text)), ['image'], prefix)
  }
})

t.test('reads a zone in HEIC, AVIF, TIFF and PDF', { skip }, async (t) => {
  for (const [name, bytes] of Object.entries(others)) {
    t.match((await ocr(bytes, { solo_mrz: true })).json(), { text: '', mrz: PASSPORT, avvisi: [] }, name)
  }
})

t.test('returns 413 with the size of an image of more than 50 megapixels', async (t) => {
  t.match((await ocr(pngOf(10_001, 5000, 1, 0))).json(), {
    status: 413, codice: 'IMMAGINE_TROPPO_GRANDE', error: /10001 × 5000 pixel: al massimo 50 megapixel/
  })
})

t.test('returns 400 for text that is not an image, and 413 above 10 MiB', async (t) => {
  for (const image of ['', '****', 'ciao', 'aGVsbG8gd29ybGQ=']) t.same(fieldsAtFault(await ocr(image)), ['image'])
  t.match((await ocr(Buffer.alloc(10 * 1024 * 1024 + 1, 1))).json(), { status: 413, codice: 'CONTENUTO_TROPPO_GRANDE' })
  t.match((await ocr('A'.repeat(15 * 1024 * 1024))).json(), { status: 413, codice: 'CORPO_TROPPO_GRANDE' })
})

t.test('returns 400 naming every invalid field of the body', async (t) => {
  const response = await call('POST', '/api/ocr', { lingue: ['XX'], solo_mrz: 'no', altro: 1 })
  t.same(fieldsAtFault(response).sort(), ['altro', 'image', 'lingue[0]', 'solo_mrz'])
  t.same(fieldsAtFault(await ocr('', { lingue: ['IT', 'EN', 'DE'] })), ['lingue'])
})

t.test('returns 503 for requests beyond the queue limit, and reads the others', async (t) => {
  const responses = await Promise.all(Array.from({ length: 50 }, () => ocr(line)))
  const refused = responses.filter(({ statusCode }) => statusCode === 503)
  const taken = responses.filter(({ statusCode }) => statusCode === 200)
  t.equal(refused.length + taken.length, 50)
  t.ok(taken.length >= 1 && refused.length >= 1, `${taken.length} taken, ${refused.length} refused`)
  for (const { headers } of refused) t.match(headers['retry-after'], /^\d+$/)
})

t.test('reads images over a connection, even while another client disconnects', async (t) => {
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const body = JSON.stringify({ image: line.toString('base64') })
  const send = async (signal?: AbortSignal) => await fetch(`${address}/api/ocr`, {
    method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }, body, signal: signal ?? null
  })
  t.match(await (await send()).json(), { text: /Bergamo/ })
  const gone = new AbortController()
  const sent = [send(), send(gone.signal), send()]
  gone.abort()
  const outcomes = await Promise.allSettled(sent)
  t.same(outcomes.map((each) => each.status === 'fulfilled' ? each.value.status : 'gone'), [200, 'gone', 200])
})

t.test('never logs text from images', async (t) => {
  t.notMatch(JSON.stringify(logs), /VERDI|V1234567|Bergamo|BERGAMO/)
  t.ok(app.server)
})
