import { dayInRome, instantInRome, type Clock } from '#src/lib/time.ts'

const started = Date.now()

/**
 * The tests' clock: a test process starts at noon in Rome, and time continues from there. So no test runs around
 * midnight, when the ledger does not send.
 * @param today the day, by default the real one
 */
export function testClock (today = dayInRome(new Date(started))): Clock {
  const noon = instantInRome(today, 12).getTime()
  const now = () => new Date(noon + Date.now() - started)
  return { now, today: () => dayInRome(now()) }
}
