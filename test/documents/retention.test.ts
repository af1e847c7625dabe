import t from 'tap'
import { today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS } from '#test/bookings/samples.ts'
import { store } from '#test/storage/samples.ts'
import {
  booked, endSubmissions, fetchReceipt, forgetReceipts, guest as guestNamed, imagesOf, openSubmission, purge,
  RECEIPT_DAY, retentionServer, save, send
} from './retention-steps.ts'

const { first, on } = await retentionServer(t)

/** Each test uses other guests, because a sent guest cannot be sent again. */
let nth = 0
const guest = (nome: string) => guestNamed(`${nome}${String.fromCodePoint(64 + nth)}`)

t.beforeEach(async () => {
  nth++
  on(today)
  await forgetReceipts(first)
})

t.test('images are deleted exactly the configured number of days after the guest\'s receipt', async (t) => {
  const id = await booked(first, [guest('UNO')])
  t.same(await imagesOf(first, id), { '0/front': 'mai_inviata', '0/back': 'mai_inviata' })
  await send(first, id)
  t.same(await imagesOf(first, id), { '0/front': 'in_attesa_di_ricevuta', '0/back': 'in_attesa_di_ricevuta' })

  const waiting = on('2027-11-21')
  t.equal(await purge(waiting), 'riuscito')
  t.same(Object.keys(await imagesOf(waiting, id)).length, 2, 'without the receipt they are kept')

  await fetchReceipt(on(RECEIPT_DAY))
  const before = on('2026-11-28')
  t.equal(await purge(before), 'riuscito')
  t.same(await imagesOf(before, id), { '0/front': 'in_scadenza 2026-11-29', '0/back': 'in_scadenza 2026-11-29' })

  const after = on('2026-11-29')
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, id), {})
  t.equal((await after.call('GET', `/api/documents/${id}/0/front`)).statusCode, 404)
  t.equal((await after.call('GET', `${BOOKINGS}/${id}`)).statusCode, 200, 'the booking stays')
  const entries = await after.app.sql`
    select actor, object, details from audit_log
    where action = 'immagini_scadute' and object = ${`prenotazione:${id}`} order by id`
  t.same([...entries], [
    { actor: 'sistema', object: `prenotazione:${id}`, details: { immagini: ['0/back', '0/front'] } }
  ])
  t.notMatch(JSON.stringify(after.logs), /PROVETTI|CA00UNO/)
})

t.test('images of a covered guest are deleted, and images of an uncovered guest of the booking stay', async (t) => {
  const id = await booked(first, [guest('UNO'), guest('DUE')])
  await save(first, id, [guest('UNO')])
  // The images of the second guest were deleted with the guest.
  t.same(Object.keys(await imagesOf(first, id)), ['0/back', '0/front'])
  await send(first, id)
  await fetchReceipt(on(RECEIPT_DAY))
  on(today)
  await save(first, id, [guest('UNO'), guest('DUE')])
  await store(first, 'documents', `${id}/1/front.jpg`)
  const other = await booked(first, [guest('TRE')])

  const after = on('2026-12-31')
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, id), { '1/front': 'mai_inviata' })
  t.same(await imagesOf(after, other), { '0/front': 'mai_inviata', '0/back': 'mai_inviata' })
})

t.test('the images of a guest who replaced a sent guest stay', async (t) => {
  const id = await booked(first, [guest('UNO'), guest('DUE')])
  await send(first, id)
  await fetchReceipt(on(RECEIPT_DAY))
  await save(on(today), id, [guest('ALTRO'), guest('DUE')])
  const after = on('2026-12-31')
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, id), { '0/front': 'mai_inviata', '0/back': 'mai_inviata' })
})

t.test('sent guests who are not saved are covered only when all guests of the booking are covered', async (t) => {
  const id = await booked(first, [guest('UNO'), guest('DUE')])
  await first.app.sql`delete from ospiti where prenotazione_id = ${id}`
  const sendOne = (nome: string) => first.call('POST', '/api/alloggiati/invio', {
    ospiti: [guest(nome)], prenotazione: { id, check_in: today, numero_notti: 2 }
  })
  t.equal((await sendOne('UNO')).statusCode, 200)
  await fetchReceipt(on(RECEIPT_DAY))
  const half = on('2026-12-01')
  t.equal(await purge(half), 'riuscito')
  t.equal(Object.keys(await imagesOf(half, id)).length, 4, 'it is unknown which of the two was sent')
  on(today)
  t.equal((await sendOne('DUE')).statusCode, 200)
  await fetchReceipt(on(RECEIPT_DAY))
  on('2026-12-01')
  t.equal(await purge(half), 'riuscito')
  t.same(await imagesOf(half, id), {})
})

t.test('images stay while a submission of their booking is open or unknown, even for covered guests', async (t) => {
  const id = await booked(first, [guest('UNO')])
  await send(first, id)
  await fetchReceipt(on(RECEIPT_DAY))
  const after = on('2026-12-31')
  for (const [stato, reason] of Object.entries({
    pronto: 'invio_aperto',
    preso: 'invio_aperto',
    in_invio: 'invio_aperto',
    sconosciuto: 'esito_sconosciuto',
    da_verificare: 'esito_sconosciuto',
    // The outcome of one of its rows is not known.
    parziale: 'esito_sconosciuto'
  })) {
    await openSubmission(after, id, stato)
    t.equal(await purge(after), 'riuscito')
    t.same(await imagesOf(after, id), { '0/front': reason, '0/back': reason }, stato)
    await endSubmissions(after, id)
  }
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, id), {})
})

t.test('images stay if their guest was sent before the booking moved, and their state gives this reason', async (t) => {
  const days = { UNO: '2027-03-01', DUE: '2026-11-23', TRE: '2026-11-20' }
  for (const [name, check_in] of Object.entries(days)) {
    on(today)
    const id = await booked(first, [guest(name), guest(`${name}X`)])
    const still = await booked(first, [guest(`${name}Y`)])
    await send(first, id)
    await save(first, id, [guest(name), guest(`${name}Z`)])
    for (const moved of [id, still]) {
      t.equal((await first.call('PUT', `${BOOKINGS}/${moved}`, { check_in, numero_notti: 2 })).statusCode, 200)
    }
    const after = on('2027-12-31')
    t.equal(await purge(after), 'riuscito')
    t.same(await imagesOf(after, id), {
      '0/front': 'altro_arrivo', '0/back': 'altro_arrivo', '1/front': 'mai_inviata', '1/back': 'mai_inviata'
    }, check_in)
    t.same(await imagesOf(after, still), { '0/front': 'mai_inviata', '0/back': 'mai_inviata' })
  }
})

t.test('images are deleted on the day of the receipt when the retention is zero days', async (t) => {
  const { first, on } = await retentionServer(t, { IMAGE_RETENTION_DAYS: '0' })
  const id = await booked(first, [guest('UNO')])
  await send(first, id)
  const next = on(RECEIPT_DAY)
  await fetchReceipt(next)
  t.same(await imagesOf(next, id), { '0/front': 'in_scadenza 2026-11-22', '0/back': 'in_scadenza 2026-11-22' })
  t.equal(await purge(next), 'riuscito')
  t.same(await imagesOf(next, id), {})
})

t.test('images that a restore brings back are deleted and audited again', async (t) => {
  const id = await booked(first, [guest('UNO')])
  await send(first, id)
  await fetchReceipt(on(RECEIPT_DAY))
  await first.app.sql`create table backup as select * from objects where name like ${`${id}/%`}`
  const after = on('2026-12-31')
  t.equal(await purge(after), 'riuscito')
  await first.app.sql`insert into objects select * from backup`
  t.equal(Object.keys(await imagesOf(after, id)).length, 2)
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, id), {})
  const [{ n } = {}] = await first.app.sql`
    select count(*)::int as n from audit_log
    where action = 'immagini_scadute' and object = ${`prenotazione:${id}`}`
  t.equal(n, 2)
})

t.test('when the audit log cannot be written, that booking keeps its images, and the next run retries', async (t) => {
  const one = await booked(first, [guest('UNO')])
  const two = await booked(first, [guest('DUE')])
  await send(first, one)
  await send(first, two)
  await fetchReceipt(on(RECEIPT_DAY))
  const after = on('2026-12-31')
  await after.app.sql.unsafe(
    `alter table audit_log add constraint refused check (object is distinct from 'prenotazione:${one}') not valid`)
  t.equal(await purge(after), 'fallito')
  t.equal(Object.keys(await imagesOf(after, one)).length, 2)
  t.same(await imagesOf(after, two), {})
  t.equal((await after.call('GET', `/api/documents/${one}/0/front`)).statusCode, 200, 'the file exists, too')
  await after.app.sql`alter table audit_log drop constraint refused`
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, one), {})
})

t.test('the job processes every image, even if there are over a thousand', async (t) => {
  const many = await booked(first, [guest('UNO')])
  const last = await booked(first, [guest('DUE')])
  await first.app.sql`
    insert into objects (id, bucket, name, content_type, size, key_id, wrapped_key)
    select gen_random_uuid(), bucket, ${`${many}/`} || n || '/front.jpg', content_type, size, key_id, wrapped_key
    from objects, generate_series(1, 1200) n where name = ${`${many}/0/front.jpg`}`
  await send(first, last)
  await fetchReceipt(on(RECEIPT_DAY))
  const after = on('2026-12-31')
  t.equal(await purge(after), 'riuscito')
  t.same(await imagesOf(after, last), {})
  t.equal((await after.app.files.findByPrefix(after.app.db, 'documents', `${many}/`)).length, 1202)
})

t.test('images of a saved guest who was never sent stay, even when the booking becomes smaller', async (t) => {
  const id = await booked(first, [guest('UNO'), guest('DUE')])
  const prenotazione = { id, check_in: today, numero_notti: 2 }
  const sent = await first.call('POST', '/api/alloggiati/invio', { ospiti: [guest('UNO')], prenotazione })
  t.equal(sent.statusCode, 200, sent.body)
  await fetchReceipt(on(RECEIPT_DAY))
  on(today)
  t.equal((await first.call('PUT', `${BOOKINGS}/${id}`, { numero_ospiti: 1 })).statusCode, 200)
  const after = on('2026-12-31')
  t.equal(await purge(after), 'riuscito')
  t.same(Object.keys(await imagesOf(after, id)), ['1/back', '1/front'])
})
