import type { DayState } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { DayStay } from '#src/bookings/index.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import type { Database } from '#src/database/connect.ts'
import { stayComparer } from '../../ledger/coverage.ts'
import { declaredPlaces, guestsOfNight, type ComparedStay } from '../../ledger/stay-nights.ts'
import type { Registration, Registrations } from '../../police-hooks.ts'
import { validateGuests, type SchedineContext } from '../accept-schedine.ts'
import { schedineOf } from '../from-booking.ts'
import { stateOfSent } from './compare-sent.ts'
import type { DayBooking } from './day-booking.ts'
import { dayOverview, withUnsaved } from './day-overview.ts'

/** States in which all guests were sent. The outcome may be open. */
const SENT: readonly DayState[] = ['gia_inviata', 'in_corso', 'acquisita', 'sconosciuta']

/**
 * The registrations of the confirmed stays of a day. A stay with guests who are due has its state from the day
 * overview. Other stays, and all stays without a police account, have the state of their last night up to that day.
 */
export async function registrationsOf (
  context: SchedineContext, db: Database, day: Day, stays: readonly DayStay[]
): Promise<Registrations> {
  const { accounts, keys, mode, clock } = context
  const confirmed = stays.filter(({ stato }) => stato === 'confermata')
  const lines = (await accounts.read()).accounts.length === 0
    ? []
    : await dayOverview(context, { day, ids: undefined, apartments: new Map(), hasApartments: false })
  const lineOf = new Map(lines.map((line) => [line.prenotazione_id, line]))
  const others = confirmed.filter(({ id }) => !lineOf.has(id))
  const compare = stayComparer({ db, keys, mode, today: clock.today() })
  const judged = await compare(others, async (stay, compared): Promise<[number, Registration]> =>
    [stay.id, await byNights(context, day, stay, compared)])
  const ofLines = confirmed.flatMap((stay): [number, Registration][] => {
    const line = lineOf.get(stay.id)
    return line === undefined ? [] : [[stay.id, byLine(stay, line)]]
  })
  return new Map([...ofLines, ...await Promise.all(judged)])
}

function byLine ({ ospiti }: DayStay, { stato, numero_ospiti, errors }: DayBooking): Registration {
  const complete = stato === 'incompleta' ? completeOf(ospiti.length, errors) : ospiti.length
  const left = stato === 'parziale' ? Math.min(errors.length, numero_ospiti) : numero_ospiti
  return { stato, complete, due: numero_ospiti, unsent: SENT.includes(stato) ? 0 : left, errors }
}

async function byNights (
  context: SchedineContext, day: Day, stay: DayStay, compared: ComparedStay
): Promise<Registration> {
  const { id, check_in, check_out, numero_notti, numero_ospiti, ospiti } = stay
  const { present, declared } = guestsOfNight(compared, day < check_out ? day : addDays(check_out, -1))
  const arrived = declaredPlaces(compared).filter((_, place) => compared.days[place]!.arrival <= day)
  if (declared >= present && arrived.every(Boolean) && present + arrived.length > 0) {
    return { stato: stateOfSent(compared.rows), complete: ospiti.length, due: 0, unsent: 0, errors: [] }
  }
  const { errors: found } = await validateGuests(context, schedineOf(ospiti), { id, check_in, numero_notti })
  const errors = withUnsaved(found, ospiti.length, numero_ospiti)
  const isStarted = declared > 0 || arrived.some(Boolean)
  const stato = isStarted ? 'parziale' : errors.length > 0 ? 'incompleta' : 'pronta'
  const due = day === check_in ? numero_ospiti : 0
  return { stato, complete: completeOf(ospiti.length, errors), due, unsent: due, errors }
}

/** Errors about the stay or about unsaved guests concern no saved guest. */
const OF_STAY: readonly string[] = [
  'check_in', 'check_out', 'numero_notti', 'ospiti', 'id_appartamento', 'unita_id', 'struttura_id'
]

/** The number of saved guests without errors. `errors` may include guests who were saved after `saved` was read. */
function completeOf (saved: number, errors: readonly Segnalazione[]): number {
  const faulty = errors.flatMap(({ ospite, campo }) => OF_STAY.includes(campo) ? [] : ospite)
  return saved - new Set(faulty.filter((ospite) => ospite < saved)).size
}
