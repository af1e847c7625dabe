import { calendarSpan } from '#src/bookings/calendar.ts'
import { changedStay, newStay } from '#src/bookings/stay.ts'
import { addDays, ageInYears, dayInRome, daysBetween, instantInRome, isDay } from '#src/lib/time.ts'
import { arrivalWindowOpen, filingDeadline } from '#src/alloggiati/deadlines.ts'

/* Prints the results of date functions in the time zone of the process. `lib.test.ts` runs it in distant time zones. */

const days = [
  '2026-03-28', '2026-03-29', '2026-10-24', '2026-10-25', '2024-02-28', '2026-12-31', '2011-12-30', '1895-06-15'
]
const instants = [
  '2026-03-29T00:30:00Z', '2026-03-29T22:30:00Z', '2026-10-25T23:30:00Z', '2026-12-31T23:00:00Z',
  '2026-06-30T21:59:59Z'
]

const responses = {
  days: days.map((day) => [
    addDays(day, 1),
    addDays(day, -1),
    addDays(day, 400),
    daysBetween('1970-01-01', day),
    isDay(day),
    ageInYears('1980-03-29', day)
  ]),
  // Every minute of the days on which the clocks change, and of the adjacent days.
  minutes: ['2026-03-28', '2026-10-24'].flatMap((first) =>
    Array.from({ length: 3 * 24 * 60 }, (_, minute) => {
      const day = dayInRome(new Date(Date.parse(`${first}T00:00:00Z`) + minute * 60_000))
      return [
        day,
        arrivalWindowOpen(addDays(first, 1), day),
        instantInRome(addDays(first, 1), Math.floor(minute / 60) % 24, minute % 60)
      ]
    })
  ),
  deadlines: days.map((day) => [filingDeadline(day, 1), filingDeadline(day, 2)]),
  rome: instants.map((instant) => dayInRome(new Date(instant))),
  stays: days.map((check_in) => newStay({ check_in, numero_notti: 2 })),
  changes: days.map((check_in) => changedStay({ check_in, check_out: addDays(check_in, 9) }, { numero_notti: 1 })),
  spans: instants.map((end) => calendarSpan({ start: '2026-03-29T00:00:00+01:00', end }))
}
process.stdout.write(JSON.stringify({ zone: Intl.DateTimeFormat().resolvedOptions().timeZone, responses }))
