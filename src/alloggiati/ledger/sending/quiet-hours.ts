import { addDays, dayInRome, instantInRome, type Day } from '#src/lib/time.ts'

/**
 * Whether nothing is dispatched: from 23:58 to 00:02 in Rome, because it could count on either of two days, and no
 * receipt alone would tell. An arrival of the day before goes all the same: the service takes it until midnight alone.
 */
export function isQuiet (now: Date, arrival?: Day): boolean {
  const today = dayInRome(now)
  if (now >= instantInRome(today, 23, 58)) return arrival !== addDays(today, -1)
  return now < instantInRome(today, 0, 2)
}
