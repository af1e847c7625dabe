import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'

const today = '2026-11-28'
const on = (n: number) => addDays(today, n)

t.test('a guest who was sent for another booking with nights in common gets a warning, and is sent', async (t) => {
  const { call } = await build(t, {}, undefined, { clock: clockAt(`${today}T12:00:00Z`) })
  const book = async (check_in: string, numero_notti: number, guests: object[]) => {
    const { id } = await create(call, { check_in, numero_notti, numero_ospiti: guests.length })
    await saveGuests(call, id, guests)
    return id
  }
  const post = (id: number, path: string, body = {}) => call('POST', `${BOOKINGS}/${id}/${path}`, body)
  const first = await book(on(-1), 3, [guestNo(1)])
  t.match((await post(first, 'invio')).json(), { success: true, avvisi: undefined })

  const second = await book(today, 2, [guestNo(2), guestNo(1)])
  const messaggio = `È già stato inviato per la prenotazione ${first}, dal 27/11/2026 al 30/11/2026: ` +
    'se il soggiorno è lo stesso, annullare una delle due prenotazioni'
  const warning = { ospite: 1, campo: 'check_in', messaggio }
  const warnings = async (id: number) => (await post(id, 'schedine')).json<{ warnings: object[] }>().warnings
  t.same(await warnings(second), [warning])
  t.same((await post(second, 'invio', { testMode: true })).json<{ avvisi: object[] }>().avvisi, [warning])

  t.same(await warnings(await book(on(2), 2, [guestNo(1)])), [], 'the first stay ends on the arrival of this one')
  await call('PUT', `${BOOKINGS}/${first}`, { check_out: today })
  t.same(await warnings(second), [], 'the guest left the first booking earlier')
  await call('PUT', `${BOOKINGS}/${first}`, { check_out: on(2), stato: 'annullata' })
  t.same(await warnings(second), [], 'the first booking is cancelled')
  await call('PUT', `${BOOKINGS}/${first}`, { stato: 'confermata' })
  t.match((await post(second, 'invio')).json(), { success: true, avvisi: [warning] })
})
