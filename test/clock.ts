import { dayInRome, instantInRome, type Clock } from '#src/lib/time.ts'

const started = Date.now()

/**
 * The clock of the tests: a test process begins at noon in Rome and time runs on from there, so no test meets midnight,
 * around which the ledger does not send.
 * @param today the day, by default the real one
 */
export function testClock (today = dayInRome(new Date(started))): Clock {
  const noon = instantInRome(today, 12).getTime()
  const now = () => new Date(noon + Date.now() - started)
  return { now, today: () => dayInRome(now()) }
}
