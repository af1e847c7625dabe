import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { InvioResponse } from '#schemas/alloggiati.ts'
import type { InvioPrenotazioneBody, SchedineBody, SchedineResponse } from '#schemas/from-booking.ts'
import type { Segnalazione } from '#schemas/schedina.ts'
import { bookingsWithCodeOf, staysById } from '#src/bookings/index.ts'
import type { Executor } from '#src/database/connect.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { encodingDoubt } from '#src/lib/wrong-encoding.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { chooseAccount, UNIT_NEEDED } from '../accounts/choose-account.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import type { LedgerBase } from '../ledger/ledger-context.ts'
import { overlapRemarks } from '../ledger/overlaps.ts'
import { withApartment } from '../ledger/sent-apartments.ts'
import {
  NullaDaInviare, PrenotazioneNonConfermata, requireConfirmed, SchedineGiaInviate, SchedineInCorso
} from '../sent-errors.ts'
import { namedByCaller, validateGuests, withReasons, type SchedineContext } from './accept-schedine.ts'
import { remark } from './day/day-remarks.ts'
import { findMissing, fromBooking } from './from-booking.ts'
import type { Requester } from './requester.ts'
import { submit } from './submission.ts'

/** Checks the schedine of the saved guests of a booking who are due. It sends nothing. */
export async function checkBooking (
  db: Executor, context: SchedineContext, id: number, choice: NonNullable<Static<typeof SchedineBody>>
): Promise<Static<typeof SchedineResponse>> {
  const comparison = { ...context, db, today: context.clock.today() }
  const booking = await fromBooking(comparison, id, choice)
  const { schedine, places, avvisi, nights, stato, nome_cognome, later } = booking
  const { ledger, error } = await chooseAccount(context.accounts, db, { booking: id })
  const soggiorno = ledger === null
    ? booking.soggiorno
    : await withApartment(booking.soggiorno, db, ledger.service.account)
  const { errors: broken, warnings: given, accepted } =
    await validateGuests(context, schedine, soggiorno, { nights })
  const overlapping = accepted === null ? [] : await overlapRemarks(comparison, id, accepted.records)
  const sent = await alreadySentError(context.accounts.base, booking)
  const explained = withReasons(broken, avvisi, places)
  const found = sent === undefined
    ? explained
    : [...explained.filter(({ campo }) => campo !== 'check_in'), remark(0, 'check_in', sent.message)]
  const state = stato === 'confermata'
    ? []
    : [remark(0, 'stato', new PrenotazioneNonConfermata(id, stato).message)]
  const unit = error instanceof CampiNonValidi ? [remark(0, 'unita_id', UNIT_NEEDED)] : []
  const errors = [...state, ...unit, ...namedByCaller(found, choice.dal)]
  const warnings = [...given, ...overlapping, ...later, ...await remarksOnBooking(db, id, nome_cognome)]
  return { schedine, soggiorno, valid: errors.length === 0, errors, warnings }
}

/** Sends the saved guests of a booking who are due, or with `solo_mancanti` all who are due and not sent yet. */
export async function submitBooking (
  db: Executor,
  context: SchedineContext,
  request: FastifyRequest & { params: { id: number }, body: Static<typeof InvioPrenotazioneBody> },
  requester: Requester
): Promise<InvioResponse> {
  const { params: { id }, body: given } = request
  const { dal, id_appartamento, solo_mancanti, ...rest } = given ?? {}
  const [stay] = await staysById(db, [id])
  if (stay) requireConfirmed(stay)
  const comparison = { ...context, db, today: context.clock.today() }
  const booking = await fromBooking(comparison, id, { dal, id_appartamento })
  const { base } = context.accounts
  const missing = solo_mancanti ? await findMissing(base, booking) : undefined
  const sent = await alreadySentError(base, booking)
  if (sent !== undefined) throw sent
  const { schedine: ospiti, places: indices, avvisi: changed } = missing ?? booking
  const avvisi = [...changed, ...booking.later, ...await remarksOnBooking(db, id, booking.nome_cognome)]
  const versions = new Map([[id, booking.versione]])
  const nights = indices.map((place) => booking.nights[booking.places.indexOf(place)]!)
  const body = {
    ospiti, indices, avvisi: changed, versions, nights, dal, prenotazione: booking.soggiorno, ...rest
  }
  const answer = await submit(context, body, authorOf(request), requester).catch((err: unknown) => {
    throw err instanceof SchedineGiaInviate ? withOthersLeft(err, ospiti.length) : err
  })
  return avvisi.length === 0 ? answer : { ...answer, avvisi: [...avvisi, ...answer.avvisi ?? []] }
}

/** Adds to the error whether the guests without a conflict can be sent alone. */
function withOthersLeft (
  { duplicati, confirmable, movedFrom }: SchedineGiaInviate, guests: number
): SchedineGiaInviate {
  const othersLeft = new Set(duplicati.map(({ ospite }) => ospite)).size < guests
  return new SchedineGiaInviate(duplicati, { confirmable, othersLeft, movedFrom })
}

/**
 * The error if all due guests were sent or are being sent, and the service no longer accepts their arrival. Without
 * this error the rules would advise certified mail.
 */
async function alreadySentError (
  base: LedgerBase, booking: Parameters<typeof findMissing>[1]
): Promise<NullaDaInviare | SchedineInCorso | undefined> {
  if (arrivalWindowOpen(booking.soggiorno.check_in, base.clock.today())) return undefined
  try {
    await findMissing(base, booking)
    return undefined
  } catch (err) {
    if (err instanceof NullaDaInviare || err instanceof SchedineInCorso) return err
    throw err
  }
}

/** Warnings when the name has a wrong encoding, and when bookings of other people have the same external code. */
async function remarksOnBooking (db: Executor, id: number, nome_cognome: string): Promise<Segnalazione[]> {
  const doubt = encodingDoubt(nome_cognome)
  const name = doubt === undefined ? [] : [remark(0, 'nome_cognome', `Il nome della prenotazione ${doubt}`)]
  const others = await bookingsWithCodeOf(db, id)
  if (others.length === 0) return name
  const who = others.length === 1
    ? `Anche la prenotazione ${others[0]} ha questo codice`
    : `Anche le prenotazioni ${others.join(', ')} hanno questo codice`
  const messaggio = `${who}, con un altro nome: controllarlo`
  return [...name, remark(0, 'idf_gen', messaggio)]
}
