import { eq, sql } from 'drizzle-orm'
import t from 'tap'
import { invii_schedine } from '#drizzle/tables/ledger.ts'
import { ospiti, prenotazioni } from '#drizzle/tables/bookings.ts'
import { struttura } from '#drizzle/tables/establishments.ts'
import { unita } from '#drizzle/tables/units.ts'
import { alarmNotifier, forgetOldAlarms } from '#src/alloggiati/ledger/alarms/alarm-notifier.ts'
import { mailEveningSummary } from '#src/alloggiati/ledger/alarms/timed-alarms.ts'
import { raiseTimedAlarms } from '#src/alloggiati/ledger/alarms/timed-alarms.ts'
import { fingerprint } from '#src/alloggiati/ledger/fingerprints.ts'
import { suspendSending } from '#src/alloggiati/ledger/suspension.ts'
import { unfiledBookings } from '#src/alloggiati/ledger/unfiled-bookings.ts'
import { ledgerWithHistory, type LedgerWithHistory } from './ledger-with-history.ts'

async function booking (
  { db }: LedgerWithHistory, check_in: string, check_out: string, numero_ospiti = 1
): Promise<number> {
  const [row] = await db
    .insert(prenotazioni)
    .values({ nome_cognome: 'Ada Prova', lingua: 'it', paese_id: 380, check_in, check_out, numero_ospiti })
    .returning({ id: prenotazioni.id })
  return row!.id
}

/** The times in Rome at which a run every five minutes raises an alarm. */
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

t.test('a booking raises an alarm six hours, two hours and half an hour before its deadline, once each', async (t) => {
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

/** Links the rows of a submission to a booking, with their triggers disabled, because they refuse this change. */
async function tie ({ db }: LedgerWithHistory, id: number, prenotazione_id: number): Promise<void> {
  await withoutTriggers({ db }, () =>
    db.update(invii_schedine).set({ prenotazione_id }).where(eq(invii_schedine.invio_id, id)))
}

/** Changes rows without their triggers. */
async function withoutTriggers ({ db }: Pick<LedgerWithHistory, 'db'>, change: () => Promise<unknown>): Promise<void> {
  await db.execute(sql`alter table invii_schedine disable trigger user`)
  await change()
  await db.execute(sql`alter table invii_schedine enable trigger user`)
}

const unfiled = ({ context }: LedgerWithHistory, today: string) => unfiledBookings({ ...context, today })

const near = ({ logs }: LedgerWithHistory) => logs.filter(({ msg }) => /deadline/.test(String(msg)))

t.test(
  'an unfinished submission raises the alarm instead of its booking, and an acquired one raises none',
  async (t) => {
    const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
    const id = await w.sent({ at: '2026-11-20T13:00:00Z', seen: '?' })
    await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K' })
    await tie(w, id, await booking(w, '2026-11-20', '2026-11-23', 2))
    await raiseTimedAlarms(w.context)
    t.match(near(w), [{ msg: /deadline of an unfinished submission is near or past/, invio: id }])
    t.match(w.mails.map(({ text }) => text).find((text) => /legge|scadenza/.test(text)), /Non inviare di nuovo/)
  }
)

t.test('the alarm of a booking for four guests stays until the fourth is sent', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
  const id = await booking(w, '2026-11-20', '2026-11-23', 4)
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', rows: 1 }), id)
  // Two more guests, one of whom was refused.
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', rows: 1, held: 1 }), id)
  t.match(await unfiled(w, '2026-11-21'), [{ bookingId: id, missing: 2, unsent: 2 }])
  await raiseTimedAlarms(w.context)
  t.match(near(w), [{ msg: /not acquired yet/, prenotazione: id }])
  t.match(w.mails[0], { text: /prenotazione \d+, 2 ospiti da comunicare/ })
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', rows: 2 }), id)
  t.same(await unfiled(w, '2026-11-21'), [])
})

t.test('a booking raises an alarm again when sent guests are replaced or its arrival is moved', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
  const { db, context: { keys }, account } = w
  const sent = await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', rows: 1 })
  const id = await booking(w, '2026-11-20', '2026-11-23')
  await tie(w, sent, id)
  const due = () => unfiled(w, '2026-11-21')
  t.same(await due(), [], 'any sent guest counts while no guest is saved')
  await db.insert(ospiti).values({
    prenotazione_id: id, indice: 0, nome: 'Ada', cognome: 'Prova', data_nascita: '1980-05-15'
  })
  t.match(await due(), [{ bookingId: id, missing: 1, unsent: 1 }])
  await raiseTimedAlarms(w.context)
  t.match(near(w), [{ msg: /not acquired yet/, prenotazione: id }])

  const { persona } = fingerprint(keys, account, {
    data_arrivo: '2026-11-20', cognome: 'ADA', nome: 'PROVA', data_nascita: '1980-05-15', num_doc: ''
  })
  await withoutTriggers(w, () => db.update(invii_schedine).set({ impronta_persona: persona }))
  t.same(await due(), [], 'the same person with swapped names')
  await tie(w, sent, id + 1)
  t.same(await due(), [], 'a guest sent for a deleted booking')
  await withoutTriggers(w, () => db.update(invii_schedine).set({ esito: 'rifiutata' }))
  t.match(await due(), [{ missing: 1 }], 'a refused row does not count')
  await withoutTriggers(w, () => db.update(invii_schedine).set({ esito: 'acquisita' }))

  await db.update(prenotazioni).set({ check_in: '2026-11-21' })
  t.match(await due(), [{ arrival: '2026-11-21', missing: 1, unsent: 1 }])
  await tie(w, await w.sent({ at: '2026-11-21T08:00:00Z', seen: '?', rows: 1 }), id)
  t.match(await due(), [{ missing: 1, unsent: 0 }], 'sent for the booking as it is')
})

t.test('a stay longer than 30 nights is due again on its 31st day, and every 30 days after that', async (t) => {
  const w = await ledgerWithHistory(t, '2026-12-20T10:00:00Z')
  const id = await booking(w, '2026-11-20', '2027-01-25', 2)
  await booking(w, '2026-11-20', '2026-12-20')
  const due = async (today: string) => (await unfiled(w, today)).map(({ arrival, deadline }) =>
    ({ arrival, deadline: deadline.toISOString() }))
  t.same(await due('2026-12-19'), [])
  t.same(await due('2026-12-20'), [{ arrival: '2026-12-20', deadline: '2026-12-21T13:00:00.000Z' }])
  t.same(await due('2026-12-22'), [])
  t.match(await due('2027-01-19'), [{ arrival: '2027-01-19' }])
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', nights: 30 }), id)
  t.equal((await due('2026-12-20')).length, 1, 'the schedina of the arrival does not count')
  await tie(w, await w.sent({ at: '2026-12-20T13:00:00Z', seen: 'K' }), id)
  t.same(await due('2026-12-20'), [])
  t.match(await due('2026-12-23'), [{ arrival: '2026-12-23' }], 'three nights were declared')
})

t.test('an alarm is mailed to each recipient once a day per problem, even if two processes raise it', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  const id = await w.sent({ at: '2026-11-20T17:00:00Z', seen: '?' })
  const raise = () => w.context.alarm('unknown-outcome', { invio: id, ricevuta: 'AW-1', tentativo: 1 })
  await Promise.all([raise(), raise(), alarmNotifier(w.context)('unknown-outcome', { invio: id, tentativo: 1 })])
  t.equal(w.errors().length, 1)
  t.same(w.mails.map(({ to }) => to), ['direzione@example.com', 'notte@example.com'])
  const { subject, text, html } = w.mails[0]!
  t.equal(subject, 'Alloggiati Web (sandbox): Invio di esito sconosciuto')
  t.match(text, /Non inviare di nuovo/, 'the text gives advice')
  t.match(text, new RegExp(`id dell’invio ${id}, tentativo 1`))
  t.match(html, /<li>.*tentativo 1<\/li>/)
  w.clock.set('2026-11-21T18:00:00Z')
  await raise()
  t.equal(w.mails.length, 4, 'another day')
  await w.db.execute(sql`update allarmi set quando = now() - interval '61 days'`)
  await forgetOldAlarms(w.db)
  await raise()
  t.equal(w.mails.length, 6, 'a deleted alarm is raised again')
  for (const macchina of ['uno', 'due', 'uno']) {
    await w.context.alarm('unwritable-folder', { macchina, errore: 'codice ENOSPC' })
  }
  t.equal(w.mails.length, 10, 'each server has its own alarm about its folder')
  t.match(w.mails[6]!.text, /Liberare spazio sul disco.*- server uno, codice ENOSPC/s)
})

t.test('an alarm that cannot be stored is still logged', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  const enqueue = () => Promise.reject(new Error('disk full'))
  await alarmNotifier({ ...w.context, mail: { enqueue, deliver () {} } })('broken-chain', {})
  t.match(w.errors().map(({ msg }) => msg), [/could not be recorded/, /failed its verification/])
  await w.context.alarm('broken-chain', {})
  t.equal(w.mails.length, 2, 'it is mailed later')
})

t.test('the next run raises alarms that a killed process missed, and a suspension raises one every day', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  const unknown = await w.sent({ at: '2026-11-20T17:00:00Z', seen: '?' })
  await suspendSending(w.db, 'sistema', 'prova')
  await raiseTimedAlarms(w.context)
  t.match(w.errors(), [{ msg: /outcome of a submission is unknown/, invio: unknown }, { msg: /sending is suspended/ }])
  w.clock.set('2026-11-21T06:00:00Z')
  await raiseTimedAlarms(w.context)
  t.match(w.errors().slice(2), [{ msg: /sending is suspended/ }])
})

t.test('the evening summary lists open tasks once a day, and is omitted when there are none', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-22T19:00:00Z')
  await mailEveningSummary(w.context)
  t.same(w.mails, [])
  await booking(w, '2026-11-22', '2026-11-25', 3)
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: 'K' })
  await w.sent({ at: '2026-11-22T17:00:00Z', seen: '?' })
  await Promise.all([mailEveningSummary(w.context), mailEveningSummary(w.context)])
  t.equal(w.mails.length, 2)
  t.match(w.mails[0]!.text, /prenotazione 1, 3 ospiti da comunicare, giorno 22\/11\/2026, scadenza 23\/11\/2026, 14:00/)
  t.match(w.mails[0]!.text, /aspettano una persona:\n- invio AW-/)
  t.match(w.mails[0]!.text, /senza ricevuta:\n- giorno 20\/11\/2026/)
  t.notMatch(w.mails[0]!.text, /Ada/)
})

t.test('with several establishments, alarms and summary name that of the booking, else the account', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
  const other = await booking(w, '2026-11-20', '2026-11-23')
  await w.sent({ at: '2026-11-20T13:00:00Z', seen: '?' })
  await raiseTimedAlarms(w.context)
  t.notMatch(w.mails.map(({ text }) => text).join(), /struttura|account/, 'a single establishment is not named')
  t.notMatch(JSON.stringify(near(w)), /strutture|utente/)

  const [house] = await w.db.insert(struttura).values({ nome: 'Casa del Porto' }).returning()
  const [unit] = await w.db.insert(unita).values({
    struttura_id: house!.id, nome: 'Alloggio 1', tipo: 'camera', posti_letto: 2, ospiti_massimi: 2
  }).returning()
  const id = await booking(w, '2026-11-20', '2026-11-23')
  await w.db.update(prenotazioni).set({ unita_id: unit!.id }).where(eq(prenotazioni.id, id))
  w.mails.length = 0
  w.logs.length = 0
  w.clock.set('2026-11-21T11:30:00Z')
  await raiseTimedAlarms(w.context)
  const text = w.mails.map((mail) => mail.text).join('\n')
  t.match(text, new RegExp(`prenotazione ${id}, struttura Casa del Porto, 1 ospite da comunicare`))
  t.match(text, new RegExp(`prenotazione ${other}, 1 ospite`))
  t.match(text, new RegExp(`invio AW-[^\n]*, account ${w.account}, scadenza`))
  t.match(near(w).find(({ prenotazione }) => prenotazione === id), { strutture: [house!.id] })
  t.notMatch(JSON.stringify(near(w)), /Casa del Porto/)
  w.mails.length = 0
  await mailEveningSummary(w.context)
  t.match(w.mails[0]!.text, new RegExp(`prenotazione ${id}, struttura Casa del Porto, 1 ospite`))
})

t.test('no mail reports guests of a live submission as not sent', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T09:00:00Z')
  const whole = await booking(w, '2026-11-20', '2026-11-23', 2)
  const part = await booking(w, '2026-11-20', '2026-11-23', 4)
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: '?' }), whole)
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: '?', rows: 1 }), part)
  await tie(w, await w.sent({ at: '2026-11-20T13:00:00Z', seen: 'K', rows: 1 }), part)
  await raiseTimedAlarms(w.context)
  await mailEveningSummary(w.context)
  const listed = w.mails.flatMap(({ text }) => [...text.matchAll(/prenotazione (\d+), (\d+) ospiti da comunicare/g)])
  t.same(new Set(listed.map(([, id, guests]) => `${id} ${guests}`)), new Set([`${part} 2`]))
})

t.test('a process that starts late raises one alarm for all passed thresholds, and does not repeat it', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T12:45:00Z')
  await booking(w, '2026-11-20', '2026-11-23')
  await raiseTimedAlarms(w.context)
  await raiseTimedAlarms(w.context)
  t.equal(w.errors().length, 1)
})

t.test('a missing receipt raises an alarm on the second, the seventh and the twenty-fifth day', async (t) => {
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
