import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import { dayAdvice, type Rule } from './rule.ts'
import { outOfWindow } from './stay-rules.ts'

/** Rules about the days of each guest, who may arrive later and leave earlier than the others. */
export const OWN_DAYS_RULES: readonly Rule[] = [
  {
    id: 'arrivo-proprio-non-valido',
    field: 'arrivo',
    message: 'L’arrivo dell’ospite «{valore}» {consiglio}',
    source: 'Tracciato, campo 2',
    applies: ({ days: { givenArrival, ownArrival } }) =>
      givenArrival !== '' && ownArrival === undefined && dayAdvice(givenArrival)
  },
  {
    id: 'arrivo-proprio-fuori-soggiorno',
    field: 'arrivo',
    message: 'L’arrivo dell’ospite deve essere {primo} {ultimo}, fra le notti del soggiorno',
    source: 'Nostra: come per gli ospiti salvati',
    applies: ({ days: { ownArrival, before }, stay: { arrival, nights } }) =>
      ownArrival !== undefined && arrival !== undefined && nights !== undefined && (before < 0 || before >= nights) &&
      { primo: dayWithArticle('dal', arrival), ultimo: dayWithArticle('al', addNights(arrival, nights - 1)) }
  },
  {
    id: 'arrivo-proprio-fuori-termine',
    field: 'arrivo',
    message: 'L’arrivo dell’ospite deve essere {ammessa}: {motivo}',
    source: 'Guida p. 7 e 31, come per il soggiorno',
    applies: (guest) => guest.index === 0 && guest.days.ownArrival !== undefined && outOfWindow(guest)
  },
  {
    id: 'arrivo-diverso',
    field: 'arrivo',
    message:
      'L’ospite arriva {giorno}, il primo dell’elenco {primo}: comunicarlo con un altro elenco, il giorno del suo ' +
      'arrivo',
    source: 'Nostra: un invio ha un solo giorno di arrivo, come capo e familiari nella guida',
    applies: ({ days: { arrival }, firstArrival }) =>
      arrival !== undefined && firstArrival !== undefined && arrival !== firstArrival &&
      { giorno: onDay(arrival), primo: onDay(firstArrival) }
  },
  {
    id: 'partenza-propria-non-valida',
    field: 'partenza',
    message: 'La partenza dell’ospite «{valore}» {consiglio}',
    source: 'Tracciato, campo 3',
    applies: ({ days: { givenDeparture, ownDeparture } }) =>
      givenDeparture !== '' && ownDeparture === undefined && dayAdvice(givenDeparture)
  },
  {
    id: 'partenza-propria-fuori-soggiorno',
    field: 'partenza',
    message:
      'La partenza dell’ospite deve essere dopo l’arrivo e al più tardi {ultima}, la partenza del soggiorno',
    source: 'Tracciato, campo 3: almeno un giorno di permanenza',
    applies: ({ days: { ownDeparture, after, before }, stay: { arrival, nights } }) =>
      ownDeparture !== undefined && arrival !== undefined && nights !== undefined &&
      (after > nights || after <= Math.max(0, before)) && { ultima: onDay(addNights(arrival, nights)) }
  },
  {
    id: 'permanenza-lunga',
    field: 'numero_notti',
    severity: 'warning',
    message:
      `Il soggiorno supera i ${MAX_DECLARED_NIGHTS} giorni: se ne comunicano ${MAX_DECLARED_NIGHTS}; ` +
      '{dal} serve {altra}',
    source: 'Guida p. 7: massimo 30 giorni; la proroga è un nuovo arrivo',
    applies: ({ days: { nights, arrival }, isLongest, channel }) => {
      if (!isLongest || nights === undefined || nights <= MAX_DECLARED_NIGHTS) return false
      const [altra, rest] = ['una nuova schedina', nights - MAX_DECLARED_NIGHTS]
      if (arrival === undefined) return { dal: `dal ${MAX_DECLARED_NIGHTS + 1}º giorno`, altra }
      const next = addDays(arrival, MAX_DECLARED_NIGHTS)
      const file = `un altro file, con check_in ${next} e numero_notti ${rest}`
      return { dal: dayWithArticle('dal', next), altra: channel === 'mail' ? file : altra }
    }
  }
]

/** More nights would give a departure that is not a valid date in a message. */
const MAX_NIGHTS = 100_000

function addNights (arrival: Day, nights: number): Day {
  return addDays(arrival, Math.min(nights, MAX_NIGHTS))
}

function onDay (day: Day): string {
  return dayWithArticle('il', day)
}
