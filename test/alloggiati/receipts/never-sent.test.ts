import t from 'tap'
import type { CrossCheckResponse } from '#schemas/receipts.ts'
import { addDays } from '#src/lib/time.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, saveGuests } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

const first = '2026-11-28'
/** The day `n` days after the first. */
const on = (n: number) => addDays(first, n)

t.test('a guest who was never sent is missing on the arrival, and after 30 nights only for later nights', async (t) => {
  const clock = clockAt(`${first}T12:00:00Z`)
  const server = await build(t, {}, undefined, { clock })
  const { call, logs } = server
  const at = (n: number) => clock.set(`${on(n)}T12:45:00Z`)
  const verified = async () => (await call('GET', '/api/alloggiati/verifica-ricevute')).json<CrossCheckResponse>()
  const counted = async () => {
    const { mancanti, proroghe } = await verified()
    return [mancanti, proroghe].map((lines) => lines.map(({ ospiti_mancanti }) => ospiti_mancanti))
  }
  const alarmed = async () => {
    logs.length = 0
    await runJob(server, 'ledger-alarms')
    return logs.flatMap(({ prenotazione, ospiti_mancanti }) => prenotazione ? ospiti_mancanti : [])
  }
  const { id } = await create(call, { check_in: first, numero_notti: 45, numero_ospiti: 3 })
  await saveGuests(call, id, [guestNo(1), guestNo(2)])
  at(29)
  t.same(await counted(), [[3], []])
  for (const day of [30, 31, 44]) {
    at(day)
    t.same(await counted(), [[], [3]], `day ${day}`)
  }
  at(31)
  t.match((await verified()).proroghe, [{ prenotazione_id: id, dal: on(30) }])
  t.same(await alarmed(), [3])
  await call('PUT', `${BOOKINGS}/${id}`, { numero_ospiti: 2 })
  const day = await call('POST', '/api/v1/invii/giornata', { data: on(30), prova: true })
  t.match(day.json(), { prenotazioni: [{ stato: 'pronta', dal: on(30), numero_ospiti: 2 }] })
  t.equal((await call('POST', `${BOOKINGS}/${id}/invio`, { dal: on(30) })).statusCode, 200)
  t.same([await counted(), await alarmed()], [[[], []], []])
  t.match((await verified()).in_attesa, [{ ospiti_mancanti: 2, giorno: on(31) }])
  at(32)
  t.equal((await call('GET', `/api/alloggiati/ricevute?data=${on(31)}`)).statusCode, 200)
  t.same(await verified(), {
    mancanti: [], in_attesa: [], proroghe: [], discordanze: [], totale_prenotazioni: 1, totale_ricevute: 1
  })
})
