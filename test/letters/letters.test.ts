import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Letter } from '#schemas/letter.ts'
import { NonAutorizzato, ServizioOccupato } from '#src/lib/errors.ts'
import { fieldsAtFault } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { readPages } from '#test/pdf/read-pdf.ts'
import { letterCalls, LETTERS } from './letter-calls.ts'

const PUBLIC_URL = 'https://locanda.example'
const server = await build(t, { PUBLIC_URL, TODAY: '2026-11-23' })
const { app, call, token, dataDir, logs } = server
const { newBooking, generate, remove, find, download, stored } = letterCalls(server)

/** The files of the storage, without the empty marker file. */
const files = () => readdirSync(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.length > 2).length
const history = async () => (await call('GET', '/api/history')).json<{ data: { tipo: string }[] }>().data

t.test('a letter is created, found and downloaded', async (t) => {
  const id = await newBooking({ idf_gen: 'BK-4711' })
  t.same(await find(id), { exists: false, data: null })
  const made = await generate(id)
  t.equal(made.statusCode, 201)
  t.equal(made.headers.location, `${LETTERS}/${id}`)
  t.equal(made.headers['x-pdf-warnings'], undefined)
  const { data } = made.json<{ data: Letter }>()
  t.match(made.json(), {
    success: true,
    message: 'Lettera di benvenuto creata',
    data: {
      prenotazione_id: id,
      nome_ospite: 'Anna Bianchi',
      lingua: 'IT',
      url: `${PUBLIC_URL}/api/lettere-benvenuto/${id}/pdf`
    }
  })
  t.same(await find(id), { exists: true, data })
  const read = await app.inject({ url: new URL(data.url).pathname, headers: { 'x-api-key': API_KEY } })
  t.equal(read.statusCode, 200)
  t.match(read.headers, {
    'content-type': 'application/pdf',
    'content-disposition': `attachment; filename="lettera-benvenuto-${id}.pdf"`,
    'cache-control': 'no-store',
    etag: /^"[0-9a-f-]{36}"$/
  })
  const [text] = await readPages(read.rawPayload)
  t.match(text, /Benvenuti, Anna Bianchi!/)
  t.match(text, /sabato 21 novembre 2026/)
  t.match(text, /martedì 24 novembre 2026/)
  t.match(text, /BK-4711/)
  t.equal((await download(id, { 'if-none-match': String(read.headers.etag) })).statusCode, 304)
  t.equal((await download(id, { range: 'bytes=0-3' })).body, '%PDF')
})

t.test('a letter appears in its author\'s PDF history, and cannot be deleted there', async (t) => {
  const id = await newBooking()
  const headers = { authorization: `Bearer ${await token({ name: 'carla' })}` }
  const body = { prenotazione_id: id, nome_ospite: 'Bruno Neri', lingua: 'DE' }
  t.equal((await app.inject({ method: 'POST', url: `${LETTERS}/genera`, headers, payload: body })).statusCode, 201)
  const own = (await app.inject({ url: '/api/history', headers }))
    .json<{ data: { id: string, download_url: string }[] }>()
  t.match(own.data, [{ tipo: 'lettera_benvenuto', template_id: 'b7c41f0a92d85e36', stato: 'completato' }])
  const { id: pdf, download_url: url } = own.data[0]!
  const read = await app.inject({ url: new URL(url).pathname, headers })
  t.match((await readPages(read.rawPayload))[0], /Herzlich willkommen, Bruno Neri!/)
  const refused = await app.inject({ method: 'DELETE', url: `/api/v1/pdf/${pdf}`, headers })
  t.match(refused.json(), { status: 409, codice: 'PDF_DI_LETTERA' })
  t.equal((await find(id)).exists, true)
})

t.test('the host\'s texts replace the default texts', async (t) => {
  const id = await newBooking({ idf_gen: 'BK-1' })
  const wishes = {
    nome_ospite: 'famiglia Verdi',
    greeting: 'Eccovi!',
    text1: 'Prima riga\nseconda riga',
    text2: '{{ 7 | times: 7 }} <b>x</b>',
    text3: '  ',
    enjoy_text: 'A presto',
    codice: 90210
  }
  t.equal((await generate(id, { template_data: wishes })).statusCode, 201)
  const [text] = await readPages((await download(id)).rawPayload)
  for (const words of ['Eccovi!', 'Prima riga', 'seconda riga', '{{ 7 | times: 7 }} <b>x</b>', 'A presto', '90210']) {
    t.ok(text!.includes(words), words)
  }
  t.notMatch(text, /BK-1/)
  t.match(text, /Vi auguriamo giornate serene/, 'a blank text is ignored')
})

t.test('every invalid field of a letter is named, and nothing is created', async (t) => {
  const id = await newBooking()
  t.same(fieldsAtFault(await call('POST', `${LETTERS}/genera`, {})).toSorted(),
    ['lingua', 'nome_ospite', 'prenotazione_id'])
  const wrong = await generate(id, {
    nome_ospite: ' ',
    lingua: 'ITA',
    altro: 1,
    template_data: {
      codice: 'x',
      text1: 'x'.repeat(1001),
      text2: 'a\u0007',
      text3: 'x '.repeat(1001),
      enjoy_text: 1,
      greeting: 'a\nb',
      color: ''
    }
  })
  t.same(fieldsAtFault(wrong).toSorted(), [
    'altro', 'lingua', 'nome_ospite', 'template_data.codice', 'template_data.color', 'template_data.enjoy_text',
    'template_data.greeting', 'template_data.text1', 'template_data.text2', 'template_data.text3'
  ])
  for (const prenotazione_id of ['1', 0, -1, 1.5, 2 ** 31, null]) {
    t.same(fieldsAtFault(await generate(id, { prenotazione_id })), ['prenotazione_id'])
  }
  t.same(fieldsAtFault(await call('GET', `${LETTERS}/x`)), ['prenotazioneId'])
  t.equal((await find(id)).exists, false)
  t.same(await stored(id), [])
})

t.test('a letter for an unknown booking is not created, found or deleted', async (t) => {
  t.match((await generate(2_000_000)).json(), { status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  t.same(await find(2_000_000), { exists: false, data: null })
  t.match((await download(2_000_000)).json(), { status: 404, codice: 'LETTERA_NON_TROVATA' })
  t.match((await remove(2_000_000)).json(), { error: 'Lettera di benvenuto non trovata', status: 404 })
})

t.test('a second letter is refused, and after a deletion another file can be created', async (t) => {
  const id = await newBooking()
  await generate(id)
  const before = await stored(id)
  t.match((await generate(id, { nome_ospite: 'Altro Nome' })).json(), { status: 409, codice: 'LETTERA_ESISTENTE' })
  t.same(await stored(id), before)
  t.match(await find(id), { data: { nome_ospite: 'Anna Bianchi' } })
  const rows = (await history()).length
  t.same((await remove(id)).json(), { success: true, message: 'Lettera di benvenuto eliminata' })
  t.equal((await history()).length, rows - 1)
  t.same(await stored(id), [])
  t.equal((await download(id)).statusCode, 404)
  t.equal((await remove(id)).statusCode, 404)
  t.equal((await generate(id, { nome_ospite: 'Altro Nome' })).statusCode, 201)
  t.match((await readPages((await download(id)).rawPayload))[0], /Altro Nome/)
  t.strictNotSame(await stored(id), before)
  const headers = { authorization: `Bearer ${await token({ name: 'ada', role: 'admin' })}` }
  const noted = await app.inject({ url: '/api/v1/audit?action=lettera_eliminata', headers })
  t.match(noted.json(), { data: [{ object: `prenotazione:${id}` }] })
})

t.test('one of 20 concurrent requests creates the letter: one file, one record, one PDF', async (t) => {
  const id = await newBooking()
  let rendered = 0
  const { make } = app.pdf
  app.pdf.make = (job, options) => {
    rendered += 1
    return make(job, options)
  }
  t.teardown(() => { app.pdf.make = make })
  const [rows, count] = [(await history()).length, files()]
  const responses = await Promise.all(Array.from({ length: 20 },
    (_, at) => generate(id, { nome_ospite: `Anna ${at}` })))
  const statuses = responses.map(({ statusCode }) => statusCode).toSorted()
  t.same(statuses, [201, ...Array(19).fill(409)])
  t.equal(rendered, 1)
  t.equal((await stored(id)).length, 1)
  t.equal((await history()).length, rows + 1)
  t.equal(files(), count + 1)
})

t.test('one of two processes that create the same letter succeeds, and the other leaves no file', async (t) => {
  const other = await build(t, { DATABASE_URL: server.url, DATA_DIR: dataDir, TODAY: '2026-11-23' })
  // Reuses the thread that has already loaded the engine.
  other.app.pdfWorkers.run = app.pdfWorkers.run
  const id = await newBooking()
  const count = files()
  // Both processes look for a letter before either of them makes its PDF.
  const ready: (() => void)[] = []
  const both = new Promise<void>((resolve) => { ready.push(resolve) })
  let waiting = 0
  for (const each of [app, other.app]) {
    const { make } = each.pdf
    each.pdf.make = async (job, options) => {
      waiting += 1
      if (waiting === 2) ready[0]!()
      await both
      return await make(job, options)
    }
    t.teardown(() => { each.pdf.make = make })
  }
  const responses = await Promise.all([generate(id), letterCalls(other).generate(id)])
  t.same(responses.map(({ statusCode }) => statusCode).toSorted(), [201, 409])
  t.equal((await stored(id)).length, 1)
  await waitFor(() => files() === count + 1)
})

t.test('when a booking is deleted at the same time, neither its letter nor the file is kept', async (t) => {
  const id = await newBooking()
  const count = files()
  const { make } = app.pdf
  app.pdf.make = async (job, options) => {
    const made = await make(job, options)
    await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [id] })
    return made
  }
  t.teardown(() => { app.pdf.make = make })
  t.match((await generate(id)).json(), { status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  t.same(await stored(id), [])
  await waitFor(() => files() === count)
})

t.test('letters are deleted together with their bookings, and letters of other bookings stay', async (t) => {
  const [kept, deleted, more, like] = [await newBooking(), await newBooking(), await newBooking(), await newBooking()]
  for (const id of [kept, deleted, more, like]) await generate(id)
  app.addBookingHook('beforeDelete', async (_tx, ids) => { if (ids.includes(like)) throw new NonAutorizzato() })
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [like] })
  t.equal((await find(like)).exists, true, 'a booking that is not deleted keeps its letter')
  const [rows, count] = [(await history()).length, files()]
  t.equal((await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [deleted, more] })).statusCode, 200)
  for (const id of [deleted, more]) {
    t.same(await stored(id), [])
    t.equal((await find(id)).exists, false)
  }
  t.equal((await history()).length, rows - 2)
  app.files.removeDiscarded()
  await waitFor(() => files() === count - 2)
  t.equal((await find(kept)).exists, true)
})

t.test('concurrent deletions of a letter and of its booking do not deadlock', async (t) => {
  const ids = await Promise.all(Array.from({ length: 6 }, () => newBooking()))
  for (const id of ids) await generate(id)
  const responses = await Promise.all([
    ...ids.map(remove), ...ids.map(remove), call('POST', '/api/v1/prenotazioni/delete-bulk', { ids })
  ])
  t.ok(responses.every(({ statusCode }) => [200, 404].includes(statusCode)), responses.map((a) => a.body).join())
  for (const id of ids) t.same(await stored(id), [])
})

t.test('the list has all letters, newest first, whole or in pages', async (t) => {
  const whole = await call('GET', LETTERS)
  t.match(whole.headers['content-type'], /json/)
  const { data } = whole.json<{ data: { id: number }[] }>()
  t.ok(data.length > 5)
  t.same(data.map(({ id }) => id), data.map(({ id }) => id).toSorted((a, b) => b - a))
  t.equal(whole.headers['x-total-count'], String(data.length))
  const first = await call('GET', `${LETTERS}?limit=4`)
  const next = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link))![1]!
  const second = await call('GET', next)
  t.same([...first.json<{ data: object[] }>().data, ...second.json<{ data: object[] }>().data], data.slice(0, 8))
  t.same(fieldsAtFault(await call('GET', `${LETTERS}?cursor=abc&limit=0`)), ['limit'])
  t.same(fieldsAtFault(await call('GET', `${LETTERS}?cursor=abc`)), ['cursor'])
})

t.test('when the engine is busy, the server returns 503 without effect, and the client can retry later', async (t) => {
  const id = await newBooking()
  const { run } = app.pdfWorkers
  t.teardown(() => { app.pdfWorkers.run = run })
  app.pdfWorkers.run = async () => { throw new ServizioOccupato() }
  const headers = { 'idempotency-key': 'lettera' }
  t.match((await generate(id, {}, headers)).json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.same([await stored(id), (await find(id)).exists], [[], false])
  app.pdfWorkers.run = run
  t.equal((await generate(id, {}, headers)).statusCode, 201)
})

t.test('the same Idempotency-Key creates one letter, and its record is deleted with the letter', async (t) => {
  const id = await newBooking()
  const headers = { 'idempotency-key': 'stessa' }
  const first = await generate(id, {}, headers)
  const again = await generate(id, {}, headers)
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.same(again.json(), first.json())
  await remove(id)
  t.match((await generate(id, {}, headers)).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  t.equal((await find(id)).exists, false)
})

t.test('the stored response is also erased when the storage protocol deletes the file', async (t) => {
  const id = await newBooking()
  const headers = { 'idempotency-key': 'dal file' }
  t.equal((await generate(id, {}, headers)).statusCode, 201)
  const [name] = await stored(id)
  const bearer = { authorization: `Bearer ${await token({ role: 'admin' })}` }
  const url = `/storage/v1/object/letters/${name}`
  const deleted = await app.inject({ method: 'DELETE', url, headers: bearer })
  t.equal(deleted.statusCode, 200, deleted.body)
  t.equal((await find(id)).exists, false)
  t.match((await generate(id, {}, headers)).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
})

t.test('the guest finds the letter in the report and the export, and the erasure deletes it', async (t) => {
  const id = await newBooking()
  await generate(id)
  const url = `/api/v1/prenotazioni/${id}`
  t.match((await call('GET', `${url}/privacy`)).json(), {
    data: { conservati: [{ cosa: 'prenotazione' }, { cosa: 'lettera_benvenuto', quanti: 1, per_legge: false }] }
  })
  const zip = (await call('GET', `${url}/export`)).rawPayload
  t.ok(zip.includes('lettera-benvenuto.pdf') && zip.includes((await download(id)).rawPayload), 'not compressed')
  const erased = (await call('POST', `${url}/cancellazione`, {})).json<{ eliminati: { cosa: string }[] }>()
  t.same(erased.eliminati.map(({ cosa }) => cosa), ['prenotazione', 'lettera_benvenuto'])
  t.same(await stored(id), [])
})

t.test('a character without a font causes a warning in a header', async (t) => {
  const id = await newBooking()
  const made = await generate(id, { nome_ospite: 'გიორგი Anna' })
  t.equal(made.statusCode, 201)
  t.match(JSON.parse(String(made.headers['x-pdf-warnings'])), [{ codice: /^CARATTERE/ }])
})

t.test('the log contains no name of a guest', (t) => {
  t.notMatch(JSON.stringify(logs), /Bianchi|Verdi|Bruno|Benvenut/)
  t.same(logs.filter(({ level }) => Number(level) >= 50), [], 'no error is logged')
  t.end()
})

async function waitFor (isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 50))
}
