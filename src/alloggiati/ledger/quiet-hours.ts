import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'

/**
 * Around midnight in Rome nothing is dispatched: it could count on either of two days, and no receipt alone would tell.
 * From 23:58 to 00:02. What the service takes until midnight alone, an arrival of the day before, goes all the same.
 * @returns when the quiet hours end, if `now` is in them
 */
export function quietUntil (now: Date, arrival: Day): Date | undefined {
  const day = dayInRome(now)
  const tomorrow = addDays(day, 1)
  if (now >= instantInRome(day, 23, 58)) return arrival < day ? undefined : instantInRome(tomorrow, 0, 2)
  const end = instantInRome(day, 0, 2)
  return now < end ? end : undefined
}
