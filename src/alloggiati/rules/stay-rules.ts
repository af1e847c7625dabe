import { APARTMENT_IDS } from '#schemas/apartment.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, daysBetween, italianDay, type Day } from '#src/lib/time.ts'
import type { GuestCase } from './case.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import { dayAdvice, type Rule, type Values } from './rule.ts'

/** The questura accepts certified mail about arrivals up to this many days old. */
export const MAIL_DAYS = 30
const BY_MAIL = `il file per la PEC vale per gli arrivi degli ultimi ${MAIL_DAYS} giorni`
const TOO_EARLY = 'il servizio accetta un arrivo da quel giorno: inviare allora'
const TOO_LATE = 'il servizio non accetta altre date. Per un arrivo precedente scaricare il file per la PEC (POST ' +
  '/api/alloggiati/file)'

/** The arrivals that the channel accepts, if the guest's arrival is not one of them. */
export function outOfWindow ({ days: { arrival, nights = 0 }, today, yesterday, channel }: GuestCase): false | Values {
  const first = channel === 'mail' ? addDays(today, -MAIL_DAYS) : yesterday
  if (arrival === undefined || (arrival >= first && arrival <= today)) return false
  return channel === 'mail'
    ? {
        ammessa: `fra ${dayWithArticle('il', first)} e oggi (${italianDay(today)})`,
        motivo: BY_MAIL + (arrival < first ? beforeMail(arrival, nights, first) : '')
      }
    : {
        ammessa: `oggi (${italianDay(today)}) o ieri (${italianDay(first)})`,
        motivo: arrival > today ? TOO_EARLY : TOO_LATE
      }
}

/** The advice for an arrival before the first one that certified mail accepts. */
function beforeMail (arrival: Day, nights: number, first: Day): string {
  const declared = Math.ceil(daysBetween(arrival, first) / MAX_DECLARED_NIGHTS) * MAX_DECLARED_NIGHTS
  const earlier = '. Per le notti di prima rivolgersi alla Questura'
  if (declared >= nights) return earlier
  return `${earlier}; per le altre indicare check_in ${addDays(arrival, declared)} e numero_notti ${nights - declared}`
}

/** Rules about the stay, which all guests of the list share. */
export const STAY_RULES: readonly Rule[] = [
  {
    id: 'arrivo-mancante',
    field: 'check_in',
    message: 'La data di arrivo è obbligatoria',
    source: 'Tracciato, campo 2',
    applies: ({ stay }) => stay.checkIn === ''
  },
  {
    id: 'arrivo-non-valido',
    field: 'check_in',
    message: 'La data di arrivo «{valore}» {consiglio}',
    source: 'Tracciato, campo 2',
    applies: ({ stay }) => stay.checkIn !== '' && stay.arrival === undefined && dayAdvice(stay.checkIn)
  },
  {
    id: 'arrivo-fuori-termine',
    field: 'check_in',
    message: 'La data di arrivo deve essere {ammessa}: {motivo}',
    source: 'Guida p. 7 e 31: arrivo del giorno o del giorno precedente; DM 16/9/2021, allegato, per la PEC',
    applies: (guest) => guest.days.ownArrival === undefined && outOfWindow(guest)
  },
  {
    id: 'permanenza-mancante',
    field: 'numero_notti',
    message: 'I giorni di permanenza sono obbligatori: indicare numero_notti o check_out',
    source: 'Tracciato, campo 3',
    applies: ({ stay }) => stay.givenNights === undefined && stay.givenCheckOut === ''
  },
  {
    id: 'partenza-non-valida',
    field: 'check_out',
    message: 'La data di partenza «{valore}» {consiglio}',
    source: 'Tracciato, campo 3: senza numero_notti i giorni si contano fino alla partenza',
    applies: ({ stay: { givenNights, givenCheckOut, checkOut } }) =>
      givenNights === undefined && givenCheckOut !== '' && checkOut === undefined && dayAdvice(givenCheckOut)
  },
  {
    id: 'partenza-ignorata',
    field: 'check_out',
    severity: 'warning',
    message: 'La data di partenza «{valore}» {consiglio}. Vale numero_notti ({notti})',
    source: 'Nostra: con numero_notti la partenza non si usa',
    applies: ({ stay: { nights, givenCheckOut, checkOut } }) =>
      nights !== undefined && givenCheckOut !== '' && checkOut === undefined &&
      { ...dayAdvice(givenCheckOut), notti: nights }
  },
  {
    id: 'partenza-prima-dell-arrivo',
    field: 'check_out',
    message: 'La data di partenza ({partenza}) deve essere dopo l’arrivo ({arrivo})',
    source: 'Tracciato, campo 3: almeno un giorno di permanenza',
    applies: ({ stay: { isCounted, counted, checkOut, arrival } }) =>
      isCounted && counted !== undefined && counted < 1 &&
      { partenza: italianDay(checkOut!), arrivo: italianDay(arrival!) }
  },
  {
    id: 'permanenza-non-valida',
    field: 'numero_notti',
    message: 'I giorni di permanenza devono essere un numero intero, almeno 1 (ricevuto {valore})',
    source: 'Tracciato, campo 3',
    applies: ({ stay: { givenNights, nights, isCounted } }) =>
      !isCounted && givenNights !== undefined && nights === undefined && { valore: String(givenNights).slice(0, 30) }
  },
  {
    id: 'permanenza-discordante',
    field: 'numero_notti',
    severity: 'warning',
    message:
      'numero_notti ({notti}) e check_out ({partenza}: {contate}) non concordano: vale numero_notti. ' +
      'Controllare la partenza',
    source: 'Tracciato, campo 3: i giorni di permanenza si dichiarano una volta',
    applies: ({ stay: { nights, counted, checkOut } }) =>
      nights !== undefined &&
      counted !== undefined &&
      nights !== counted && { notti: nights, partenza: italianDay(checkOut!), contate: counted }
  },
  {
    id: 'appartamento-mancante',
    field: 'id_appartamento',
    message:
      `L’id dell’appartamento (da ${APARTMENT_IDS.minimum} a ${APARTMENT_IDS.maximum}) è obbligatorio nel File Unico`,
    source: 'Tracciato File Unico, campo 15',
    applies: ({ stay: { givenApartment, apartment } }) => givenApartment !== undefined && apartment === undefined
  }
]
