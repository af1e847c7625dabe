import type { PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { StayWithGuests } from '#src/bookings/index.ts'
import type { AcceptedList } from '../../rules/validate.ts'

/** A booking of the day. `ready` has the guests that can be sent. It is null unless the booking is `pronta`. */
export interface DayBooking extends PrenotazioneDellaGiornata {
  nights: number
  /** Each guest's place in the booking. Undefined if the line has all guests. */
  places?: readonly number[]
  /** Includes the account to send with, and the version of the booking when its guests were read. */
  ready: AcceptedList & { versione: number, account: string, id_appartamento?: number | undefined } | null
}

/** A booking of the day before its guests are checked. */
export function bookingOf (
  { id, nome_cognome, numero_notti, ospiti, numero_ospiti }: Omit<StayWithGuests, 'stato' | 'versione'>
): DayBooking {
  return {
    prenotazione_id: id,
    nome_cognome,
    stato: 'pronta',
    ospiti: ospiti.length,
    numero_ospiti,
    ricevute: [],
    errors: [],
    warnings: [],
    schedine: [],
    nights: numero_notti,
    ready: null
  }
}

/** The place in the booking of a guest in a line. */
export function placeIn ({ places }: Pick<DayBooking, 'places'>, ospite: number): number {
  return places?.[ospite] ?? ospite
}
