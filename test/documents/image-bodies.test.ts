import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import t from 'tap'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { jpeg, pdfOf, picture, png, webp } from '#test/services/images/pictures.ts'
import { uploading } from './uploading.ts'

const { app, call } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
const { newBooking, show, stored } = uploading({ app, call })
const front = await jpeg()
const UPLOAD = '/api/documents/upload'

interface Sent { type: string, body: Buffer, query?: Record<string, unknown>, headers?: Record<string, string> }

function post ({ type, body, query = {}, headers }: Sent) {
  const search = new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] =>
    [name, String(value)]))
  return app.inject({
    method: 'POST',
    url: `${UPLOAD}?${search}`,
    headers: { 'x-api-key': API_KEY, 'content-type': type, ...headers },
    payload: body
  })
}

const place = (booking_id: number, more: object = {}) => ({ booking_id, guest_idx: 0, side: 'front', ...more })
const raw = (body: Buffer, query: Record<string, unknown>, type = 'image/jpeg', headers?: Record<string, string>) =>
  post({ type, body, query, headers: headers ?? {} })

const BOUNDARY = 'confine'
type Fields = Record<string, unknown>

function form (fields: Fields, file?: Buffer, headers?: Record<string, string>, query?: Fields) {
  const parts: Buffer[] = Object.entries(fields).map(([name, value]) =>
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${String(value)}\r\n`))
  if (file !== undefined) {
    parts.push(
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="f.jpg"\r\n\r\n`), file,
      Buffer.from('\r\n')
    )
  }
  const body = Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)])
  return post({
    type: `multipart/form-data; boundary=${BOUNDARY}`, body, ...headers && { headers }, ...query && { query }
  })
}

/** An upload as a form, and as the image itself. */
const SENDERS = [form, (fields: Fields, file: Buffer) => raw(file, fields)]

t.test('an image is stored from a form and from a body that is the image', async (t) => {
  for (const send of SENDERS) {
    const id = await newBooking()
    const response = await send(place(id), front)
    t.equal(response.statusCode, 200, response.body)
    t.same(response.json(), {
      success: true,
      message: 'Immagine salvata',
      path: `documents/${id}/0/front.jpg`,
      url: `https://locanda.example/api/documents/${id}/0/front`
    })
    const read = await show(id)
    t.match(await sharp(read.rawPayload).metadata(), { format: 'jpeg', width: 64, height: 48 })
  }
})

t.test('a body that is an image may have every accepted format, and its type must name it', async (t) => {
  const id = await newBooking()
  const heic = readFileSync(new URL('../../fixtures/images/halves.heic', import.meta.url))
  for (const [type, body] of [
    ['image/jpeg', front], ['image/png', await png()], ['image/webp', await webp()], ['image/heic', heic],
    ['IMAGE/HEIF', heic], ['image/avif', await picture().avif({ effort: 0 }).toBuffer()],
    ['image/tiff', await picture().tiff().toBuffer()], ['application/pdf', await pdfOf([[front]])]
  ] as const) {
    const response = await raw(body, place(id), type)
    t.equal(response.statusCode, 200, `${type}: ${response.body}`)
  }
  const other = await raw(front, place(id), 'image/png')
  t.equal(other.statusCode, 400)
  t.same(fieldsAtFault(other), ['Content-Type'])
  t.match(other.json(), { error: /JPEG \(jpg o jpeg\)/ })
  for (const type of ['image/gif', 'image/svg+xml', 'text/plain', 'application/octet-stream']) {
    t.match((await raw(front, place(id), type)).json(), { status: 415, error: /image\/jpeg, image\/png/ }, type)
  }
})

t.test('the ext of a form is checked when the form has one', async (t) => {
  const id = await newBooking()
  t.equal((await form(place(id, { ext: 'JPEG' }), front)).statusCode, 200)
  t.same(fieldsAtFault(await form(place(id, { ext: 'png' }), front)), ['ext'])
})

t.test('one response names every wrong or missing field of a form or query', async (t) => {
  const id = await newBooking()
  t.same(fieldsAtFault(await form({ guest_idx: 'due', side: 'alto', altro: 1 })).toSorted(),
    ['altro', 'booking_id', 'file', 'guest_idx', 'side'])
  t.same(fieldsAtFault(await raw(front, { guest_idx: 'due', side: 'alto' })).toSorted(),
    ['booking_id', 'guest_idx', 'side'])
  t.same(fieldsAtFault(await raw(front, {})).toSorted(), ['booking_id', 'guest_idx', 'side'])
  t.same(fieldsAtFault(await raw(front, place(id, { ext: 'jpg' }))), ['ext'])
  t.same(fieldsAtFault(await form(place(id), front, undefined, { side: 'back' })), ['side'])
  const query = `${UPLOAD}?booking_id=${id}`
  const base64Image = front.toString('base64')
  t.same(fieldsAtFault(await call('POST', query, { ...place(id), base64Image, ext: 'jpg' })), ['booking_id'])
  t.same(await stored(id), [])
})

t.test('a booking without a place for the guest is refused, and so are bytes that are no image', async (t) => {
  const id = await newBooking(1)
  for (const send of SENDERS) {
    t.same(fieldsAtFault(await send(place(id, { guest_idx: 1 }), front)), ['guest_idx'])
    t.match((await send(place(2_000_000), front)).json(), { codice: 'PRENOTAZIONE_NON_TROVATA' })
    for (const bytes of [Buffer.from('ciao'), front.subarray(0, 300), Buffer.alloc(0)]) {
      t.equal((await send(place(id), bytes)).statusCode, 400)
    }
  }
  t.match((await raw(Buffer.from('ciao'), place(id))).json(), { error: /non è un’immagine JPEG/ })
  t.same(fieldsAtFault(await form(place(id), Buffer.from('ciao'))), ['file'])
})

t.test('a request without a body gets a 400', async (t) => {
  for (const type of [undefined, 'application/json', 'image/jpeg', 'multipart/form-data']) {
    const headers = { 'x-api-key': API_KEY, ...type && { 'content-type': type } }
    const response = await app.inject({ method: 'POST', url: UPLOAD, headers })
    t.equal(response.statusCode, 400, `${type}: ${response.body}`)
  }
})

t.test('an image over 10 MiB is a 413 in each kind of body, and one of 10 MiB is examined', async (t) => {
  const id = await newBooking()
  const bytes = Buffer.alloc(10 * 1024 * 1024 + 1, 1)
  for (const send of SENDERS) {
    t.match((await send(place(id), bytes)).json(), { status: 413, codice: 'CONTENUTO_TROPPO_GRANDE' })
    t.equal((await send(place(id), bytes.subarray(1))).statusCode, 400)
  }
  t.match((await raw(Buffer.alloc(15 * 1024 * 1024 + 1), place(id))).json(), { codice: 'CORPO_TROPPO_GRANDE' })
})

t.test('an Idempotency-Key repeats the response for equal bytes, and refuses other bytes and sides', async (t) => {
  const other = await jpeg(32, 32)
  for (const [key, send] of [
    ['modulo', (fields: Fields, file: Buffer) => form(fields, file, { 'idempotency-key': 'modulo' })],
    ['immagine', (fields: Fields, file: Buffer) => raw(file, fields, 'image/jpeg', { 'idempotency-key': 'immagine' })]
  ] as const) {
    const id = await newBooking()
    t.equal((await send(place(id), front)).statusCode, 200, key)
    t.equal((await send(place(id), front)).headers['idempotency-replayed'], 'true', key)
    t.match((await send(place(id), other)).json(), { codice: 'IDEMPOTENCY_KEY_RIUSATA' }, key)
    t.match((await send(place(id, { side: 'back' }), front)).json(), { codice: 'IDEMPOTENCY_KEY_RIUSATA' }, key)
  }
})

t.test('an upload is kept with at most IMAGE_SIDE_MAX pixels a side', async (t) => {
  const id = await newBooking()
  t.equal((await raw(await jpeg(5000, 3000), place(id))).statusCode, 200)
  t.match(await sharp((await show(id)).rawPayload).metadata(), { width: 4096, height: 2458 })
})
