import { addDays, instantInRome, type Day } from '#src/lib/time.ts'

const MS_PER_HOUR = 3_600_000

/** The assumed arrival hour, because a booking stores only the day. */
const ARRIVAL_HOUR = 14

/** The legal deadline: 24 hours after the arrival, or 6 for stays of up to 24 hours (art. 109 TULPS, DM 16/9/2021). */
export function filingDeadline (arrival: Day, nights: number): Date {
  return new Date(instantInRome(arrival, ARRIVAL_HOUR).getTime() + (nights <= 1 ? 6 : 24) * MS_PER_HOUR)
}

/** Whether the service still accepts schedine of an arrival: only if it is today or yesterday in Rome. */
export function arrivalWindowOpen (arrival: Day, today: Day): boolean {
  return arrival === today || arrival === addDays(today, -1)
}
