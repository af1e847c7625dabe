import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import t from 'tap'
import { ricevute, ricevute_letture } from '#drizzle/tables/alloggiati.ts'
import { reconcileDay } from '#src/alloggiati/ledger/reconcile/reconcile-day.ts'
import { receiptArchive } from '#src/alloggiati/receipts/archive.ts'
import { ledgerWithHistory, type LedgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'

const DAY = '2026-11-20'

async function kept ({ db }: LedgerWithHistory) {
  const { giorno, sha256, schedine, notti } = ricevute
  return db.select({ giorno, sha256, schedine, notti }).from(ricevute).orderBy(giorno)
}

async function fetches ({ db }: LedgerWithHistory) {
  return (await db.select().from(ricevute_letture).orderBy(ricevute_letture.id)).map(
    ({ giorno, letta_il, sha256, schedine, notti }) => ({
      giorno,
      letta_il: new Date(letta_il).toISOString(),
      available: sha256 !== null,
      schedine,
      notti
    })
  )
}

t.test('a receipt is fetched once and kept for good, with what it counts', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 3, 2)
  const pdf = await w.archive.getReceipt(DAY)
  const sha256 = createHash('sha256').update(pdf).digest('hex')
  t.same(await kept(w), [{ giorno: DAY, sha256, schedine: 3, notti: 6 }])
  t.same(await fetches(w), [
    { giorno: DAY, letta_il: '2026-11-21T10:00:00.000Z', available: true, schedine: 3, notti: 6 }
  ])
  w.clock.set('2027-06-01T10:00:00Z')
  t.ok((await w.archive.getReceipt(DAY)).equals(pdf), 'long after the service gives it no more')
  t.equal((await fetches(w)).length, 1)
})

t.test('a fetch that brings no receipt is written down, too', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await t.rejects(w.archive.getReceipt(DAY), { code: 'RICEVUTA_NON_TROVATA' })
  t.same(await w.archive.fetchReceipt(DAY), { pdf: undefined, differs: false })
  t.same(
    (await fetches(w)).map(({ available, schedine }) => ({ available, schedine })),
    [
      { available: false, schedine: null },
      { available: false, schedine: null }
    ]
  )
  t.same(await kept(w), [])
})

t.test('the service is not asked for today, for the future, or for days that it gives no more', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  for (const day of ['2026-11-21', '2026-11-22', '2026-10-21']) {
    await t.rejects(w.archive.getReceipt(day), { code: 'RICEVUTA_NON_TROVATA' })
  }
  t.same(await fetches(w), [])
})

t.test('a later fetch with other totals is reported and written down, and never replaces the copy', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 3, 2)
  const first = await w.archive.fetchReceipt(DAY)
  t.equal(first.differs, false)
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  t.equal((await w.archive.fetchReceipt(DAY)).differs, true)
  t.match(await kept(w), [{ schedine: 3, notti: 6 }])
  t.match(await fetches(w), [{ schedine: 3 }, { schedine: 4 }])
  t.ok((await w.archive.getReceipt(DAY)).equals(first.pdf!))
  await t.rejects(w.db.execute(sql`update ricevute set schedine = 4`), { cause: { code: 'LC003' } })
  await t.rejects(w.db.execute(sql`delete from ricevute_letture`), { cause: { code: 'LC003' } })
})

t.test('the nightly job fetches the missing receipts of the last thirty days', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T05:30:00Z')
  for (const day of ['2026-10-21', '2026-10-22', DAY, '2026-11-21']) await w.acquired(`${day}T10:00:00Z`, 1, 1)
  await w.archive.fetchMissing()
  t.same((await kept(w)).map(({ giorno }) => giorno), ['2026-10-22', DAY])
  t.equal((await fetches(w)).length, 30)
  await w.archive.fetchMissing()
  t.equal((await fetches(w)).length, 58, 'it does not fetch what is kept')
})

t.test('without credentials the nightly job does nothing, and a receipt that is not kept is an error', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  const archive = receiptArchive({ db: w.db, service: null, mode: 'sandbox', clock: w.clock })
  await archive.fetchMissing()
  await t.rejects(archive.getReceipt(DAY), { code: 'CREDENZIALI_MANCANTI' })
  t.same(await fetches(w), [])
})

t.test('a copy from before two in the morning is replaced by the next one, and no later copy is', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T23:30:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  await w.archive.getReceipt(DAY)
  await w.acquired(`${DAY}T22:59:00Z`, 1, 2)
  w.clock.set('2026-11-21T05:30:00Z')
  await w.archive.getReceipt(DAY)
  t.match(await kept(w), [{ schedine: 2, notti: 4 }])
  await w.acquired(`${DAY}T22:59:00Z`, 1, 2)
  w.clock.set('2026-11-21T09:00:00Z')
  t.equal((await w.archive.fetchReceipt(DAY)).differs, true)
  await w.archive.getReceipt(DAY)
  t.match(await kept(w), [{ schedine: 2, notti: 4 }])
})

t.test('the nightly job looks again at a day that was looked at before six', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T03:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  await w.archive.getReceipt(DAY)
  const looks = async () => (await fetches(w)).filter(({ giorno }) => giorno === DAY).length
  w.clock.set('2026-11-21T05:30:00Z')
  await w.archive.fetchMissing()
  t.equal(await looks(), 2)
  await w.archive.fetchMissing()
  t.equal(await looks(), 2, 'and then no more')
})

t.test('a kept receipt of which the totals were not read is read again, and proves its day then', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  const id = await w.sent({ at: `${DAY}T17:00:00Z`, seen: 'K' })
  await w.archive.fetchReceipt(DAY)
  // As a reader that did not know this PDF would have left it.
  for (const table of ['ricevute', 'ricevute_letture']) {
    await w.db.execute(sql.raw(`alter table ${table} disable trigger user`))
    await w.db.execute(sql.raw(`update ${table} set schedine = null, notti = null`))
    await w.db.execute(sql.raw(`alter table ${table} enable trigger user`))
  }
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stands(id)).stato, 'acquisito')
  await Promise.all([w.archive.readAgain(), w.archive.readAgain()])
  t.match(await kept(w), [{ schedine: 2, notti: 6 }])
  t.equal((await fetches(w)).length, 2, 'once, and with the time of the copy')
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stands(id)).stato, 'ricevuto')
})
