import { eq, sql } from 'drizzle-orm'
import t from 'tap'
import { invii } from '#drizzle/tables/alloggiati.ts'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { raiseTimedAlarms } from '#src/alloggiati/ledger/alarms/timed.ts'
import { ledgerWithHistory, type LedgerWithHistory } from './ledger-with-history.ts'

async function booking ({ db }: LedgerWithHistory, check_in: string, check_out: string): Promise<number> {
  const [row] = await db
    .insert(prenotazioni)
    .values({ nome_cognome: 'Ada Prova', lingua: 'it', paese_id: 380, check_in, check_out, numero_ospiti: 1 })
    .returning({ id: prenotazioni.id })
  return row!.id
}

/** The instants, Rome, at which a run every five minutes raises an alarm. */
async function alarmsBetween (w: LedgerWithHistory, from: string, to: string): Promise<string[]> {
  const times: string[] = []
  for (let at = Date.parse(from); at <= Date.parse(to); at += 5 * 60_000) {
    w.clock.set(new Date(at).toISOString())
    const before = w.errors().length
    await raiseTimedAlarms(w.context)
    if (w.errors().length > before) times.push(w.clock.now().toISOString())
  }
  return times
}

t.test('a booking is alarmed once each six hours, two hours and half an hour before its deadline', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T08:00:00Z')
  await booking(w, '2026-11-20', '2026-11-23')
  // 14:00 of the next day in Rome.
  t.same(await alarmsBetween(w, '2026-11-21T06:50:00Z', '2026-11-21T14:00:00Z'),
    ['2026-11-21T07:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-21T12:30:00.000Z'])
  t.test('a stay of one night has a deadline of six hours', async (t) => {
    const w = await ledgerWithHistory(t, '2026-11-20T08:00:00Z')
    await booking(w, '2026-11-20', '2026-11-21')
    t.same(await alarmsBetween(w, '2026-11-20T12:50:00Z', '2026-11-20T20:00:00Z'),
      ['2026-11-20T13:00:00.000Z', '2026-11-20T17:00:00.000Z', '2026-11-20T18:30:00.000Z'])
  })
})

t.test(
  'an unfinished submission is alarmed in place of its booking, and an acquired one is not',
  async (t) => {
    const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
    const id = await w.sent({ at: '2026-11-20T13:00:00Z', seen: '?' })
    await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K' })
    const prenotazione_id = await booking(w, '2026-11-20', '2026-11-23')
    // Past the trigger: a submission does not change its booking.
    await w.db.execute(sql`alter table invii disable trigger user`)
    await w.db.update(invii).set({ prenotazione_id }).where(eq(invii.id, id))
    await w.db.execute(sql`alter table invii enable trigger user`)
    await raiseTimedAlarms(w.context)
    t.match(w.errors(), [{ msg: /not acquired yet/, invio: id }])
  }
)

t.test('a process that starts late raises one alarm for the passed thresholds, and does not repeat it', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T12:45:00Z')
  await booking(w, '2026-11-20', '2026-11-23')
  await raiseTimedAlarms(w.context)
  await raiseTimedAlarms(w.context)
  t.equal(w.errors().length, 1)
})

t.test('a missing receipt is alarmed on the second, the seventh and the twenty-fifth day', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: 'K', taken: 0 })
  await w.sent({ at: '2026-11-19T17:00:00Z', seen: 'N' })
  const days: string[] = []
  for (let at = Date.parse('2026-11-20T11:30:00Z'); at < Date.parse('2026-12-25T00:00:00Z'); at += 86_400_000 / 2) {
    w.clock.set(new Date(at).toISOString())
    const before = w.errors().length
    await raiseTimedAlarms(w.context)
    if (w.errors().length > before) days.push(w.clock.today())
  }
  t.same(days, ['2026-11-22', '2026-11-27', '2026-12-15'])
  t.match(w.errors()[0], { msg: /receipt .* missing/, giorno: '2026-11-20' })
})

t.test('a receipt that is kept raises no alarm', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: 'K' })
  w.clock.set('2026-11-22T11:30:00Z')
  await w.archive.fetchReceipt('2026-11-20')
  await raiseTimedAlarms(w.context)
  t.same(w.errors(), [])
})
