import t from 'tap'
import { addDays, dayInRome, instantInRome } from '#src/lib/time.ts'
import { arrivalWindowOpen, filingDeadline } from '#src/alloggiati/deadlines.ts'

const MINUTE = 60_000
/**
 * The days on which the clocks of Rome change, the instant of the change, and the hours of difference to UTC before and
 * after.
 */
const CHANGES = [
  { day: '2026-03-29', at: Date.parse('2026-03-29T01:00:00Z'), before: 1, after: 2 },
  { day: '2026-10-25', at: Date.parse('2026-10-25T01:00:00Z'), before: 2, after: 1 }
]

/** Every minute of a day of change, with what the clocks of Rome show, worked out from the change alone. */
function minutesOf ({ day, at, before, after }: typeof CHANGES[number]) {
  const start = Date.parse(`${day}T00:00:00Z`) - before * 60 * MINUTE
  const end = Date.parse(`${addDays(day, 1)}T00:00:00Z`) - after * 60 * MINUTE
  return Array.from({ length: (end - start) / MINUTE }, (_, n) => {
    const instant = start + n * MINUTE
    const wall = new Date(instant + (instant < at ? before : after) * 60 * MINUTE)
    return { instant, hour: wall.getUTCHours(), minute: wall.getUTCMinutes() }
  })
}

for (const change of CHANGES) {
  t.test(`every minute of ${change.day} is that day in Rome, and its hour leads back to it`, async (t) => {
    const minutes = minutesOf(change)
    t.equal(minutes.length, change.after > change.before ? 23 * 60 : 25 * 60)
    const wrong = minutes.filter(({ instant, hour, minute }) => {
      const first = minutes.find((each) => each.hour === hour && each.minute === minute)!.instant
      return dayInRome(new Date(instant)) !== change.day || instantInRome(change.day, hour, minute).getTime() !== first
    })
    t.same(wrong, [])
    t.not(dayInRome(new Date(minutes[0]!.instant - 1)), change.day)
    t.not(dayInRome(new Date(minutes.at(-1)!.instant + MINUTE)), change.day)
  })

  t.test(
    `at every minute of ${change.day} the arrivals of that day and of the one before can be sent, and no others`,
    async (t) => {
      const arrivals = [-2, -1, 0, 1].map((days) => addDays(change.day, days))
      for (const { instant } of minutesOf(change)) {
        const open = arrivals.filter((arrival) => arrivalWindowOpen(arrival, dayInRome(new Date(instant))))
        if (open.join() !== arrivals.slice(1, 3).join()) t.fail(`${new Date(instant).toISOString()}: ${open}`)
      }
      t.pass()
    }
  )
}

t.test('an hour that the clocks skip is read as if they had not been moved yet', async (t) => {
  t.equal(instantInRome('2026-03-29', 2, 30).toISOString(), '2026-03-29T01:30:00.000Z')
})

t.test(
  'an arrival is due 24 real hours after two in the afternoon, 6 for one night, also when the clocks change',
  async (t) => {
    t.equal(filingDeadline('2026-11-21', 3).toISOString(), '2026-11-22T13:00:00.000Z')
    t.equal(filingDeadline('2026-11-21', 1).toISOString(), '2026-11-21T19:00:00.000Z')
    t.equal(filingDeadline('2026-03-28', 2).toISOString(), '2026-03-29T13:00:00.000Z')
    t.equal(filingDeadline('2026-10-24', 2).toISOString(), '2026-10-25T12:00:00.000Z')
    t.equal(filingDeadline('2026-07-01', 1).toISOString(), '2026-07-01T18:00:00.000Z')
  }
)
