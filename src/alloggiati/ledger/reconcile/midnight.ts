import type { Day } from '#src/lib/time.ts'
import { type AccountDay, type Counts, type DayAttempt, areEqual, isZero, subtract, sum } from './account-day.ts'
import { readFetches } from './fetches.ts'

/*
 * A call acquired around midnight is on the receipt of one of two days. One receipt may not show which day, so the two
 * days are compared together.
 */

/** The counts of a call acquired around midnight, and the two days whose receipt may include them. */
interface Straddler extends Counts { giorno_da: Day, giorno_a: Day }

/**
 * Assigns each call around midnight to the day whose receipt counts it. Undefined while the receipts do not decide it.
 * A receipt decides when it counts all of the calls that are not assigned yet, or none.
 * @param rests for each day, the counts of its receipt minus the calls certainly on it. A day with no receipt yet, or
 * with an uncertain call, has no entry.
 */
export function placeAroundMidnight (
  rests: ReadonlyMap<Day, Counts>, straddlers: readonly Straddler[]
): (Day | undefined)[] {
  const placed = straddlers.map((): Day | undefined => undefined)
  const days = [...rests.keys()].sort()
  const indices = straddlers.map((_, at) => at)
  for (let hasProgress = true; hasProgress;) {
    hasProgress = false
    for (const day of days) {
      const open = indices.filter((at) => placed[at] === undefined && otherDay(straddlers[at]!, day) !== undefined)
      if (open.length === 0) continue
      const left = subtract(rests.get(day)!, sum(straddlers.filter((_, at) => placed[at] === day)))
      // If the receipt counts none or all of these calls, the result is certain without the other receipt.
      if (isZero(left)) for (const at of open) placed[at] = otherDay(straddlers[at]!, day)
      else if (areEqual(left, sum(open.map((at) => straddlers[at]!)))) for (const at of open) placed[at] = day
      else continue
      hasProgress = true
    }
  }
  return placed
}

/** The other day to which the call may belong. Undefined if the call cannot belong to `day`. */
function otherDay ({ giorno_da, giorno_a }: Straddler, day: Day): Day | undefined {
  return day === giorno_da ? giorno_a : day === giorno_a ? giorno_da : undefined
}

/** Whether a reply or a receipt proves the attempt acquired, on either of two days. */
export function isStraddler ({ esito, isDecided, giorno_da, giorno_a }: DayAttempt): boolean {
  return esito === 'K' && !isDecided && giorno_da !== giorno_a
}

/**
 * Assigns the calls around midnight to this day or the other, if the receipts of all tied days (`all`) settle it. Other
 * calls are returned unchanged.
 */
export function withoutMidnight (accountDay: AccountDay, all: readonly AccountDay[]): AccountDay {
  const { day, attempts, submissions } = accountDay
  const straddlers = [...new Set(all.flatMap((each) => each.attempts.filter(isStraddler)))]
  if (straddlers.length === 0) return accountDay
  const assignedDays = placeAroundMidnight(new Map(all.flatMap((each) => {
    const rest = restOf(each)
    return rest === undefined ? [] : [[each.day, rest] as const]
  })), straddlers)
  const assignedDayOf = (attempt: DayAttempt) => assignedDays[straddlers.indexOf(attempt)]
  const isElsewhere = (attempt: DayAttempt) => ![undefined, day].includes(assignedDayOf(attempt))
  return {
    ...accountDay,
    attempts: attempts.filter((attempt) => !isElsewhere(attempt)).map((attempt) =>
      assignedDayOf(attempt) === day ? { ...attempt, giorno_da: day, giorno_a: day } : attempt
    ),
    submissions: submissions.map((submission) => ({
      ...submission,
      otherOutcomes: [
        ...submission.otherOutcomes,
        ...attempts.filter((one) => one.invio_id === submission.id && isElsewhere(one)).map(({ esito }) => esito)
      ]
    }))
  }
}

/** The receipt's counts minus the calls certainly acquired on that day. Undefined if one of them is uncertain. */
function restOf ({ day, attempts, fetches }: AccountDay): Counts | undefined {
  const receipt = readFetches(day, fetches)
  const isUncertain = attempts.some(({ esito, isDecided }) => esito === '?' || isDecided)
  if (receipt === undefined || receipt.hasChanged || isUncertain) return undefined
  return subtract(receipt.counts, sum(attempts.filter((one) => one.esito === 'K' && !isStraddler(one))))
}
