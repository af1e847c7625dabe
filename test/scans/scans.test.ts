import type { Static } from '@sinclair/typebox'
import sharp from 'sharp'
import t from 'tap'
import type { Scan, ScanGuestResponse } from '#schemas/scan.ts'
import { today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create, fieldsAtFault, read, saveGuests } from '#test/bookings/samples.ts'
import {
  fetchReceipt, guest, held, RECEIPT_DAY, retentionServer, save as saveStay, send
} from '#test/documents/retention-steps.ts'
import { API_KEY, build, type TestApp } from '#test/helper.ts'
import { jpeg, withPlace } from '#test/services/images/pictures.ts'
import { runJob } from '#test/run-job.ts'
import { HOLDER, scanning, SCANS } from './scanning.ts'

const TODAY = '2026-11-21'
const { app, call, logs } = await build(t, { TODAY })
const { makeGuest, pictures, save, saved, show } = scanning({ app, call })
const image = (await withPlace('SEGRETO-4711')).toString('base64')

const newBooking = async (numero_ospiti = 2) => (await create(call, { check_in: TODAY, numero_ospiti })).id

const ROME = { stato_nascita: '100000100', comune_nascita: '412058091', provincia_nascita: 'RM' }
type Data = Static<typeof ScanGuestResponse>['data']

const { first, on } = await retentionServer(t)
const purge = async (server: TestApp) => (await runJob(server, 'scan-retention')).esito

t.test('a scan is stored, and returned with the same values', async (t) => {
  const response = await save()
  t.equal(response.statusCode, 200, response.body)
  const { id, ...rest } = response.json<{ id: number }>()
  t.same(rest, { success: true, message: 'Scansione salvata', avvisi: [] })
  t.match(await show(id), { id, ...HOLDER, prenotazione_id: null, guest_idx: null, immagine: null })
})

t.test('the required fields of the contract are enough', async (t) => {
  const { expiryDate: _date, documentCode: _code, issuingCountry: _issuer, ...least } = HOLDER
  const response = await call('POST', '/api/save-scan', least)
  t.equal(response.statusCode, 200)
  t.match(await show(response.json<{ id: number }>().id), { ...least, expiryDate: '', documentCode: '' })
})

t.test('an invalid scan is answered with a 400 that names every wrong field, and nothing is stored', async (t) => {
  const before = await app.sql`select count(*)::int as n from scansioni`
  const response = await call('POST', '/api/save-scan', {
    name: 1, docNum: '\t', birthDate: '1964-02-30', gender: 'Q', nationality: 'Italia', expiryDate: 'domani', altro: 1
  })
  t.same(fieldsAtFault(response).sort(),
    ['altro', 'birthDate', 'docNum', 'expiryDate', 'gender', 'name', 'nationality', 'surname'])
  t.same(fieldsAtFault(await save({ birthDate: '2026-11-22' })), ['birthDate'])
  t.same(fieldsAtFault(await save({ prenotazione_id: 1 })), ['guest_idx'])
  t.same(fieldsAtFault(await save({ guest_idx: 0 })), ['prenotazione_id'])
  t.same(fieldsAtFault(await save({ name: 'a'.repeat(101), birthDate: '2026-11-22', guest_idx: 0, image: 'x' })).sort(),
    ['birthDate', 'image', 'name', 'prenotazione_id'])
  t.same(fieldsAtFault(await save({ image: 'aGVsbG8=' })), ['image'])
  t.same(await app.sql`select count(*)::int as n from scansioni`, before)
})

t.test('a scan for a missing booking is answered with a 404, and for a missing place with a 400', async (t) => {
  t.equal((await save({ prenotazione_id: 2_000_000, guest_idx: 0, image })).statusCode, 404)
  const { id } = await create(call, { numero_ospiti: 1 })
  t.same(fieldsAtFault(await save({ prenotazione_id: id, guest_idx: 1, image })), ['guest_idx'])
  t.same(await pictures(), [])
})

t.test('document data are encrypted in the database, and absent from logs', async (t) => {
  await saved()
  const [row] = await app.sql`select string_agg(encode(dati, 'escape'), '') as text from scansioni`
  t.notMatch(row!.text, /PROVETTI|BIANCA|CA00000AA|1964/)
  t.notMatch(JSON.stringify(logs), /PROVETTI|CA00000AA/)
})

t.test('stored responses about a deleted scan or a removed guest are erased', async (t) => {
  const key = { 'idempotency-key': 'una-scansione' }
  const first = await call('POST', '/api/save-scan', HOLDER, key)
  const { id } = first.json<{ id: number }>()
  t.equal((await call('POST', '/api/save-scan', HOLDER, key)).body, first.body)
  const { id: booking } = await create(call, { numero_ospiti: 2 })
  const place = (guest_idx: number) => call(
    'POST', `${SCANS}/${id}/ospite`, { prenotazione_id: booking, guest_idx }, { 'idempotency-key': `p${guest_idx}` }
  )
  const made = [await place(0), await place(1)]
  t.match(made.map(({ statusCode }) => statusCode), [200, 200])
  t.equal((await place(1)).body, made[1]!.body)
  await saveGuests(call, booking, [{ nome: 'ADA', cognome: 'NERI' }])
  t.match((await place(1)).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  t.equal((await place(0)).body, made[0]!.body, 'responses about another guest stay')
  const again = await call('POST', '/api/save-scan', HOLDER, key)
  t.match(again.json(), { codice: 'IDEMPOTENCY_KEY_ESEGUITA' }, 'the scan belonged to the removed guest')
})

t.test('data encrypted for one scan cannot be read as another one', async (t) => {
  const [one, two] = [await saved(), await saved({ name: 'ADA' })]
  await app.sql`update scansioni set dati = (select dati from scansioni where id = ${one}) where id = ${two}`
  t.equal((await call('GET', `${SCANS}/${two}`)).statusCode, 500)
  await app.sql`delete from scansioni where id = ${two}`
})

t.test('a picture is stored with the scan, without its metadata, and is deleted with it', async (t) => {
  const id = await saved({ image })
  t.equal((await show(id))?.immagine, `${SCANS}/${id}/immagine`)
  const read = await call('GET', `${SCANS}/${id}/immagine`)
  t.equal(read.headers['content-type'], 'image/jpeg')
  t.notMatch(read.rawPayload.toString('latin1'), /SEGRETO/)
  t.match(await sharp(read.rawPayload).metadata(), { width: 64, height: 48 })
  const gone = await call('DELETE', `${SCANS}/${id}`)
  t.same(gone.json(), { success: true, message: 'Scansione eliminata' })
  t.same(await pictures(), [])
  const responses = [
    await call('DELETE', `${SCANS}/${id}`),
    await call('GET', `${SCANS}/${id}`),
    await call('GET', `${SCANS}/${id}/immagine`)
  ]
  for (const response of responses) t.match(response.json(), { status: 404, codice: 'SCANSIONE_NON_TROVATA' })
})

t.test('the list is newest first, in pages, and can be limited to a booking', async (t) => {
  const { id: booking } = await create(call, { numero_ospiti: 2 })
  const ids = [await saved(), await saved({ prenotazione_id: booking, guest_idx: 1 }), await saved()]
  const seen: number[] = []
  let url: string | undefined = `${SCANS}?limit=2`
  while (url !== undefined) {
    const response = await call('GET', url)
    seen.push(...response.json<{ data: Scan[] }>().data.map(({ id }) => id))
    url = /<(.*)>/.exec(String(response.headers.link ?? ''))?.[1]
  }
  t.same(seen.slice(0, 3), ids.toReversed())
  t.same(seen, [...new Set(seen)].sort((a, b) => b - a))
  const first = await call('GET', `${SCANS}?limit=1`)
  t.equal(Number(first.headers['x-total-count']), seen.length)
  const own = await call('GET', `${SCANS}?prenotazione_id=${booking}`)
  t.match(own.json(), { data: [{ id: ids[1], guest_idx: 1 }] })
  t.equal(own.headers['x-total-count'], '1')
  t.same(fieldsAtFault(await call('GET', `${SCANS}?cursor=abc`)), ['cursor'])
})

t.test('scans are deleted with their booking and with their guest, and other scans stay', async (t) => {
  const { id: booking } = await create(call, { numero_ospiti: 2 })
  const { id: other } = await create(call, { numero_ospiti: 2 })
  await saveGuests(call, booking, [{ nome: 'Ada', cognome: 'Prova' }, { nome: 'Eva', cognome: 'Prova' }])
  const [first, second, kept] = [
    await saved({ prenotazione_id: booking, guest_idx: 0, image }),
    await saved({ prenotazione_id: booking, guest_idx: 1, image }),
    await saved({ prenotazione_id: other, guest_idx: 0, image })
  ]
  await saveGuests(call, booking, [{ nome: 'Ada', cognome: 'Prova' }])
  t.equal(await show(second), undefined)
  t.ok(await show(first))
  await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [booking] })
  t.equal(await show(first), undefined)
  t.same(await pictures(), [`scansioni/${kept}.jpg`])
  await call('DELETE', `${SCANS}/${kept}`)
})

t.test('notices report a minor, an expired document, and a document that another guest has', async (t) => {
  const { id } = await create(call, { numero_ospiti: 2 })
  await saveGuests(call, id, [{ nome: 'Ada', cognome: 'Prova', numero_documento: 'ca-00000 aa' }])
  const notices = async (changes: object) =>
    (await save({ ...changes })).json<{ avvisi: { campo: string, messaggio: string }[] }>().avvisi
  t.same((await notices({ birthDate: '2008-11-22' })).map(({ campo }) => campo), ['birthDate'])
  t.same((await notices({ birthDate: '2008-11-21' })), [])
  t.match(await notices({ expiryDate: '2026-11-20' }), [{ campo: 'expiryDate', messaggio: /20\/11\/2026/ }])
  t.match(await notices({ prenotazione_id: id, guest_idx: 1 }), [{ campo: 'docNum', messaggio: /ospite 1/ }])
  t.same(await notices({ prenotazione_id: id, guest_idx: 0 }), [], "the guest's own document causes no notice")
})

t.test('a scan with its picture is also stored over a real connection', async (t) => {
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
  const body = JSON.stringify({ ...HOLDER, image })
  const response = await fetch(`${address}/api/save-scan`, { method: 'POST', headers, body })
  t.equal(response.status, 200, await response.text())
})

t.test('every saved or deleted scan is audited, without the document\'s data', async (t) => {
  const id = await saved({ image: (await jpeg()).toString('base64') })
  await call('DELETE', `${SCANS}/${id}`)
  const found = await app.sql`select action, details from audit_log where object = ${`scansione:${id}`} order by id`
  t.same(found.map(({ action, details }) => ({ action, details })), [
    { action: 'scansione_salvata', details: { prenotazione: null, ospite: null, immagine: true } },
    { action: 'scansione_eliminata', details: {} }
  ])
})

t.test('a scan becomes a guest of a booking in one call, which lists missing data', async (t) => {
  const [id, booking] = [await saved(), await newBooking(1)]
  const response = await makeGuest(id, { prenotazione_id: booking, guest_idx: 0 })
  t.equal(response.statusCode, 200, response.body)
  const { ospite, errors, avvisi } = response.json<{ data: Data }>().data
  t.match(ospite, {
    nome: 'BIANCA',
    cognome: 'PROVETTI',
    sesso: 'F',
    data_nascita: '1964-12-30',
    cittadinanza: '100000100',
    tipo_documento: 'IDELE',
    numero_documento: 'CA00000AA',
    luogo_rilascio: null,
    comune_nascita: null
  })
  t.ok(errors.some(({ campo }) => campo === 'luogo_rilascio'))
  t.same(avvisi, [])
  t.match(await read(call, booking), { ospiti: [{ id: ospite.id, cognome: 'PROVETTI' }] })
  t.match(await show(id), { prenotazione_id: booking, guest_idx: 0 })

  const dati = { ...ROME, luogo_rilascio: '412058091' }
  const completed = (await makeGuest(id, { prenotazione_id: booking, guest_idx: 0, dati })).json<{ data: Data }>().data
  t.same(completed.errors, [])
  t.equal(completed.ospite.id, ospite.id)
  t.equal((await call('POST', `${BOOKINGS}/${booking}/invio`, { testMode: true })).statusCode, 200)
})

t.test('a foreign passport requires only the state of birth', async (t) => {
  const id = await saved({ nationality: 'FRA', issuingCountry: 'FRA', documentCode: 'P', docNum: 'V12345678' })
  const booking = await newBooking(1)
  const response = await makeGuest(id, { prenotazione_id: booking, guest_idx: 0, dati: { stato_nascita: '100000215' } })
  t.match(response.json(), {
    data: { errors: [], ospite: { cittadinanza: '100000215', tipo_documento: 'PASOR', luogo_rilascio: '100000215' } }
  })
})

t.test('the police\'s code is also accepted as nationality', async (t) => {
  const id = await saved({ nationality: '100000215' })
  const response = await makeGuest(id, { prenotazione_id: await newBooking(), guest_idx: 0 })
  t.match(response.json(), { data: { ospite: { cittadinanza: '100000215' } } })
})

t.test('a guest keeps fields that are still valid: birth place with the same birth date, and type', async (t) => {
  const booking = await newBooking(1)
  const guest = {
    ...{ nome: 'Bianca', cognome: 'Provetti', data_nascita: '1964-12-30', tipo_alloggiato: '16' },
    ...{ numero_documento: 'AX1234567', luogo_rilascio: '412058091', ...ROME }
  }
  await saveGuests(call, booking, [guest])
  const same = await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  t.match(same.json(), {
    data: { ospite: { ...ROME, tipo_alloggiato: '16', numero_documento: 'CA00000AA', luogo_rilascio: null } }
  })
  const other = await makeGuest(await saved({ birthDate: '1970-01-01' }), { prenotazione_id: booking, guest_idx: 0 })
  t.match(other.json(), { data: { ospite: { comune_nascita: null, stato_nascita: null, tipo_alloggiato: '16' } } })
})

t.test('guests are added in order: an index after a free one, or outside the booking, gets a 400', async (t) => {
  const [id, booking] = [await saved(), await newBooking(2)]
  t.same(fieldsAtFault(await makeGuest(id, { prenotazione_id: booking, guest_idx: 1 })), ['guest_idx'])
  for (const guest_idx of [0, 1]) {
    t.equal((await makeGuest(id, { prenotazione_id: booking, guest_idx })).statusCode, 200)
  }
  t.same(fieldsAtFault(await makeGuest(id, { prenotazione_id: booking, guest_idx: 2 })), ['guest_idx'])
  t.match(await show(id), { guest_idx: 1 })
  t.equal((await read(call, booking)).ospiti.length, 2)
})

t.test('a second guest with the same document causes a notice', async (t) => {
  const booking = await newBooking(2)
  await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  const response = await makeGuest(await saved({ name: 'ADA' }), { prenotazione_id: booking, guest_idx: 1 })
  t.match(response.json(), { data: { avvisi: [{ campo: 'docNum', messaggio: /ospite 1/ }] } })
})

t.test('a missing scan or booking is answered with a 404, and nothing changes', async (t) => {
  const [id, booking] = [await saved(), await newBooking()]
  const { updated_at: before } = await read(call, booking)
  t.equal((await makeGuest(2_000_000, { prenotazione_id: booking, guest_idx: 0 })).statusCode, 404)
  t.equal((await makeGuest(id, { prenotazione_id: 2_000_000, guest_idx: 0 })).statusCode, 404)
  t.same(fieldsAtFault(await makeGuest(id, { guest_idx: -1, dati: { nome: 1, altro: 1 } })).sort(),
    ['dati.altro', 'dati.nome', 'guest_idx', 'prenotazione_id'])
  t.match(await read(call, booking), { ospiti: [], updated_at: before })
})

t.test('saving a guest changes the version of the booking', async (t) => {
  const booking = await newBooking()
  const tag = async () => (await call('GET', `${BOOKINGS}/${booking}`)).headers.etag
  const before = await tag()
  await makeGuest(await saved(), { prenotazione_id: booking, guest_idx: 0 })
  t.not(await tag(), before)
})

t.test('a guest’s scan and picture are deleted the configured number of days after the receipt', async (t) => {
  const { id } = await create(first.call, { check_in: today, numero_notti: 2, numero_ospiti: 1 })
  await saveStay(first, id, [guest('UNO')])
  const image = (await jpeg()).toString('base64')
  const scan = await scanning(first).saved({ prenotazione_id: id, guest_idx: 0, image })
  await send(first, id)
  const scanStatus = async (server: TestApp) => (await held(server, id)).find(({ cosa }) => cosa === 'scansione')
  t.match(await scanStatus(first),
    { ospite: 0, riferimento: String(scan), stato: 'in_attesa_di_ricevuta', fino_a: null })

  await fetchReceipt(on(RECEIPT_DAY))
  const before = on('2026-11-28')
  t.equal(await purge(before), 'riuscito')
  t.match(await scanStatus(before), { stato: 'in_scadenza', fino_a: '2026-11-29' })
  t.match(await scanning(before).show(scan), { fino_a: '2026-11-29' })

  const after = on('2026-11-29')
  t.equal(await purge(after), 'riuscito')
  t.equal(await scanStatus(after), undefined)
  t.equal(await scanning(after).show(scan), undefined)
  t.same(await scanning(after).pictures(), [])
  t.equal((await after.call('GET', `${BOOKINGS}/${id}`)).statusCode, 200, 'the booking stays')
  const entries = await after.app.sql`select object, details from audit_log where action = 'scansioni_scadute'`
  t.same([...entries], [{ object: `prenotazione:${id}`, details: { scansioni: [String(scan)] } }])
})

t.test('a scan without a guest is deleted a number of days after it was saved', async (t) => {
  const { first, on } = await retentionServer(t, { IMAGE_RETENTION_DAYS: '3' })
  const scan = await scanning(first).saved({ image: (await jpeg()).toString('base64') })
  await first.app.sql`update scansioni set created_at = '2026-11-21T22:59:00Z'`
  t.match(await scanning(first).show(scan), { fino_a: '2026-11-24' })
  const before = on('2026-11-23')
  t.equal(await purge(before), 'riuscito')
  t.ok(await scanning(before).show(scan))
  const after = on('2026-11-24')
  t.equal(await purge(after), 'riuscito')
  t.equal(await scanning(after).show(scan), undefined)
  t.same(await scanning(after).pictures(), [])
})

t.test('the image job ignores pictures of scans', async (t) => {
  on(today)
  await scanning(first).saved({ image: (await jpeg()).toString('base64') })
  t.equal((await runJob(first, 'image-retention')).esito, 'riuscito')
  t.equal((await scanning(first).pictures()).length, 1)
})

t.test('the export of a booking contains its scans with their pictures, and its erasure deletes them', async (t) => {
  on(today)
  const { id } = await create(first.call, { numero_ospiti: 1 })
  const scan = await scanning(first).saved({
    prenotazione_id: id, guest_idx: 0, image: (await jpeg()).toString('base64')
  })
  const archive = (await first.call('GET', `${BOOKINGS}/${id}/export`)).rawPayload.toString('latin1')
  t.match(archive, `scansioni/${scan}.json`)
  t.match(archive, `scansioni/${scan}.jpg`)
  const erased = await first.call('POST', `${BOOKINGS}/${id}/cancellazione`, {})
  t.match(erased.json(), { conservati: [] })
  t.equal(await scanning(first).show(scan), undefined)
})
