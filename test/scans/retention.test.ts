import t from 'tap'
import { today } from '#test/alloggiati/rules/samples.ts'
import { BOOKINGS, create } from '#test/bookings/samples.ts'
import { fetchReceipt, guest, held, RECEIPT_DAY, retaining, save, send } from '#test/documents/retaining.ts'
import type { TestApp } from '#test/helper.ts'
import { jpeg } from '#test/plugins/images/pictures.ts'
import { runJob } from '#test/run-job.ts'
import { scanning } from './scanning.ts'

const purge = async (server: TestApp) => (await runJob(server, 'scan-retention')).esito

t.test('a guest’s scan goes so many days after the receipt, with its picture, and not a day before', async (t) => {
  const { first, on } = await retaining(t)
  const { id } = await create(first.call, { check_in: today, numero_notti: 2, numero_ospiti: 1 })
  await save(first, id, [guest('UNO')])
  const image = (await jpeg()).toString('base64')
  const scan = await scanning(first).saved({ prenotazione_id: id, guest_idx: 0, image })
  await send(first, id)
  const standing = async (server: TestApp) => (await held(server, id)).find(({ cosa }) => cosa === 'scansione')
  t.match(await standing(first), { ospite: 0, riferimento: String(scan), stato: 'in_attesa_di_ricevuta', fino_a: null })

  await fetchReceipt(on(RECEIPT_DAY))
  const before = on('2026-11-28')
  t.equal(await purge(before), 'riuscito')
  t.match(await standing(before), { stato: 'in_scadenza', fino_a: '2026-11-29' })
  t.match(await scanning(before).show(scan), { fino_a: '2026-11-29' })

  const after = on('2026-11-29')
  t.equal(await purge(after), 'riuscito')
  t.equal(await standing(after), undefined)
  t.equal(await scanning(after).show(scan), undefined)
  t.same(await scanning(after).pictures(), [])
  t.equal((await after.call('GET', `${BOOKINGS}/${id}`)).statusCode, 200, 'the booking stays')
  const entries = await after.app.sql`select object, details from audit_log where action = 'scansioni_scadute'`
  t.same([...entries], [{ object: `prenotazione:${id}`, details: { scansioni: [String(scan)] } }])
})

t.test('a scan that is nobody’s goes so many days after it was saved', async (t) => {
  const { first, on } = await retaining(t, { IMAGE_RETENTION_DAYS: '3' })
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

t.test('pictures of scans are left alone by the job of the images, whatever their names', async (t) => {
  const { first } = await retaining(t)
  await scanning(first).saved({ image: (await jpeg()).toString('base64') })
  t.equal((await runJob(first, 'image-retention')).esito, 'riuscito')
  t.equal((await scanning(first).pictures()).length, 1)
})

t.test('who asks for the data of a booking gets its scans, with their pictures', async (t) => {
  const { first } = await retaining(t)
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
