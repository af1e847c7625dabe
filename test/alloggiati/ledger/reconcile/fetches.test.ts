import t from 'tap'
import type { ReceiptFetch } from '#src/alloggiati/ledger/reconcile/day.ts'
import { isFetchDue } from '#src/alloggiati/ledger/reconcile/fetches.ts'
import type { AttemptDay } from '#src/alloggiati/receipts/days.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { DAY, fetched } from './samples.ts'

t.test('a receipt is fetched when the fetch can prove something', async (t) => {
  const none = fetched('06:00', null, null)
  const seen = fetched('06:00', 2, 6)
  const ofDay = { account: 'RM000001', day: DAY, hasReceipt: false, hasUncertain: true }
  const due = (rome: string, fetches: ReceiptFetch[], changes: Partial<AttemptDay> = {}) =>
    isFetchDue({ ...ofDay, ...changes }, fetches, clockAt(`${rome}:00+01:00`))
  t.notOk(due('2026-11-21T05:59', []), 'not before the receipt is complete')
  t.ok(due('2026-11-21T06:00', [fetched('00:30', 2, 6)], { hasReceipt: true }), 'an earlier fetch does not count')
  t.notOk(due('2026-11-21T07:59', [none]))
  t.ok(due('2026-11-21T08:00', [none]), 'every two hours')
  t.ok(due('2026-11-22T23:00', [none], { hasUncertain: false }), 'for two days')
  t.notOk(due('2026-11-23T06:00', [none]), 'then the nightly job asks')
  t.ok(due('2026-11-21T08:00', [seen], { hasReceipt: true }), 'a second time where something is unknown')
  t.notOk(due('2026-11-21T08:00', [seen], { hasReceipt: true, hasUncertain: false }))
  t.notOk(due('2026-11-21T12:00', [seen, fetched('08:00', 2, 6)], { hasReceipt: true }), 'never a third time')
  t.ok(
    due('2026-11-21T06:00', [fetched('00:30', 2, 6)], { hasReceipt: true, hasUncertain: false }),
    'a day that was looked at too early is looked at again, also where everything is known'
  )
  const unreadable = (...hours: string[]) => hours.map((hour) => fetched(hour, 2, null, true))
  t.ok(due('2026-11-21T12:00', unreadable('06:00', '07:00'), { hasReceipt: true }))
  t.notOk(
    due('2026-11-21T12:00', unreadable('06:00', '08:00'), { hasReceipt: true }),
    'a receipt that cannot be read stays so'
  )
  t.ok(due('2026-11-30T12:00', [], { hasReceipt: true }), 'also an old one, of which the nightly job has kept a copy')
})
