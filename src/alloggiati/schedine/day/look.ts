import type { DayState, PrenotazioneDellaGiornata } from '#schemas/giornata.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { UNDER_WAY_STATES, UNRESOLVED_ROW_OUTCOMES, type RowOutcome, type State } from '#schemas/submission.ts'
import { staysWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { counted } from '#src/lib/counted.ts'
import type { Day } from '#src/lib/time.ts'
import { findConflicts, readBookingRows, type Conflict } from '../../ledger/conflicts.ts'
import type { LedgerContext } from '../../ledger/context.ts'
import type { AcceptedList } from '../../rules/validate.ts'
import { judge, type SchedineContext } from '../accept.ts'
import { schedineOf } from '../from-booking.ts'

/** A booking of the day as it stands, and what can be sent of it: nothing unless it is `pronta`. */
export interface DayBooking extends PrenotazioneDellaGiornata {
  nights: number
  ready: AcceptedList | null
}

/** A live row: what became of it, and of the submission that holds it. */
interface Sent { ricevuta: string, stato: State, esito: RowOutcome }

/** Which bookings of an arrival day, and for which apartment. */
export interface DayChoice { day: Day, ids: readonly number[] | undefined, id_appartamento: number | undefined }

/** The bookings of a day: who is ready, who lacks what, who was sent already. Nothing is written. */
export async function lookAtDay (
  context: SchedineContext,
  { db, keys, service: { account } }: LedgerContext,
  { day, ids, id_appartamento }: DayChoice
): Promise<DayBooking[]> {
  const stays = await staysWithGuests(db, day, ids)
  const rows = await readBookingRows(db, account, day, stays.map(({ id }) => id))
  const sent = Map.groupBy(rows, ({ prenotazione_id }) => prenotazione_id)
  const bookings: DayBooking[] = []
  for (const stay of stays) {
    const before = sent.get(stay.id) ?? []
    bookings.push(before.length >= stay.numero_ospiti ? alreadySent(stay, before) : await judged(stay))
  }
  const candidates = bookings.filter(({ ready }) => ready !== null)
  const places = candidates.flatMap((booking) => booking.ready!.records.map((_, ospite) => ({ booking, ospite })))
  const conflicts = places.length === 0
    ? []
    : await findConflicts(db, keys, account, candidates.flatMap(({ ready }) => ready!.records))
  const byBooking = Map.groupBy(conflicts, ({ told }) => places[told.ospite]!.booking)
  return bookings.map((booking) => {
    const own = (byBooking.get(booking) ?? []).map((conflict) => (
      { ...conflict, told: { ...conflict.told, ospite: places[conflict.told.ospite]!.ospite } }))
    return booking.ready === null ? booking : confronted(booking, own, sent.get(booking.prenotazione_id) ?? [])
  })

  async function judged (stay: StayWithGuests): Promise<DayBooking> {
    const { id, check_in, numero_notti, ospiti, numero_ospiti } = stay
    const { errors, accepted } = await judge(
      context,
      schedineOf(ospiti),
      { id, check_in, numero_notti, ...(id_appartamento === undefined ? {} : { id_appartamento }) }
    )
    const saved = counted(ospiti.length, 'ospite salvato', 'ospiti salvati')
    const missing = remark(ospiti.length, 'ospiti', `${saved} su ${numero_ospiti}`)
    const all = ospiti.length < numero_ospiti ? [...errors.filter(({ campo }) => campo !== 'ospiti'), missing] : errors
    return all.length > 0
      ? { ...bookingOf(stay), stato: 'incompleta', errors: all }
      : { ...bookingOf(stay), ready: accepted }
  }
}

export function bookingOf ({ id, nome_cognome, numero_notti, ospiti, numero_ospiti }: StayWithGuests): DayBooking {
  return {
    prenotazione_id: id,
    nome_cognome,
    stato: 'pronta',
    ospiti: ospiti.length,
    numero_ospiti,
    ricevute: [],
    errors: [],
    schedine: [],
    nights: numero_notti,
    ready: null
  }
}

function alreadySent (stay: StayWithGuests, before: readonly Sent[]): DayBooking {
  return { ...bookingOf(stay), stato: stateOfSent(before), ricevute: referencesOf(before) }
}

/** How a booking stands whose guests were sent before, or are being sent. */
function stateOfSent (rows: readonly Sent[]): DayState {
  const open = rows.filter(({ esito }) => UNRESOLVED_ROW_OUTCOMES.some((each) => each === esito))
  if (open.some(({ stato }) => UNDER_WAY_STATES.some((each) => each === stato))) return 'in_corso'
  return open.length > 0 ? 'sconosciuta' : 'gia_inviata'
}

/** A booking that the rules let pass, beside what stands against its guests. */
function confronted (booking: DayBooking, conflicts: readonly Conflict[], before: readonly Sent[]): DayBooking {
  const { prenotazione_id, ospiti, numero_ospiti } = booking
  const hit = new Set(conflicts.map(({ told }) => told.ospite))
  const rows = conflicts.flatMap(({ told: { ricevuta, stato }, earlier }) =>
    ricevuta === null || stato === null || earlier === null ? [] : { ricevuta, stato, ...earlier })
  const left = Array.from({ length: ospiti }, (_, ospite) => ospite).filter((ospite) => !hit.has(ospite))
  const tooMany = before.length + left.length > numero_ospiti
  if (hit.size === 0 && !tooMany) return booking
  const held = { ...booking, ready: null, ricevute: referencesOf([...rows, ...before]) }
  // A document alone does not make a row of no booking one of this booking's.
  const ownRows = conflicts.every(({ told: { motivo }, earlier }) =>
    earlier?.prenotazione_id === prenotazione_id || (earlier?.prenotazione_id === null && motivo === 'stessa_persona'))
  if (ownRows && left.length === 0) return { ...held, stato: stateOfSent(rows) }
  if (ownRows && !tooMany) {
    return { ...held, stato: 'parziale', errors: left.map((ospite) => remark(ospite, 'ospiti', LEFT_OUT)) }
  }
  const excess = tooMany ? [remark(0, 'ospiti', `Con questo invio sarebbero più di ${numero_ospiti}`)] : []
  return { ...held, stato: 'da_confermare', errors: [...conflicts.map(({ told }) => conflictRemark(told)), ...excess] }
}

const LEFT_OUT = 'La prenotazione è stata inviata in parte: inviare il resto con solo_mancanti'

/** What a person is told of a guest who may have been sent before. */
export function conflictRemark ({ ospite, ricevuta, motivo }: Conflict['told']): Segnalazione {
  const [campo, what]: [string, string] =
    motivo === 'stessa_persona' ? ['cognome', 'Stessa persona'] : ['numero_documento', 'Stesso documento']
  const where = ricevuta === null ? 'un altro ospite della giornata' : `la ricevuta ${ricevuta}`
  return remark(ospite, campo, `${what} di ${where}: la prenotazione va inviata da sola, con una conferma`)
}

export function remark (ospite: number, campo: string, messaggio: string): Segnalazione {
  return { ospite, campo, messaggio }
}

function referencesOf (rows: readonly { ricevuta: string }[]): string[] {
  return [...new Set(rows.map(({ ricevuta }) => ricevuta))]
}
