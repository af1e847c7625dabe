import {
  DAY_STATES, DAY_STATE_NAMES, GOOD_DAY_STATES, type DayState, type GiornataAnswer, type GiornataBody
} from '#schemas/giornata.ts'
import { counted } from '#src/lib/counted.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { daysBetween } from '#src/lib/time.ts'
import type { Author } from '#src/plugins/audit/log.ts'
import { InvioFallito } from '../../errors.ts'
import { checkSuspension } from '../../ledger/suspension.ts'
import type { SchedineContext } from '../accept.ts'
import type { Requester } from '../requester.ts'
import { lookAtDay, type DayBooking } from './look.ts'
import { sendDay } from './send.ts'

/** No day that far from today is anything but a slip of the hand. */
const FAR_DAYS = 400

/**
 * Sends all bookings of an arrival day that are complete and not sent, or only says which they are. It can be asked
 * again at any time: what was sent is told, and sent no more.
 * @throws InvioFallito where nothing can be sent at all, CampiNonValidi for a booking that does not arrive on the day
 */
export async function submitDay (
  context: SchedineContext,
  body: GiornataBody,
  author: Author,
  requester: Requester
): Promise<GiornataAnswer> {
  const { data = context.clock.today(), prova = false, prenotazioni: ids, id_appartamento } = body ?? {}
  if (Math.abs(daysBetween(context.clock.today(), data)) > FAR_DAYS) {
    throw new CampiNonValidi({ campo: 'data', messaggio: `deve essere a non più di ${FAR_DAYS} giorni da oggi` })
  }
  const { ledger } = context
  if (ledger === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
  const looked = await lookAtDay(context, ledger, { day: data, ids, id_appartamento })
  refuseOthers(ids ?? [], looked)
  if (prova) return answerOf({ data, prova, bookings: looked })
  if (await checkSuspension(ledger)) throw new InvioFallito('INVII_SOSPESI')
  const bookings = await sendDay(ledger, looked, { author, requester, id_appartamento })
  if (bookings.some(({ stato }) => stato === 'in_corso')) requester.leaveOpen()
  return answerOf({ data, prova, bookings })
}

function refuseOthers (ids: readonly number[], bookings: readonly DayBooking[]): void {
  const others = ids.filter((id) => !bookings.some(({ prenotazione_id }) => prenotazione_id === id))
  if (others.length > 0) {
    throw new CampiNonValidi({ campo: 'prenotazioni', messaggio: `non arrivano in quel giorno: ${others.join(', ')}` })
  }
}

function answerOf (
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
    success: bookings.every(({ stato }) => GOOD_DAY_STATES.some((good) => good === stato)),
    message: [all, parts.join(', ')].filter((part) => part !== '').join(': '),
    data,
    prova,
    totale_prenotazioni: bookings.length,
    totale_ospiti: bookings.reduce((sum, { ospiti }) => sum + ospiti, 0),
    totali,
    prenotazioni: bookings.map(({ nights, ready, ...told }) => told)
  }
}
