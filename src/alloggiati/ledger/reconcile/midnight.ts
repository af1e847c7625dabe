import type { Day } from '#src/lib/time.ts'
import {
  type AccountDay, type Counts, type DayAttempt, areEqual, isNegative, isZero, subtract, sum
} from './account-day.ts'
import { readFetches } from './fetches.ts'

/*
 * A call around midnight that was acquired is on the receipt of one of two days. The receipts of both say together
 * which one, so these days are balanced together.
 */

/** What was acquired around midnight, and the days whose receipt may count it. */
interface Straddler extends Counts { giorno_da: Day, giorno_a: Day }

/** More are not tried out together: 2^16 are tried in milliseconds. */
const MAX_STRADDLERS = 16

/**
 * The day on whose receipt each call around midnight counts; undefined where the receipts do not say it.
 * @param rests what the receipt of a day counts beside the calls of that day alone. A day without an entry proves
 * nothing: it has no receipt yet, or an uncertain call.
 */
export function placeAroundMidnight (
  rests: ReadonlyMap<Day, Counts>, straddlers: readonly Straddler[]
): (Day | undefined)[] {
  const placed = straddlers.map((): Day | undefined => undefined)
  const days = [...rests.keys()].sort()
  const indices = straddlers.map((_, at) => at)
  /** What a receipt counts beside everything that is placed on it. */
  const leftOn = (day: Day) => subtract(rests.get(day)!, sum(straddlers.filter((_, at) => placed[at] === day)))
  for (let isNew = true; isNew;) {
    isNew = false
    for (const day of days) {
      const open = indices.filter((at) => placed[at] === undefined && daysOf(straddlers[at]!).includes(day))
      if (open.length === 0) continue
      const left = leftOn(day)
      // The receipt counts none of them, or all: this is certain whatever the other receipt says.
      if (isZero(left)) for (const at of open) placed[at] = otherDay(straddlers[at]!, day)
      else if (areEqual(left, sum(open.map((at) => straddlers[at]!)))) for (const at of open) placed[at] = day
      else continue
      isNew = true
    }
  }
  for (const tied of tiedTogether(indices.filter((at) => placed[at] === undefined), straddlers)) {
    const span = [...new Set(tied.flatMap((at) => daysOf(straddlers[at]!)))]
    if (tied.length > MAX_STRADDLERS || !span.every((day) => rests.has(day))) continue
    const found = findPlaces(tied.map((at) => straddlers[at]!), new Map(span.map((day) => [day, leftOn(day)])))
    tied.forEach((at, place) => { placed[at] = found?.[place] })
  }
  return placed
}

function daysOf ({ giorno_da, giorno_a }: Straddler): [Day, Day] {
  return [giorno_da, giorno_a]
}

function otherDay ({ giorno_da, giorno_a }: Straddler, day: Day): Day {
  return day === giorno_da ? giorno_a : giorno_da
}

/** Groups of those that share days, directly or through others. */
function tiedTogether (indices: readonly number[], straddlers: readonly Straddler[]): number[][] {
  const groups: { days: Set<Day>, members: number[] }[] = []
  for (const at of indices) {
    const days = daysOf(straddlers[at]!)
    const touched = groups.filter((group) => days.some((day) => group.days.has(day)))
    for (const group of touched) groups.splice(groups.indexOf(group), 1)
    groups.push({
      days: new Set([...touched.flatMap((group) => [...group.days]), ...days]),
      members: [...touched.flatMap(({ members }) => members), at].sort((a, b) => a - b)
    })
  }
  return groups.map(({ members }) => members)
}

/** One way to place all of them so that every receipt adds up: which one does not matter, all were acquired. */
function findPlaces (straddlers: readonly Straddler[], left: ReadonlyMap<Day, Counts>): Day[] | undefined {
  const [first, ...others] = straddlers
  if (first === undefined) return [...left.values()].every(isZero) ? [] : undefined
  for (const day of daysOf(first)) {
    const rest = subtract(left.get(day)!, first)
    if (isNegative(rest)) continue
    const found = findPlaces(others, new Map([...left, [day, rest]]))
    if (found) return [day, ...found]
  }
  return undefined
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
