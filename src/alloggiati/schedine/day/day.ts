import type { FieldError } from '#schemas/common.ts'
import type { DayState, GiornataAnswer, GiornataBody } from '#schemas/giornata.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { daysBetween, isDay, type Day } from '#src/lib/time.ts'
import type { Author } from '#src/services/audit/log.ts'
import { InvioFallito } from '../../errors.ts'
import { checkSuspension } from '../../ledger/suspension.ts'
import type { SchedineContext } from '../accept.ts'
import type { Requester } from '../requester.ts'
import { answerOf } from './answer.ts'
import { lookAtDay, type DayBooking } from './look.ts'
import { sendDay } from './send.ts'
import { withWaiting } from './waiting.ts'

/** No day that far from today is anything but a slip of the hand. */
const FAR_DAYS = 400

/** @param today by the clock of the server */
export function dayFaults ({ data }: Readonly<Record<string, unknown>>, today: Day): FieldError[] {
  if (typeof data !== 'string' || !isDay(data) || Math.abs(daysBetween(today, data)) <= FAR_DAYS) return []
  return [{ campo: 'data', messaggio: `deve essere a non più di ${FAR_DAYS} giorni da oggi` }]
}

/**
 * Sends all bookings of an arrival day that are complete and not sent, or only says which they are. It can be asked
 * again at any time: what was sent is told, and sent no more. The answer is the last one when all that was begun has
 * ended; where nothing was begun, when nothing is left to be done.
 * @throws InvioFallito where nothing can be sent at all, CampiNonValidi for a booking that does not arrive on the day
 */
export async function submitDay (
  context: SchedineContext,
  body: GiornataBody,
  author: Author,
  requester: Requester
): Promise<GiornataAnswer> {
  const { data = context.clock.today(), prova = false, prenotazioni: ids, id_appartamento } = body ?? {}
  const { ledger } = context
  if (ledger === null) throw new InvioFallito('CREDENZIALI_MANCANTI')
  const looked = await lookAtDay(context, ledger, { day: data, ids, id_appartamento })
  refuseOthers(ids ?? [], looked)
  if (!prova && await checkSuspension(ledger)) throw new InvioFallito('INVII_SOSPESI')
  const sent = prova ? looked : await sendDay(ledger, looked, { author, requester, id_appartamento })
  const bookings = await withWaiting(ledger.db, sent)
  const answer = answerOf({ data, prova, bookings })
  const hasBegun = bookings.some(({ schedine }) => schedine.length > 0)
  if (bookings.some(({ stato }) => NO_END.includes(stato))) requester.leaveOpen()
  else if (hasBegun || answer.success) requester.end()
  return answer
}

/** What became of the guests will be known later. */
const NO_END: readonly DayState[] = ['in_corso', 'sconosciuta']

function refuseOthers (ids: readonly number[], bookings: readonly DayBooking[]): void {
  const others = ids.filter((id) => !bookings.some(({ prenotazione_id }) => prenotazione_id === id))
  if (others.length > 0) {
    throw new CampiNonValidi({ campo: 'prenotazioni', messaggio: `non arrivano in quel giorno: ${others.join(', ')}` })
  }
}
