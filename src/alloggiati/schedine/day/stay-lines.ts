import { staysWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { stayComparer } from '../../ledger/coverage.ts'
import type { StayDays } from '../../ledger/conflicts.ts'
import type { LedgerBase } from '../../ledger/ledger-context.ts'
import { arrivalsOf, departureOf, firstUndeclared, type ComparedStay } from '../../ledger/stay-nights.ts'
import { dueOn } from '../due-guests.ts'

/**
 * The guests of a booking who are due on one day, as a stay that begins on that day. `ospiti` contains only these
 * guests. `numero_ospiti` also counts guests who are not saved yet.
 */
export interface StayLine extends StayWithGuests {
  /** Each guest's place in the booking, and number of nights. */
  places: readonly number[]
  nights: readonly number[]
  /** All saved guests of the booking. */
  all: StayWithGuests['ospiti']
  /** The days of the booking. */
  whole: StayDays
}

/** The lines of a day: arriving bookings, guests who arrive separately, and undeclared nights of prolonged stays. */
export async function linesOf (
  { db, keys, mode, clock }: LedgerBase, day: Day, ids: readonly number[] | undefined
): Promise<StayLine[]> {
  const today = clock.today()
  const stays = await staysWithGuests(db, day, ids)
  const compareEach = stayComparer({ db, keys, mode, today })
  const lines = await compareEach(stays, (stay, compared) => lineOf(stay, compared, day, today))
  return lines.flat()
}

function lineOf (stay: StayWithGuests, compared: ComparedStay, day: Day, today: Day): StayLine[] {
  const due = dueOn(compared, day, today)
  const isArrival = stay.check_in === day
  const unsaved = isArrival ? 0 : unsavedOn(compared, day, today)
  if (!isArrival && due.places.length === 0 && unsaved === 0) return []
  const guests = due.places.map((place) => stay.ospiti[place]!)
  const { guests: arriving } = arrivalsOf(compared)[0]!
  return [{
    ...stay,
    check_in: day,
    numero_notti: Math.max(...due.nights.length === 0 ? [stay.numero_notti] : due.nights),
    numero_ospiti: isArrival ? arriving : Math.max(guests.length, unsaved),
    ospiti: guests,
    places: due.places,
    nights: due.nights,
    all: stay.ospiti,
    whole: { check_in: stay.check_in, check_out: departureOf(stay) }
  }]
}

/** Counts the unsaved guests whose nights from `day` on are not declared. */
function unsavedOn (compared: ComparedStay, day: Day, today: Day): number {
  const accepted = addDays(today, -1)
  const found = firstUndeclared(compared, { from: accepted < day ? accepted : day, to: day })
  return found?.night === day ? found.guests : 0
}
