import { readFileSync } from 'node:fs'
import sharp from 'sharp'
import t from 'tap'
import { eraseLateResponses } from '#src/http/idempotency/erased-responses.ts'
import { BOOKINGS, fieldsAtFault, saveGuests } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { jpeg, pdfOf, picture, png, webp } from '#test/services/images/pictures.ts'
import { uploading } from './uploading.ts'

const { app, call, token } = await build(t, { PUBLIC_URL: 'https://locanda.example' })
const { upload, newBooking, show, stored } = uploading({ app, call })
const front = await jpeg()
const others = [
  { image: readFileSync(new URL('../../fixtures/images/halves.heic', import.meta.url)), ext: 'HEIC' },
  { image: await picture().avif({ effort: 0 }).toBuffer(), ext: 'avif' },
  { image: await picture().tiff().toBuffer(), ext: 'Tif' },
  { image: await pdfOf([[front]]), ext: 'pdf' },
  { image: front, ext: ' JPG' }
]

t.test('an image is stored, and can be read again', async (t) => {
  const id = await newBooking()
  const response = await upload(id, { image: front })
  t.equal(response.statusCode, 200)
  t.same(response.json(), {
    success: true,
    message: 'Immagine salvata',
    path: `documents/${id}/0/front.jpg`,
    url: `https://locanda.example/api/documents/${id}/0/front`
  })
  const read = await show(id)
  t.equal(read.statusCode, 200)
  t.match(read.headers, {
    'content-type': 'image/jpeg',
    'content-length': String(read.rawPayload.length),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'content-security-policy': /sandbox/,
    etag: /^"[0-9a-f-]{36}"$/
  })
  t.match(await sharp(read.rawPayload).metadata(), { format: 'jpeg', width: 64, height: 48 })
})

t.test('JPEG, PNG and WebP are stored in their own format', async (t) => {
  const id = await newBooking()
  const cases = [
    { image: await png(), ext: 'png', type: 'image/png' },
    { image: await webp(), ext: 'webp', type: 'image/webp' },
    { image: front, ext: 'jpeg', type: 'image/jpeg' },
    { image: front, ext: 'jpg', type: 'image/jpeg' }
  ]
  for (const { image, ext, type } of cases) {
    const response = await upload(id, { image, ext })
    t.equal(response.json<{ path: string }>().path, `documents/${id}/0/front.${ext.replace('jpeg', 'jpg')}`)
    t.equal((await show(id)).headers['content-type'], type)
    t.equal((await stored(id)).length, 1, 'the new format replaces the previous image')
  }
})

t.test('HEIC, AVIF, TIFF and PDF are stored as JPEG, and the extension may be in upper case', async (t) => {
  const id = await newBooking()
  for (const { image, ext } of others) {
    const response = await upload(id, { image, ext })
    t.match(response.json(), { path: `documents/${id}/0/front.jpg` }, ext)
    t.equal((await show(id)).headers['content-type'], 'image/jpeg')
  }
  t.match((await upload(id, { image: front, ext: 'PNG' })).json(), { error: /JPEG \(jpg o jpeg\)/ })
})

t.test('a data URL is accepted only when it contains an image', async (t) => {
  const id = await newBooking()
  const text = front.toString('base64')
  t.equal((await upload(id, { base64Image: `data:image/jpeg;base64,${text}` })).statusCode, 200)
  for (const prefix of ['data:text/html;base64,', 'data:,', 'data:image/jpeg,']) {
    const response = await upload(id, { base64Image: prefix + text })
    t.equal(response.statusCode, 400, prefix)
    t.same(fieldsAtFault(response), ['base64Image'])
  }
})

t.test('invalid Base64 is reported with the other errors of the request', async (t) => {
  const id = await newBooking()
  const response = await upload(id, { guest: -1, base64Image: 'x', ext: 'svg' })
  t.equal(response.statusCode, 400)
  t.same(fieldsAtFault(response).toSorted(), ['base64Image', 'ext', 'guest_idx'])
})

t.test('the extension must match the content', async (t) => {
  const id = await newBooking()
  const response = await upload(id, { image: front, ext: 'png' })
  t.equal(response.statusCode, 400)
  t.same(fieldsAtFault(response), ['ext'])
  t.match(response.json(), { error: /JPEG \(jpg o jpeg\)/ })
  t.equal((await upload(id, { image: front, ext: 'svg' })).statusCode, 400)
  t.same(await stored(id), [])
})

t.test('the booking must exist and have a place for the guest, and this is checked before the image', async (t) => {
  const id = await newBooking(2)
  const response = await upload(id, { guest: 2, base64Image: 'AAAA' })
  t.equal(response.statusCode, 400)
  t.same(fieldsAtFault(response), ['guest_idx'])
  const missing = await upload(2_000_000, { base64Image: 'AAAA' })
  t.match(missing.json(), { status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  t.equal((await upload(id, { guest: 1, image: front })).statusCode, 200)
})

t.test('an image over 10 MiB, or a body over 15 MiB, is answered with a 413', async (t) => {
  const id = await newBooking()
  const bytes = Buffer.alloc(10 * 1024 * 1024 + 1, 1)
  t.match((await upload(id, { image: bytes })).json(), { status: 413, codice: 'CONTENUTO_TROPPO_GRANDE' })
  t.equal((await upload(id, { image: bytes.subarray(1) })).statusCode, 400, 'an image at the limit is examined')
  const text = 'A'.repeat(15 * 1024 * 1024)
  t.match((await upload(id, { base64Image: text })).json(), { status: 413, codice: 'CORPO_TROPPO_GRANDE' })
})

t.test('a missing image is answered with a 404, and the body contains the status', async (t) => {
  const id = await newBooking()
  const missing = [await show(id), await show(id, 1, 'back'), await show(2_000_000)]
  for (const response of missing) {
    t.equal(response.statusCode, 404)
    t.match(response.json(), { error: 'Documento non trovato', status: 404 })
  }
})

t.test('an image that the client already has is not sent again, and a range request gets only the range', async (t) => {
  const id = await newBooking()
  await upload(id, { image: front })
  const whole = await show(id)
  const known = await show(id, 0, 'front', { 'if-none-match': String(whole.headers.etag) })
  t.equal(known.statusCode, 304)
  t.equal(known.body, '')
  const part = await show(id, 0, 'front', { range: 'bytes=10-19' })
  t.equal(part.statusCode, 206)
  t.same(part.rawPayload, whole.rawPayload.subarray(10, 20))
  await upload(id, { image: front })
  t.equal((await show(id, 0, 'front', { 'if-none-match': String(whole.headers.etag) })).statusCode, 200, 'a new image')
})

t.test('images are deleted together with their booking, and those of other bookings stay', async (t) => {
  const [kept, deleted] = [await newBooking(), await newBooking()]
  await upload(kept, { image: front })
  for (const side of ['front', 'back']) await upload(deleted, { image: front, side })
  await upload(deleted, { image: front, guest: 1 })
  const like = await newBooking()
  await upload(like, { image: front })
  app.addBookingHook('beforeDelete', async (_tx, ids) => { if (ids.includes(like)) throw new Error('not this one') })
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [like] })
  t.equal((await stored(like)).length, 1, 'a booking that is not deleted keeps its images')
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [deleted] })
  t.same(await stored(deleted), [])
  t.equal((await show(deleted)).statusCode, 404)
  t.equal((await show(kept)).statusCode, 200)
})

t.test('a deletion keeps the images of a booking whose id begins with the same digits', async (t) => {
  const [short, long] = [900_001, 9_000_010]
  await app.sql`
    insert into prenotazioni (id, nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    overriding system value
    select id, 'Anna Bianchi', 'IT', 380, date '2026-11-21', date '2026-11-24', 1
    from unnest(${`{${short},${long}}`}::int[]) id`
  await upload(long, { image: front })
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [short] })
  t.equal((await stored(long)).length, 1)
})

t.test('images are deleted with a guest who is removed from the list, and images of other guests stay', async (t) => {
  const id = await newBooking(12)
  const guest = (name: string) => ({ nome: name, cognome: 'Bianchi' })
  await saveGuests(call, id, Array.from({ length: 12 }, (_, n) => guest(`Anna${n}`)))
  for (const place of [0, 1, 2, 11]) await upload(id, { image: front, guest: place })
  await saveGuests(call, id, [guest('Anna0'), guest('Anna1')])
  t.same(await stored(id), [`${id}/0/front.jpg`, `${id}/1/front.jpg`])
})

t.test('a lower numero_ospiti deletes the images of the removed places, except those of saved guests', async (t) => {
  const id = await newBooking(4)
  await saveGuests(call, id, ['Anna', 'Bruno'].map((nome) => ({ nome, cognome: 'Bianchi' })))
  for (const guest of [0, 1, 2, 3]) t.equal((await upload(id, { guest, image: front })).statusCode, 200)
  const fewer = async (numero_ospiti: number) => {
    t.equal((await call('PUT', `${BOOKINGS}/${id}`, { numero_ospiti })).statusCode, 200)
    return stored(id)
  }
  const names = (guests: number[]) => guests.map((guest) => `${id}/${guest}/front.jpg`)
  t.same(await fewer(3), names([0, 1, 2]))
  t.same(await fewer(1), names([0, 1]), 'two guests are saved')
  t.same(await fewer(4), names([0, 1]), 'a new guest does not inherit an image')
})

t.test('an image of a guest who is not yet saved stays when the others are saved', async (t) => {
  const id = await newBooking(2)
  await upload(id, { image: front, guest: 1 })
  await saveGuests(call, id, [{ nome: 'Anna', cognome: 'Bianchi' }])
  t.same(await stored(id), [`${id}/1/front.jpg`])
})

t.test('every upload is audited, without the image', async (t) => {
  const id = await newBooking()
  await upload(id, { image: front, side: 'back' })
  await upload(id, { image: front, side: 'back' })
  const found = await app.sql`
    select actor, details from audit_log where action = 'documento_caricato' and object = ${`prenotazione:${id}`}
    order by id`
  t.same(found.map(({ actor, details }) => ({ actor, details })), [false, true].map((sostituita) =>
    ({ actor: 'server', details: { ospite: 0, lato: 'back', sostituita } })))
})

t.test('concurrent uploads of one side leave one complete image', async (t) => {
  const id = await newBooking()
  const images = [front, await png(), await webp()]
  const responses = await Promise.all(['jpg', 'png', 'webp'].map((ext, n) => upload(id, { image: images[n]!, ext })))
  t.same(responses.map(({ statusCode }) => statusCode), [200, 200, 200])
  t.equal((await stored(id)).length, 1)
  const read = await show(id)
  t.match(await sharp(read.rawPayload).metadata(), { width: 64, height: 48 })
})

t.test('a booking that is deleted during the upload leaves no image', async (t) => {
  const id = await newBooking()
  const { write } = app.files
  t.teardown(() => { app.files.write = write })
  app.files.write = async (...args) => {
    const file = await write(...args)
    await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [id] })
    return file
  }
  t.equal((await upload(id, { image: front })).statusCode, 404)
  t.same(await stored(id), [])
})

t.test('with If-Match no image is stored after a change during the upload', async (t) => {
  const id = await newBooking()
  const current = async () => ({ 'if-match': String((await call('GET', `${BOOKINGS}/${id}`)).headers.etag) })
  t.equal((await upload(id, { image: front, side: 'back', headers: await current() })).statusCode, 200)
  const headers = await current()
  const { write } = app.files
  t.teardown(() => { app.files.write = write })
  app.files.write = async (...args) => {
    const file = await write(...args)
    await saveGuests(call, id, [{ cognome: 'ALTRA' }])
    return file
  }
  const refused = await upload(id, { image: front, headers })
  t.match(refused.json(), { status: 412, codice: 'PRENOTAZIONE_MODIFICATA' })
  t.same(await stored(id), [`${id}/0/back.jpg`])
})

t.test('the stored response of an Idempotency-Key is deleted with its image', async (t) => {
  const [gone, shorter, kept, filed] =
    [await newBooking(), await newBooking(), await newBooking(), await newBooking()]
  const send = (id: number, guest = 0) =>
    upload(id, { guest, image: front, headers: { 'idempotency-key': `foto ${id} ${guest}` } })
  for (const [id, guest] of [[gone, 0], [shorter, 0], [shorter, 1], [kept, 1], [filed, 1]] as const) {
    t.equal((await send(id, guest)).statusCode, 200)
  }
  t.equal((await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [gone] })).statusCode, 200)
  t.equal((await call('PUT', `${BOOKINGS}/${shorter}`, { numero_ospiti: 1 })).statusCode, 200)
  const bearer = { authorization: `Bearer ${await token()}` }
  const url = `/storage/v1/object/documents/${filed}/1/front.jpg`
  t.equal((await app.inject({ method: 'DELETE', url, headers: bearer })).statusCode, 200)
  for (const [id, guest] of [[gone, 0], [shorter, 1], [filed, 1]] as const) {
    t.match((await send(id, guest)).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' }, `${id}/${guest}`)
  }
  for (const [id, guest] of [[shorter, 0], [kept, 1]] as const) {
    t.equal((await send(id, guest)).headers['idempotency-replayed'], 'true', `${id}/${guest}`)
  }
})

t.test('a body with names of JavaScript\'s own properties is refused, and the response names them', async (t) => {
  const id = await newBooking()
  for (const name of ['__proto__', 'constructor']) {
    const payload = `{"booking_id":${id},"guest_idx":0,"side":"front","base64Image":"","ext":"jpg","${name}":{}}`
    const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/api/documents/upload', headers, payload })
    t.equal(response.statusCode, 400)
    t.same(fieldsAtFault(response), [name])
  }
})

t.test('a response that is stored after its image was deleted is erased, and others are not', async (t) => {
  const [gone, purged, replaced, again, converted] =
    [await newBooking(), await newBooking(), await newBooking(), await newBooking(), await newBooking()]
  const key = (id: number) => `tardi ${id}`
  const send = (id: number) => upload(id, { image: front, headers: { 'idempotency-key': key(id) } })
  const creation = {
    nome_cognome: 'Dina Tardi', lingua: 'IT', paese_id: 380, check_in: '2026-11-21', numero_notti: 1, numero_ospiti: 1
  }
  const create = () => call('POST', BOOKINGS, creation, { 'idempotency-key': 'creata' })
  const created: number = (await create()).json().data.id
  for (const id of [gone, purged, replaced, again, converted]) t.equal((await send(id)).statusCode, 200)
  const bearer = { authorization: `Bearer ${await token()}` }
  const removeImage = async (id: number) => {
    const url = `/storage/v1/object/documents/${id}/0/front.jpg`
    t.equal((await app.inject({ method: 'DELETE', url, headers: bearer })).statusCode, 200)
  }
  // Simulates that the responses were stored after the deletion, while all requests were still running.
  const late = await app.sql<{ key: string, status: number, body: string, headers: object }[]>`
    select key, status, body, headers from idempotency_keys where key like 'tardi %' or key = 'creata'`
  const isLate = app.sql`key in ${app.sql(late.map(({ key }) => key))}`
  await app.sql`update idempotency_keys set status = null, body = null where ${isLate}`
  t.equal((await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [gone, created] })).statusCode, 200)
  await removeImage(purged)
  t.equal((await upload(replaced, { image: front })).statusCode, 200)
  // With another extension, the image gets another name.
  t.equal((await upload(converted, { image: await png(), ext: 'png' })).statusCode, 200)
  await removeImage(again)
  for (const { key, status, body } of late) {
    await app.sql`update idempotency_keys set status = ${status}, body = ${body} where key = ${key}`
  }
  // A request about the same image that began after the deletion.
  await app.sql`update idempotency_keys set created_at = clock_timestamp() where key = ${key(again)}`
  const kept = async () => (await app.sql<{ key: string }[]>`
    select key from idempotency_keys where body is not null and ${isLate} order by 1`)
    .map(({ key }) => key)
  const all = late.map(({ key }) => key).sort()
  await eraseLateResponses(app.db)
  t.same(await kept(), all, 'a request may still be in progress')
  await app.sql`update forgotten_answers set forgotten_at = forgotten_at - interval '6 minutes'`
  await app.sql`update idempotency_keys set created_at = created_at - interval '6 minutes'`
  await eraseLateResponses(app.db)
  t.same(await kept(), [key(replaced), key(again)].sort())
  t.match((await create()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  t.same(await app.sql`select * from forgotten_answers`, [])
})
