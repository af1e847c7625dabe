import type { FastifyInstance } from 'fastify'
import type { DayState } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import type { Today, TodayBooking } from '#schemas/today.ts'
import type { Registration, Registrations } from '#src/alloggiati/index.ts'
import { staysOfDay, type DayStay } from '#src/bookings/index.ts'
import { bookingsWithLetter } from '#src/letters/index.ts'
import type { Day } from '#src/lib/time.ts'

/** Maximum remarks of one booking. A large group without data would have hundreds. */
const REMARKS = 5

/** States of a booking no guest of which is sent, so that the arrival still remains to do. */
const NOT_ARRIVED: readonly DayState[] = ['pronta', 'incompleta', 'da_confermare', 'rifiutata', 'non_inviata']

/**
 * The day at the desk: arrivals, departures, guests in house, and what each booking lacks. The number of statements
 * does not depend on the number of bookings.
 */
export async function today (
  { db, registrations }: Pick<FastifyInstance, 'db' | 'registrations'>, day: Day
): Promise<Today> {
  const stays = await staysOfDay(db, day)
  const [found, letters] = await Promise.all([
    registrations(day, stays), bookingsWithLetter(db, stays.map(({ id }) => id))
  ])
  const bookings = stays.map((stay) => bookingOf(stay, found.get(stay.id), letters.has(stay.id)))
  const confirmed = bookings.filter(({ stato }) => stato === 'confermata')
  const arrivals = confirmed.filter(({ check_in }) => check_in === day)
  const departures = confirmed.filter(({ check_out }) => check_out === day)
  const notArrived = arrivals.filter(({ registrazione: state }) => state === null || NOT_ARRIVED.includes(state))
  const inHouse = confirmed.filter((each) => each.check_out !== day && !notArrived.includes(each))
  return {
    giorno: day,
    contatori: {
      arrivi: { restano: notArrived.length, totale: arrivals.length },
      partenze: departures.length,
      in_casa: inHouse.length,
      ospiti_da_comunicare: guestsToSend(found)
    },
    arrivi: arrivals,
    partenze: departures,
    in_casa: inHouse,
    non_arrivati: notArrived,
    annullate: bookings.filter(({ stato, check_in }) => stato !== 'confermata' && check_in === day)
  }
}

function bookingOf (stay: DayStay, registration: Registration | undefined, hasLetter: boolean): TodayBooking {
  const { id, nome_cognome, check_in, check_out, numero_notti, numero_ospiti, stato, unita } = stay
  const { stato: state = null, complete = 0, errors = [] } = registration ?? {}
  return {
    id,
    nome_cognome,
    check_in,
    check_out,
    numero_notti,
    unita,
    stato,
    ospiti_completi: complete,
    numero_ospiti,
    registrazione: state,
    mancano: errors.slice(0, REMARKS).map(inShort),
    lettera: hasLetter
  }
}

/** A remark without its advice: only its first sentence, which says what is missing. */
function inShort ({ messaggio, ...remark }: Segnalazione): Segnalazione {
  return { ...remark, messaggio: messaggio.split(/(?<=\p{L})\. (?=\p{Lu})/u, 1)[0]! }
}

function guestsToSend (registrations: Registrations): { restano: number, totale: number } {
  const all = [...registrations.values()]
  const sum = (count: (each: Registration) => number) => all.reduce((total, each) => total + count(each), 0)
  return { restano: sum(({ unsent }) => unsent), totale: sum(({ due }) => due) }
}
