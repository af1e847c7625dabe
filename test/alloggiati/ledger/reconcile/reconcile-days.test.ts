import { count, eq, sql } from 'drizzle-orm'
import t from 'tap'
import { ricevute_letture } from '#drizzle/tables/alloggiati.ts'
import { invii_decisioni } from '#drizzle/tables/decisions.ts'
import { invii, invii_transizioni } from '#drizzle/tables/ledger.ts'
import { move, moveRows } from '#src/alloggiati/ledger/moves.ts'
import { findDiscrepancies } from '#src/alloggiati/ledger/reconcile/discrepancies.ts'
import { reconcileDay, reconcileDays } from '#src/alloggiati/ledger/reconcile/reconcile-day.ts'
import { unprovenDays } from '#src/alloggiati/receipts/receipt-days.ts'
import { SoapTransportError } from '#src/alloggiati/service/soap/errors.ts'
import { ledgerWithHistory, type LedgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'

const DAY = '2026-11-20'
const SENT = `${DAY}T17:00:00Z`
const NEXT = '2026-11-21'

/** Runs the job at these hours of the next day in Rome. */
async function jobAt ({ clock, context, archive }: LedgerWithHistory, ...hours: string[]): Promise<void> {
  for (const hour of hours) {
    clock.set(`${NEXT}T${hour}:00+01:00`)
    await reconcileDays(context, archive)
  }
}

async function countFetches ({ db }: LedgerWithHistory): Promise<number> {
  const [row] = await db.select({ n: count() }).from(ricevute_letture)
  return row!.n
}

async function transitions ({ db }: LedgerWithHistory, id: number): Promise<string[]> {
  const rows = await db.select({ a: invii_transizioni.a }).from(invii_transizioni)
    .where(eq(invii_transizioni.invio_id, id)).orderBy(invii_transizioni.id)
  return rows.map(({ a }) => a)
}

t.test('the first receipt confirms guests whom the reply reported as acquired', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  const id = await w.sent({ at: SENT, seen: 'K' })
  await jobAt(w, '05:59')
  t.equal(await countFetches(w), 0, 'the receipt may be incomplete')
  await jobAt(w, '06:00')
  t.match(await w.stateOf(id), { stato: 'ricevuto', rows: 'acquisita acquisita', outcomes: ['1K risposta 2/6'] })
  t.same(await unprovenDays(w.db, 'sandbox', { from: DAY, to: DAY }), [])
  await jobAt(w, '08:00', '23:00')
  t.equal(await countFetches(w), 1, 'no outcome is left to confirm')
  t.same(w.errors(), [])
})

t.test('when the receipt of one day cannot be stored, the other days are still reconciled', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  const ids = [await w.sent({ at: '2026-11-19T17:00:00Z', seen: 'K' }), await w.sent({ at: SENT, seen: 'K' })]
  const { fetchReceipt } = w.archive
  await jobAt({
    ...w,
    archive: {
      ...w.archive,
      fetchReceipt: async (day) => {
        if (day < DAY) throw new Error('numeric value out of range')
        return fetchReceipt(day)
      }
    }
  }, '06:00')
  t.match(await Promise.all(ids.map((id) => w.stateOf(id))), [{ stato: 'acquisito' }, { stato: 'ricevuto' }])
  t.equal(w.errors().length, 1)
})

t.test('guests whom the receipt does not count are ready to be sent again after the second fetch', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  await w.sent({ at: SENT, seen: 'K' })
  const id = await w.sent({ at: SENT, seen: '?', held: 1 })
  await jobAt(w, '06:00', '07:00')
  t.match(await w.stateOf(id), { stato: 'sconosciuto' })
  t.equal(await countFetches(w), 1)
  await jobAt(w, '08:00')
  t.match(await w.stateOf(id), {
    stato: 'pronto',
    nota: /prova che non è stato acquisito/,
    rows: 'in_corso in_corso rifiutata',
    outcomes: ['1? risposta 0/0', '1N ricevuta 0/0']
  })
  const [submission] = await w.db
    .select({ free: sql<boolean>`${invii.lease_fino_al} <= now() and ${invii.proprietario} is null` })
    .from(invii)
    .where(eq(invii.id, id))
  t.equal(submission!.free, true, 'the next sweep sends it')
  t.same(w.errors(), [])
})

t.test('guests whom the receipt counts become acquired', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  await w.exclusive()
  const known = await w.sent({ at: SENT, seen: 'K', rows: 1, nights: 4 })
  const id = await w.sent({ at: SENT, seen: '?', taken: 2 })
  const part = await w.sent({ at: SENT, seen: '?', taken: 2, held: 1 })
  await jobAt(w, '06:00')
  t.match(await w.stateOf(id), {
    stato: 'ricevuto', rows: 'acquisita acquisita', outcomes: ['1? risposta 0/0', '1K ricevuta 2/6']
  })
  t.match(await w.stateOf(part), { stato: 'parziale', rows: 'acquisita acquisita rifiutata' })
  t.same((await transitions(w, part)).slice(-2), ['sconosciuto', 'parziale'], 'one guest remains to be sent')
  t.equal((await w.stateOf(known)).stato, 'ricevuto')
  await jobAt(w, '08:00', '12:00')
  t.same((await w.stateOf(id)).outcomes.length, 2, 'the outcome is recorded only once')
})

t.test('when other programs may use the account, its receipt does not prove acquisition', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  const id = await w.sent({ at: SENT, seen: '?', taken: 2 })
  await jobAt(w, '06:00')
  t.match(await w.stateOf(id), {
    stato: 'da_verificare', nota: /^Suggerimento: acquisito/, rows: 'sconosciuta sconosciuta'
  })
  t.test('when a person filed guests on the portal, the receipt does not prove acquisition', async (t) => {
    const w = await ledgerWithHistory(t, SENT)
    await w.exclusive()
    const id = await w.sent({ at: SENT, seen: '?', taken: 0 })
    const byHand = await w.sent({ at: SENT, seen: '?', taken: 0 })
    await fileOnPortal(w, byHand)
    await w.acquired(SENT, 4, 3)
    await jobAt(w, '06:00')
    t.match(await w.stateOf(id), { stato: 'da_verificare', nota: /^Suggerimento: acquisito/ })
    t.match(await w.stateOf(byHand), { stato: 'depositato_altrove', outcomes: { length: 1 } })
  })
})

async function fileOnPortal ({ db }: LedgerWithHistory, id: number): Promise<void> {
  await db.transaction(async (tx) => {
    await move(tx, id, { da: 'sconosciuto', a: 'da_verificare', chi: 'prova', perche: 'in carico' })
    const [submission] = await tx.select({ versione: invii.versione }).from(invii).where(eq(invii.id, id))
    await tx
      .insert(invii_decisioni)
      .values({
        invio_id: id, versione: submission!.versione, decisione: 'depositato', chi: 'prova', motivo: 'portale'
      })
    await move(tx, id, { da: 'da_verificare', a: 'depositato_altrove', chi: 'prova', perche: 'portale' })
  })
}

t.test('for an attempt around midnight, only its reply shows which receipt counts it', async (t) => {
  const late = `${DAY}T22:52:00Z`
  const w = await ledgerWithHistory(t, late)
  await w.exclusive()
  const replied = await w.sent({ at: late, seen: 'K' })
  await jobAt(w, '06:00')
  t.equal((await w.stateOf(replied)).stato, 'ricevuto')
  const w2 = await ledgerWithHistory(t, late)
  await w2.exclusive()
  const silent = await w2.sent({ at: late, seen: '?', taken: 2 })
  const beside = await w2.sent({ at: SENT, seen: '?', taken: 2 })
  await jobAt(w2, '06:00', '09:00')
  t.match(await w2.stateOf(silent), { stato: 'da_verificare', nota: /del 20\/11\/2026 o del 21\/11\/2026/ })
  t.match(await w2.stateOf(beside), { stato: 'da_verificare', nota: /un altro invio è a cavallo/ })
})

t.test('both receipts together confirm all guests of both days, even one sent around midnight', async (t) => {
  // The reply arrived after the delivery deadline, so it does not show the day.
  const late = { at: `${DAY}T22:52:00Z`, repliedAfter: 11 * 60, seen: 'K' as const }
  const w = await ledgerWithHistory(t, SENT)
  const before = await w.sent({ at: SENT, seen: 'K', nights: 4 })
  const between = await w.sent({ ...late, taken: 0 })
  const after = await w.sent({ at: `${NEXT}T17:00:00Z`, seen: 'K', nights: 2 })
  await w.acquired(`${NEXT}T17:00:00Z`, 2, 3)
  await jobAt(w, '06:00')
  t.equal((await w.stateOf(between)).stato, 'acquisito', 'the second receipt is missing')
  t.same(await differing(w), [], 'a day that waits for a receipt is no discrepancy')
  w.clock.set('2026-11-22T06:00:00+01:00')
  await reconcileDays(w.context, w.archive)
  for (const id of [before, between, after]) t.equal((await w.stateOf(id)).stato, 'ricevuto')
  t.same(await differing(w), [])
  t.same(w.errors(), [])
})

t.test('guests sent around midnight who are on neither receipt raise an alarm, and are a discrepancy', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  await w.sent({ at: SENT, seen: 'K' })
  const late = await w.sent({ at: `${DAY}T22:52:00Z`, repliedAfter: 11 * 60, seen: 'K', taken: 0 })
  await w.sent({ at: `${NEXT}T17:00:00Z`, seen: 'K' })
  w.clock.set('2026-11-22T06:00:00+01:00')
  await reconcileDays(w.context, w.archive)
  t.equal((await w.stateOf(late)).stato, 'da_verificare')
  t.match(w.errors(), [{ msg: /fewer schedine than/ }])
  t.same(await differing(w), [{ giorno: NEXT, inviate: 4, in_ricevuta: 2 }])
})

function differing ({ db }: LedgerWithHistory) {
  return findDiscrepancies(db, 'sandbox', { from: DAY, to: NEXT })
}

t.test('a receipt that counts fewer guests than the replies is reported once, and a decision is final', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  const id = await w.sent({ at: SENT, seen: 'K', taken: 1 })
  await jobAt(w, '06:00')
  t.match(await w.stateOf(id), {
    stato: 'da_verificare',
    nota: /\(schedine 1, notti 3\) non corrisponde agli invii noti \(schedine 2, notti 6\)/,
    rows: 'acquisita acquisita'
  })
  const alarms = w.errors().length
  t.match(w.errors(), [
    { msg: /fewer schedine than/, giorno: DAY, invio: id },
    { msg: /fewer schedine than/, giorno: DAY }
  ])
  await w.db.transaction((tx) =>
    move(tx, id, { da: 'da_verificare', a: 'acquisito', chi: 'admin', perche: 'visto sul portale' })
  )
  await jobAt(w, '09:00', '10:00')
  t.equal((await w.stateOf(id)).stato, 'acquisito')
  t.equal(w.errors().length, alarms)
})

t.test('a submission that waits for a resend is stopped when the receipt counts its first call', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  await w.exclusive()
  const id = await waitingForResend(w, 2)
  await jobAt(w, '06:00')
  t.match(await w.stateOf(id), { stato: 'ricevuto', rows: 'acquisita acquisita' })
  t.test('a submission that was already resent raises an alarm about a possible duplicate', async (t) => {
    const w = await ledgerWithHistory(t, SENT)
    await w.exclusive()
    const id = await waitingForResend(w, 2)
    await w.call(id, { at: `${NEXT}T04:00:00Z`, seen: 'K' })
    await jobAt(w, '06:00')
    t.match(await w.stateOf(id), {
      stato: 'ricevuto',
      outcomes: ['1? risposta 0/0', '2K risposta 2/6', '1K ricevuta 2/6']
    })
    t.match(w.errors(), [{ msg: /possible duplicate/, invio: id }])
  })
})

/** A submission whose reply was lost, and which an administrator decided to send again. */
async function waitingForResend (w: LedgerWithHistory, taken: number): Promise<number> {
  const id = await w.sent({ at: SENT, seen: '?', taken })
  await w.db.transaction(async (tx) => {
    await move(tx, id, { da: 'sconosciuto', a: 'da_verificare', chi: 'admin', perche: 'in carico' })
    const [submission] = await tx.select({ versione: invii.versione }).from(invii).where(eq(invii.id, id))
    await tx
      .insert(invii_decisioni)
      .values({
        invio_id: id,
        versione: submission!.versione,
        decisione: 'reinvia',
        chi: 'admin',
        motivo: 'rischio accettato'
      })
    await move(tx, id, { da: 'da_verificare', a: 'pronto', chi: 'admin', perche: 'reinvia' })
    await moveRows(tx, id, 'in_corso', 'sconosciuta')
  })
  return id
}

t.test('concurrent processes reconcile a day once', async (t) => {
  const w = await ledgerWithHistory(t, SENT)
  await w.exclusive()
  const ids = [
    await w.sent({ at: SENT, seen: '?', taken: 2 }),
    await w.sent({ at: SENT, seen: '?', taken: 2, nights: 5 }),
    await w.sent({ at: SENT, seen: 'K' })
  ]
  w.clock.set(`${NEXT}T06:00:00+01:00`)
  await w.archive.fetchReceipt(DAY)
  await Promise.all(Array.from({ length: 4 }, () => reconcileDay(w.context, { account: w.account, day: DAY })))
  for (const id of ids) {
    const path = await transitions(w, id)
    t.equal((await w.stateOf(id)).stato, 'ricevuto')
    t.equal(new Set(path).size, path.length, 'no state occurs twice')
  }
  t.same(w.errors(), [])
})

t.test('without credentials, or with another account, stored receipts are still reconciled', async (t) => {
  for (const account of [null, 'sandbox:altro']) {
    const w = await ledgerWithHistory(t, SENT)
    const known = await w.sent({ at: SENT, seen: 'K' })
    const unknown = await w.sent({ at: '2026-11-19T17:00:00Z', seen: '?' })
    w.clock.set(`${NEXT}T07:00:00+01:00`)
    await w.archive.fetchReceipt(DAY)
    w.clock.set(`${NEXT}T13:00:00+01:00`)
    await reconcileDays(w.context, ...account === null ? [] : [{ ...w.archive, account }])
    t.equal((await w.stateOf(known)).stato, 'ricevuto')
    t.match(await w.stateOf(unknown), { stato: 'da_verificare', nota: /manca/ })
    t.equal(await countFetches(w), 1, 'no receipt is requested')
  }
})

t.test('a day that cannot be reconciled does not stop the others', async (t) => {
  const w = await ledgerWithHistory(t, `${NEXT}T17:00:00Z`)
  const first = await w.sent({ at: SENT, seen: 'K' })
  const second = await w.sent({ at: `${NEXT}T17:00:00Z`, seen: 'K' })
  await w.db.execute(sql`create function keep () returns trigger language plpgsql as $$ begin return null; end $$`)
  await w.db.execute(
    sql.raw(
      `create trigger keep before update on invii for each row when (old.id = ${first}) execute function keep()`
    )
  )
  w.clock.set('2026-11-22T08:00:00Z')
  await reconcileDays(w.context, w.archive)
  t.equal((await w.stateOf(first)).stato, 'acquisito')
  t.equal((await w.stateOf(second)).stato, 'ricevuto')
  t.match(w.errors(), [{ msg: 'a day could not be reconciled', giorno: DAY }])
})

t.test(
  'a run asks an unreachable service only once, and still reconciles every day',
  async (t) => {
    const w = await ledgerWithHistory(t, SENT)
    const id = await w.sent({ at: SENT, seen: '?' })
    await w.sent({ at: '2026-11-19T17:00:00Z', seen: '?' })
    const asked: string[] = []
    const failing = {
      ...w.archive,
      fetchReceipt: async (day: string) => {
        asked.push(day)
        throw new SoapTransportError('refused', { sent: false })
      }
    }
    w.clock.set(`${NEXT}T12:00:00+01:00`)
    await reconcileDays(w.context, failing)
    t.same(asked, ['2026-11-19'])
    t.equal((await w.stateOf(id)).stato, 'da_verificare')
  }
)

t.test('a day is unproven while an attempt has an unknown outcome, or is acquired without a receipt', async (t) => {
  const w = await ledgerWithHistory(t, '2026-12-20T10:00:00Z')
  await w.sent({ at: '2026-11-19T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-12-01T17:00:00Z', seen: 'K' })
  await w.sent({ at: '2026-12-02T17:00:00Z', seen: 'N' })
  await w.sent({ at: '2026-12-04T22:55:00Z', seen: '?' })
  await w.sent({ at: '2026-12-19T22:55:00Z', seen: 'K' })
  await w.sent({ at: '2026-12-20T08:00:00Z', seen: '?' })
  const days = await unprovenDays(w.db, 'sandbox', { from: '2026-11-20', to: '2026-12-19' })
  t.same(days.map(({ day, hasReceipt, hasUncertain }) => ({ day, hasReceipt, hasUncertain })), [
    { day: '2026-11-20', hasReceipt: false, hasUncertain: true },
    { day: '2026-12-01', hasReceipt: false, hasUncertain: false },
    { day: '2026-12-04', hasReceipt: false, hasUncertain: true },
    { day: '2026-12-05', hasReceipt: false, hasUncertain: true },
    { day: '2026-12-19', hasReceipt: false, hasUncertain: false }
  ])
})
