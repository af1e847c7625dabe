import t from 'tap'
import type { Look } from '#src/alloggiati/ledger/reconcile/day.ts'
import { isDue, openDays } from '#src/alloggiati/ledger/reconcile/job.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { DAY, look } from './reconcile-samples.ts'
import { world } from './reconcile-world.ts'

t.test('a receipt is asked for when the answer can prove something', async (t) => {
  const none = look('06:00', null, null)
  const seen = look('06:00', 2, 6)
  const due = (rome: string, looks: Look[], state: { kept?: boolean, open?: boolean } = {}) =>
    isDue({ giorno: DAY, kept: false, open: true, ...state }, looks, clockAt(`${rome}:00+01:00`))
  t.notOk(due('2026-11-21T05:59', []), 'not before it is complete')
  t.ok(due('2026-11-21T06:00', [look('00:30', 2, 6)], { kept: true }), 'what was seen before does not count')
  t.notOk(due('2026-11-21T07:59', [none]))
  t.ok(due('2026-11-21T08:00', [none]), 'every two hours')
  t.ok(due('2026-11-22T23:00', [none], { open: false }), 'for two days')
  t.notOk(due('2026-11-23T06:00', [none]), 'then the nightly job asks')
  t.ok(due('2026-11-21T08:00', [seen], { kept: true }), 'a second time where something is unknown')
  t.notOk(due('2026-11-21T08:00', [seen], { kept: true, open: false }))
  t.notOk(due('2026-11-21T12:00', [seen, look('08:00', 2, 6)], { kept: true }), 'never a third time')
  t.ok(due('2026-11-21T12:00', [look('06:00', 2, null, true), look('07:00', 2, null, true)], { kept: true }))
  t.notOk(
    due('2026-11-21T12:00', [look('06:00', 2, null, true), look('08:00', 2, null, true)], { kept: true }),
    'an unreadable one stays unreadable'
  )
  t.ok(due('2026-11-30T12:00', [], { kept: true }), 'an old one that was fetched by somebody else, too')
})

t.test('the days with something left to prove are those of the last thirty', async (t) => {
  const w = await world(t, '2026-12-20T10:00:00Z')
  await w.sent({ at: '2026-11-19T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-12-01T17:00:00Z', seen: 'K' })
  await w.sent({ at: '2026-12-02T17:00:00Z', seen: 'N' })
  await w.sent({ at: '2026-12-04T22:55:00Z', seen: '?' })
  await w.sent({ at: '2026-12-19T22:55:00Z', seen: 'K' })
  await w.sent({ at: '2026-12-20T08:00:00Z', seen: '?' })
  t.same(await openDays(w.context), [
    { giorno: '2026-11-20', kept: false, open: true },
    { giorno: '2026-12-01', kept: false, open: false },
    { giorno: '2026-12-04', kept: false, open: true },
    { giorno: '2026-12-05', kept: false, open: true },
    { giorno: '2026-12-19', kept: false, open: false }
  ])
})
