import type { PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { StayWithGuests } from '#src/bookings/index.ts'
import type { AcceptedList } from '../../rules/validate.ts'

/** The entry of a booking in the day overview. */
export interface DayBooking extends PrenotazioneDellaGiornata {
  nights: number
  /** For each guest of the entry, the guest's place in the booking. Undefined if the entry has all guests. */
  places?: readonly number[]
  /**
   * The guests that can be sent, the account to send with, and the version of the booking when its guests were read.
   * Null unless the booking is `pronta`.
   */
  ready: AcceptedList & { versione: number, account: string, id_appartamento?: number | undefined } | null
}

/** Creates the entry of a booking. Its state is `pronta` until the caller has checked the guests. */
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

/** Converts the index of a guest in the entry to the guest's place in the booking. */
export function placeIn ({ places }: Pick<DayBooking, 'places'>, ospite: number): number {
  return places?.[ospite] ?? ospite
}
