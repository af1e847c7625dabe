import type { FieldError } from '#schemas/common.ts'
import type { StayWithGuests } from '#src/bookings/index.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, daysBetween, italianDay, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import { arrivedPlaces, declaredPlaces, nextPeriods, type ComparedStay } from '../ledger/stay-nights.ts'

const TOO_LATE = '; il servizio non accetta più le notti prima di ieri: per queste scaricare il file per la PEC ' +
  '(POST /api/alloggiati/file) e registrarlo (POST /api/v1/invii/deposito)'

/** Guests of a booking with the same arrival day in their records. `places` and `nights` have one entry per guest. */
interface DueGuests { day: Day, places: number[], nights: number[] }

/**
 * The guests whose records begin on a day: they arrive on it, their declared nights end on it, or an earlier Send
 * declared them again from it.
 */
export function dueOn (compared: ComparedStay, day: Day, today: Day): DueGuests {
  const periods = nextPeriods(compared, today)
  const declared = declaredPlaces(compared)
  const sentOnDay = declaredPlaces(compared, (arrival) => arrival === day)
  const sentBefore = declaredPlaces(compared, (arrival) => arrival < day)
  const due: DueGuests = { day, places: [], nights: [] }
  for (const [place, { arrival, departure }] of compared.days.entries()) {
    const period = periods[place]
    const isNext = arrival < day && period?.from === day
    const isRenewal = !declared[place] && renewals(arrival, departure).includes(day)
    // A row from this day without an earlier row was sent before the booking was moved, and does not count.
    const isSent = sentOnDay[place]! && sentBefore[place]!
    if (arrival !== day && !isNext && !isRenewal && !isSent) continue
    due.places.push(place)
    due.nights.push(isNext ? period!.nights : Math.max(1, daysBetween(day, departure)))
  }
  return due
}

/** The arrival, and every 30th day after it until the departure. */
function renewals (arrival: Day, departure: Day): Day[] {
  const periods = Math.ceil(daysBetween(arrival, departure) / MAX_DECLARED_NIGHTS)
  return Array.from({ length: periods }, (_, n) => addDays(arrival, n * MAX_DECLARED_NIGHTS))
}

/**
 * The guests to send with `dal`, a day from which nights of a guest are undeclared. When none is undeclared, also a day
 * from which guests were sent.
 * @throws CampiNonValidi for any other day
 */
export function dueFrom (compared: ComparedStay, dal: Day, today: Day): DueGuests {
  const { stay: { check_in, numero_notti } } = compared
  const declared = declaredPlaces(compared)
  const periods = nextPeriods(compared, today)
  const days = compared.days.length === 0
    ? renewals(check_in, addDays(check_in, numero_notti))
    : compared.days.flatMap(({ arrival, departure }, place) =>
      declared[place] ? periods[place]?.from ?? [] : renewals(arrival, departure))
  const allowed = [...new Set(days)].toSorted()
  // When every night is declared, a later check gives a more exact error about guests who were sent.
  const isSent = allowed.length === 0 && declaredPlaces(compared, (arrival) => arrival === dal).includes(true)
  if (!isSent && !allowed.includes(dal)) {
    throw new CampiNonValidi({ campo: 'dal', ...wrongNight(allowed, dal, today) })
  }
  return dueOn(compared, dal, today)
}

/** The error for a night that cannot be sent. If only one night can be sent, it names that night. */
function wrongNight ([only, ...others]: readonly Day[], dal: Day, today: Day): Omit<FieldError, 'campo'> {
  if (only === undefined) {
    return { messaggio: 'non serve: tutte le notti della prenotazione sono già comunicate' }
  }
  const days = [only, ...others].map(italianDay).join(' o ')
  const tooLate = dal < addDays(today, -1) ? TOO_LATE : ''
  return {
    messaggio: `può essere soltanto ${days} (ricevuto «${dal}»)${tooLate}`,
    ...others.length === 0 && { proposta: only }
  }
}

/**
 * The guests to send without `dal`: those who arrive with the booking, or today or yesterday.
 * @throws CampiNonValidi when only the nights of a prolonged stay can be sent. The error names the day for `dal`
 */
export function arrivingNow (compared: ComparedStay, today: Day): DueGuests {
  const { stay: { check_in }, days } = compared
  const arrived = arrivedPlaces(compared)
  const arrivals = [...new Set(days.map(({ arrival }) => arrival))].toSorted()
  const open = arrivals.filter((day) => arrivalWindowOpen(day, today))
  const isUnsent = (day: Day) => days.some(({ arrival }, place) => arrival === day && !arrived[place])
  const day = arrivals.every((arrival) => arrival === check_in) ? check_in : open.find(isUnsent) ?? open[0] ?? check_in
  const due = dueOn(compared, day, today)
  const isOpen = arrivalWindowOpen(day, today)
  if (isOpen && (isUnsent(day) || days.length === 0)) return due
  const again = repeatedArrivals(compared, today)[0]
  if (again === undefined) return due
  const why = isOpen ? 'è già comunicato' : 'non si può più inviare'
  const messaggio = `l’arrivo ${dayWithArticle('del', day)} ${why}; ` +
    `per le notti ${dayWithArticle('dal', again)} indicare "dal": "${again}"`
  throw new CampiNonValidi({ campo: 'dal', messaggio, proposta: again })
}

/** The days, of yesterday and today, from which guests must be declared again. */
export function repeatedArrivals (compared: ComparedStay, today: Day): Day[] {
  const { stay: { check_in, numero_notti }, days } = compared
  const declared = declaredPlaces(compared)
  const periods = nextPeriods(compared, today)
  const again = days.flatMap(({ arrival, departure }, place) =>
    declared[place] ? periods[place]?.from ?? [] : renewals(arrival, departure).slice(1))
  const unsaved = days.length === 0 ? renewals(check_in, addDays(check_in, numero_notti)).slice(1) : []
  return [...again, ...unsaved].filter((day) => day > check_in && arrivalWindowOpen(day, today)).toSorted()
}

/** The places of a booking whose guests are not due. */
export function otherPlaces ({ ospiti }: Pick<StayWithGuests, 'ospiti'>, { places }: DueGuests): number[] {
  return ospiti.flatMap((_, place) => places.includes(place) ? [] : place)
}
