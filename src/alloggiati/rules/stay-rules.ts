import { italianDay } from '../tables/days.ts'
import { addDays } from '#src/lib/time.ts'
import type { Rule } from './rule.ts'

/** Days that one schedina can announce (guide p. 7; record layout, field 3). */
export const MAX_NOTTI = 30
const MAX_APPARTAMENTO = 999_999

/** Rules about the stay, the same for every guest of the list. */
export const STAY_RULES: readonly Rule[] = [
  {
    id: 'arrivo-mancante',
    campo: 'check_in',
    per: 'elenco',
    gravita: 'error',
    messaggio: 'La data di arrivo è obbligatoria',
    fonte: 'Tracciato, campo 2',
    trova: ({ soggiorno }) => soggiorno.arrivo === ''
  },
  {
    id: 'arrivo-non-valido',
    campo: 'check_in',
    per: 'elenco',
    gravita: 'error',
    messaggio: 'La data di arrivo deve essere un giorno che esiste, nella forma AAAA-MM-GG',
    fonte: 'Tracciato, campo 2',
    trova: ({ soggiorno }) => soggiorno.arrivo !== '' && soggiorno.giorno === undefined
  },
  {
    id: 'arrivo-fuori-termine',
    campo: 'check_in',
    per: 'elenco',
    gravita: 'error',
    messaggio: 'La data di arrivo deve essere oggi ({oggi}) o ieri ({ieri}): il servizio non accetta altre date',
    fonte: 'Guida p. 7 e 31: arrivo del giorno o del giorno precedente',
    trova: ({ soggiorno: { giorno }, oggi, ieri }) => giorno !== undefined && giorno !== oggi && giorno !== ieri &&
      { oggi: italianDay(oggi), ieri: italianDay(ieri) }
  },
  {
    id: 'permanenza-mancante',
    campo: 'numero_notti',
    per: 'elenco',
    gravita: 'error',
    messaggio: 'I giorni di permanenza sono obbligatori: indicare numero_notti o check_out',
    fonte: 'Tracciato, campo 3',
    trova: ({ soggiorno }) => soggiorno.notti === undefined
  },
  {
    id: 'permanenza-non-valida',
    campo: 'numero_notti',
    per: 'elenco',
    gravita: 'error',
    messaggio: 'I giorni di permanenza devono essere un numero intero, almeno 1',
    fonte: 'Tracciato, campo 3',
    trova: ({ soggiorno: { notti } }) => notti !== undefined && !isNights(notti)
  },
  {
    id: 'permanenza-lunga',
    campo: 'numero_notti',
    per: 'elenco',
    gravita: 'warning',
    messaggio: 'Il soggiorno supera i 30 giorni: se ne comunicano 30; dal {dal} serve una nuova schedina',
    fonte: 'Guida p. 7: massimo 30 giorni; la proroga è un nuovo arrivo',
    trova: ({ soggiorno: { notti, giorno } }) => isNights(notti) && notti > MAX_NOTTI &&
      { dal: giorno === undefined ? '31º giorno' : italianDay(addDays(giorno, MAX_NOTTI)) }
  },
  {
    id: 'appartamento-mancante',
    campo: 'id_appartamento',
    per: 'elenco',
    gravita: 'error',
    messaggio: "L'id dell'appartamento (da 0 a 999999) è obbligatorio nel File Unico",
    fonte: 'Tracciato File Unico, campo 15',
    trova: ({ fileUnico, soggiorno: { appartamento } }) => fileUnico && !isApartment(appartamento)
  }
]

/** A number of nights that a stay can have. */
export function isNights (value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1
}

/** An apartment's id as the record can carry it; ids start at 0. */
export function isApartment (value: unknown): value is number {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= MAX_APPARTAMENTO
}
