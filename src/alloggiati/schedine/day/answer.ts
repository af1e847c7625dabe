import {
  DAY_STATES, DAY_STATE_NAMES, GOOD_DAY_STATES, type DayState, type GiornataAnswer
} from '#schemas/giornata.ts'
import { counted } from '#src/lib/counted.ts'
import type { DayBooking } from './look.ts'

/** The answer of a day. What is ready and was not sent is good in a rehearsal alone. */
export function answerOf (
  { data, prova, bookings }: Pick<GiornataAnswer, 'data' | 'prova'> & { bookings: readonly DayBooking[] }
): GiornataAnswer {
  const inState = (name: DayState) => bookings.filter(({ stato }) => stato === name).length
  const totali = Object.fromEntries(DAY_STATE_NAMES.map((name) => [name, inState(name)])) as Record<DayState, number>
  const parts = DAY_STATE_NAMES.filter((name) => totali[name] > 0).map((name) => {
    const [one, many] = DAY_STATES[name]
    return counted(totali[name], one, many)
  })
  const all = counted(bookings.length, 'prenotazione', 'prenotazioni')
  return {
    success: bookings.every(({ stato }) =>
      GOOD_DAY_STATES.some((good) => good === stato) && (prova || stato !== 'pronta')),
    message: [all, parts.join(', ')].filter((part) => part !== '').join(': '),
    data,
    prova,
    totale_prenotazioni: bookings.length,
    totale_ospiti: bookings.reduce((sum, { ospiti }) => sum + ospiti, 0),
    totali,
    prenotazioni: bookings.map(({ nights, ready, ...told }) => told)
  }
}
