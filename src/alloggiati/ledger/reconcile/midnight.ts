import type { Day } from '#src/lib/time.ts'
import { type AccountDay, type Counts, type DayAttempt, areEqual, isZero, subtract, sum } from './account-day.ts'
import { readFetches } from './fetches.ts'

/*
 * A call around midnight that was acquired is on the receipt of one of two days. The receipts of both say together
 * which one, so these days are balanced together.
 */

/** What was acquired around midnight, and the days whose receipt may count it. */
interface Straddler extends Counts { giorno_da: Day, giorno_a: Day }

/**
 * The day on whose receipt each call around midnight counts; undefined where the receipts do not say it. A receipt says
 * it when it counts all of them, or none.
 * @param rests what the receipt of a day counts beside the calls of that day alone. A day without an entry proves
 * nothing: it has no receipt yet, or an uncertain call.
 */
export function placeAroundMidnight (
  rests: ReadonlyMap<Day, Counts>, straddlers: readonly Straddler[]
): (Day | undefined)[] {
  const placed = straddlers.map((): Day | undefined => undefined)
  const days = [...rests.keys()].sort()
  const indices = straddlers.map((_, at) => at)
  for (let isNew = true; isNew;) {
    isNew = false
    for (const day of days) {
      const open = indices.filter((at) => placed[at] === undefined && otherDay(straddlers[at]!, day) !== undefined)
      if (open.length === 0) continue
      const left = subtract(rests.get(day)!, sum(straddlers.filter((_, at) => placed[at] === day)))
      // The receipt counts none of them, or all: this is certain whatever the other receipt says.
      if (isZero(left)) for (const at of open) placed[at] = otherDay(straddlers[at]!, day)
      else if (areEqual(left, sum(open.map((at) => straddlers[at]!)))) for (const at of open) placed[at] = day
      else continue
      isNew = true
    }
  }
  return placed
}

/** The day beside which a call may count; undefined where it cannot count on the given one. */
function otherDay ({ giorno_da, giorno_a }: Straddler, day: Day): Day | undefined {
  return day === giorno_da ? giorno_a : day === giorno_a ? giorno_da : undefined
}

/** Whether an attempt was acquired, by a reply or a receipt, on one of two days. */
export function isStraddler ({ esito, isDecided, giorno_da, giorno_a }: DayAttempt): boolean {
  return esito === 'K' && !isDecided && giorno_da !== giorno_a
}

/**
 * The day of `all`, tied together by calls around midnight, with each of these calls where the receipts say that it
 * counts. What they do not say stays as it is.
 */
export function withoutMidnight (accountDay: AccountDay, all: readonly AccountDay[]): AccountDay {
  const { day, attempts, submissions } = accountDay
  const straddlers = [...new Set(all.flatMap((each) => each.attempts.filter(isStraddler)))]
  if (straddlers.length === 0) return accountDay
  const places = placeAroundMidnight(new Map(all.flatMap((each) => {
    const rest = restOf(each)
    return rest === undefined ? [] : [[each.day, rest] as const]
  })), straddlers)
  const placeOf = (attempt: DayAttempt) => places[straddlers.indexOf(attempt)]
  const isElsewhere = (attempt: DayAttempt) => ![undefined, day].includes(placeOf(attempt))
  return {
    ...accountDay,
    attempts: attempts.filter((attempt) => !isElsewhere(attempt)).map((attempt) =>
      placeOf(attempt) === day ? { ...attempt, giorno_da: day, giorno_a: day } : attempt
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

/** What the receipt of a day counts beside the calls that were acquired on it; undefined where it proves nothing. */
function restOf ({ day, attempts, fetches }: AccountDay): Counts | undefined {
  const receipt = readFetches(day, fetches)
  const isUncertain = attempts.some(({ esito, isDecided }) => esito === '?' || isDecided)
  if (receipt === undefined || receipt.hasChanged || isUncertain) return undefined
  return subtract(receipt.counts, sum(attempts.filter((one) => one.esito === 'K' && !isStraddler(one))))
}
