import t from 'tap'
import { daysWithoutReceipt, unprovenDays } from '#src/alloggiati/receipts/days.ts'
import { ledgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'

t.test('a day is unproven when an attempt of it is unknown, or was acquired and is on no receipt yet', async (t) => {
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

t.test('a day lacks a receipt only when guests were acquired by a dispatch on that very day', async (t) => {
  const w = await ledgerWithHistory(t, '2026-12-20T10:00:00Z')
  // The delivery may have lasted until after midnight, but nothing was dispatched on the fifth.
  await w.sent({ at: '2026-12-04T22:55:00Z', seen: 'K' })
  await w.sent({ at: '2026-12-10T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-12-19T17:00:00Z', seen: 'K' })
  const missing = async () =>
    (await daysWithoutReceipt(w.db, 'sandbox', '2026-12-01', w.clock.today())).map(({ day }) => day)
  t.same(await missing(), ['2026-12-04', '2026-12-19'])
  await w.archive.fetchReceipt('2026-12-04')
  t.same(await missing(), ['2026-12-19'])
})
