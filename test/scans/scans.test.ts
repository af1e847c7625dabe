import sharp from 'sharp'
import t from 'tap'
import type { Scan } from '#schemas/scan.ts'
import { create, fieldsAtFault, saveGuests } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { jpeg, withPlace } from '#test/plugins/images/pictures.ts'
import { HOLDER, scanning, SCANS } from './scanning.ts'

const TODAY = '2026-11-21'
const { app, call, logs } = await build(t, { TODAY })
const { save, saved, show, pictures } = scanning({ app, call })
const image = (await withPlace('SEGRETO-4711')).toString('base64')

t.test('a scan is kept, and reads back as it was saved', async (t) => {
  const answer = await save()
  t.equal(answer.statusCode, 200, answer.body)
  const { id, ...rest } = answer.json<{ id: number }>()
  t.same(rest, { success: true, message: 'Scansione salvata', avvisi: [] })
  t.match(await show(id), { id, ...HOLDER, prenotazione_id: null, guest_idx: null, immagine: null })
})

t.test('the fields that the contract asks for are enough', async (t) => {
  const { expiryDate: _date, documentCode: _code, issuingCountry: _issuer, ...least } = HOLDER
  const answer = await call('POST', '/api/save-scan', least)
  t.equal(answer.statusCode, 200)
  t.match(await show(answer.json<{ id: number }>().id), { ...least, expiryDate: '', documentCode: '' })
})

t.test('a wrong scan is a 400 that names every field at fault, and nothing is kept', async (t) => {
  const before = await app.sql`select count(*)::int as n from scansioni`
  const answer = await call('POST', '/api/save-scan', {
    name: ' ', docNum: '', birthDate: '1964-02-30', gender: 'X', nationality: 'Italia', expiryDate: 'domani', altro: 1
  })
  t.same(fieldsAtFault(answer).sort(),
    ['altro', 'birthDate', 'docNum', 'expiryDate', 'gender', 'name', 'nationality', 'surname'])
  t.same(fieldsAtFault(await save({ birthDate: '2026-11-22' })), ['birthDate'])
  t.same(fieldsAtFault(await save({ prenotazione_id: 1 })), ['guest_idx'])
  t.same(fieldsAtFault(await save({ guest_idx: 0 })), ['prenotazione_id'])
  t.same(fieldsAtFault(await save({ name: '', birthDate: '2026-11-22', guest_idx: 0, image: 'x' })).sort(),
    ['birthDate', 'image', 'name', 'prenotazione_id'])
  t.same(fieldsAtFault(await save({ image: 'aGVsbG8=' })), ['image'])
  t.same(await app.sql`select count(*)::int as n from scansioni`, before)
})

t.test('a scan of a booking that does not exist is a 404, of a place that it has not a 400', async (t) => {
  t.equal((await save({ prenotazione_id: 2_000_000, guest_idx: 0, image })).statusCode, 404)
  const { id } = await create(call, { numero_ospiti: 1 })
  t.same(fieldsAtFault(await save({ prenotazione_id: id, guest_idx: 1, image })), ['guest_idx'])
  t.same(await pictures(), [])
})

t.test('what a document says lies sealed in the database, and is in no log', async (t) => {
  await saved()
  const [row] = await app.sql`select string_agg(encode(dati, 'escape'), '') as text from scansioni`
  t.notMatch(row!.text, /PROVETTI|BIANCA|CA00000AA|1964/)
  t.notMatch(JSON.stringify(logs), /PROVETTI|CA00000AA/)
})

t.test('stored answers forget a scan that is deleted, and a guest who is removed', async (t) => {
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
  t.equal((await place(0)).body, made[0]!.body, 'another guest is not forgotten')
  const again = await call('POST', '/api/save-scan', HOLDER, key)
  t.match(again.json(), { codice: 'IDEMPOTENCY_KEY_ESEGUITA' }, 'the scan was of the guest who was removed')
})

t.test('what was sealed for one scan is not read as another one', async (t) => {
  const [one, two] = [await saved(), await saved({ name: 'ADA' })]
  await app.sql`update scansioni set dati = (select dati from scansioni where id = ${one}) where id = ${two}`
  t.equal((await call('GET', `${SCANS}/${two}`)).statusCode, 500)
  await app.sql`delete from scansioni where id = ${two}`
})

t.test('a picture is kept beside the scan, without its metadata, and goes with it', async (t) => {
  const id = await saved({ image })
  t.equal((await show(id))?.immagine, `${SCANS}/${id}/immagine`)
  const read = await call('GET', `${SCANS}/${id}/immagine`)
  t.equal(read.headers['content-type'], 'image/jpeg')
  t.notMatch(read.rawPayload.toString('latin1'), /SEGRETO/)
  t.match(await sharp(read.rawPayload).metadata(), { width: 64, height: 48 })
  const gone = await call('DELETE', `${SCANS}/${id}`)
  t.same(gone.json(), { success: true, message: 'Scansione eliminata' })
  t.same(await pictures(), [])
  const answers = [
    await call('DELETE', `${SCANS}/${id}`),
    await call('GET', `${SCANS}/${id}`),
    await call('GET', `${SCANS}/${id}/immagine`)
  ]
  for (const answer of answers) t.match(answer.json(), { status: 404, codice: 'SCANSIONE_NON_TROVATA' })
})

t.test('the list has the newest first, in pages, and those of a booking alone', async (t) => {
  const { id: booking } = await create(call, { numero_ospiti: 2 })
  const ids = [await saved(), await saved({ prenotazione_id: booking, guest_idx: 1 }), await saved()]
  const seen: number[] = []
  let url: string | undefined = `${SCANS}?limit=2`
  while (url !== undefined) {
    const answer = await call('GET', url)
    seen.push(...answer.json<{ data: Scan[] }>().data.map(({ id }) => id))
    url = /<(.*)>/.exec(String(answer.headers.link ?? ''))?.[1]
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

t.test('scans go with their booking and with their guest, and those of others stay', async (t) => {
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

t.test('a person is told of a minor, of an expired document, and of a document that another guest has', async (t) => {
  const { id } = await create(call, { numero_ospiti: 2 })
  await saveGuests(call, id, [{ nome: 'Ada', cognome: 'Prova', numero_documento: 'ca-00000 aa' }])
  const told = async (changes: object) =>
    (await save({ ...changes })).json<{ avvisi: { campo: string, messaggio: string }[] }>().avvisi
  t.same((await told({ birthDate: '2008-11-22' })).map(({ campo }) => campo), ['birthDate'])
  t.same((await told({ birthDate: '2008-11-21' })), [])
  t.match(await told({ expiryDate: '2026-11-20' }), [{ campo: 'expiryDate', messaggio: /20\/11\/2026/ }])
  t.match(await told({ prenotazione_id: id, guest_idx: 1 }), [{ campo: 'docNum', messaggio: /ospite 1/ }])
  t.same(await told({ prenotazione_id: id, guest_idx: 0 }), [], 'it is the own document')
})

t.test('a scan with its picture is kept over a connection, too', async (t) => {
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }
  const body = JSON.stringify({ ...HOLDER, image })
  const answer = await fetch(`${address}/api/save-scan`, { method: 'POST', headers, body })
  t.equal(answer.status, 200, await answer.text())
})

t.test('the same Idempotency-Key keeps a scan once', async (t) => {
  const headers = { 'idempotency-key': 'scansione-1' }
  const [one, two] = [
    await call('POST', '/api/save-scan', HOLDER, headers), await call('POST', '/api/save-scan', HOLDER, headers)
  ]
  t.equal(one.body, two.body)
  t.equal(two.headers['idempotency-replayed'], 'true')
})

t.test('every scan that is saved or deleted is on record, without what the document says', async (t) => {
  const id = await saved({ image: (await jpeg()).toString('base64') })
  await call('DELETE', `${SCANS}/${id}`)
  const found = await app.sql`select action, details from audit_log where object = ${`scansione:${id}`} order by id`
  t.same(found.map(({ action, details }) => ({ action, details })), [
    { action: 'scansione_salvata', details: { prenotazione: null, ospite: null, immagine: true } },
    { action: 'scansione_eliminata', details: {} }
  ])
})

t.test('nobody keeps or reads a scan without credentials', async (t) => {
  const none = { 'x-api-key': '' }
  t.equal((await call('POST', '/api/save-scan', HOLDER, none)).statusCode, 401)
  for (const path of ['', '/1', '/1/immagine']) {
    t.equal((await call('GET', SCANS + path, undefined, none)).statusCode, 401)
  }
})
