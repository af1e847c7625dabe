import type { BookingState } from '#schemas/booking.ts'
import type { SchedinaIntera, SoggiornoDaPrenotazione } from '#schemas/from-booking.ts'
import {
  FAMILY_LEADER, leaderTypeOf, memberTypeOf, SINGLE_GUEST, WITHOUT_DOCUMENT, LEADERS
} from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS, SCHEDINA_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import { stayWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { italianDay, addDays, daysBetween, type Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import { arrivalWindowOpen } from '../deadlines.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import { isUnderWay } from '#schemas/submission.ts'
import { NullaDaInviare, SchedineInCorso } from '../sent-errors.ts'
import { findConflicts } from '../ledger/conflicts.ts'
import type { LedgerContext } from '../ledger/ledger-context.ts'
import { guestAt } from '../ledger/fingerprints.ts'
import { readWaiting } from '../ledger/read-ledger.ts'
import { groupsOf } from '../rules/guest-groups.ts'

type StoredType = string | null

/** The part of a booking to report, and its apartment. */
interface BookingChoice { dal?: Day, id_appartamento?: number }

interface BookingSchedine {
  schedine: SchedinaIntera[]
  /** The same guests with all stored fields, including the documents of members. */
  documents: SchedinaIntera[]
  /** The booking's number of guests. Some may not be saved yet. */
  numero_ospiti: number
  stato: BookingState
  /** The version of the booking that the guests were read from. */
  versione: number
  soggiorno: SoggiornoDaPrenotazione
}

/**
 * Reads the schedine of a booking's saved guests and its stay, in the form of `invio`. Unknown fields are `''`, and the
 * rules judge them.
 * @throws PrenotazioneNonTrovata, CampiNonValidi if nothing is due from that day
 */
export async function fromBooking (
  db: Executor, id: number, { dal, id_appartamento }: BookingChoice
): Promise<BookingSchedine> {
  const { ospiti: guests, check_in, numero_notti, numero_ospiti, stato, versione } = await stayWithGuests(db, id)
  const apartment = id_appartamento === undefined ? {} : { id_appartamento }
  return {
    schedine: schedineOf(guests),
    documents: guests.map(stored),
    numero_ospiti,
    stato,
    versione,
    soggiorno: { id, ...stretchOf({ check_in, numero_notti }, dal), ...apartment }
  }
}

/**
 * The part of a stay from a day on. A stay of more than 30 nights is reported every 30 nights, as if the guests arrived
 * again.
 */
function stretchOf (stay: Stretch, dal = stay.check_in): Stretch {
  const days = daysToCommunicate(stay)
  if (!days.includes(dal)) {
    throw new CampiNonValidi({ campo: 'dal', messaggio: `può essere soltanto ${days.join(', ')}` })
  }
  return { check_in: dal, numero_notti: stay.numero_notti - daysBetween(stay.check_in, dal) }
}

interface Stretch { check_in: Day, numero_notti: number }

/** The arrival, and every 30th night after it. */
function daysToCommunicate ({ check_in, numero_notti }: Stretch): Day[] {
  return Array.from({ length: Math.ceil(numero_notti / MAX_DECLARED_NIGHTS) }, (_, n) =>
    addDays(check_in, n * MAX_DECLARED_NIGHTS))
}

/**
 * Requires `dal` when the arrival can no longer be sent, but a later period of the stay can.
 * @throws CampiNonValidi
 */
export function refuseUnnamedRenewal (stay: Stretch, today: Day): void {
  const [arrival, ...renewals] = daysToCommunicate(stay)
  const due = renewals.find((day) => arrivalWindowOpen(day, today))
  if (due === undefined || arrivalWindowOpen(arrival!, today)) return
  const messaggio = `l'arrivo ${dayWithArticle('del', italianDay(arrival!))} non si può più inviare; ` +
    `per le notti ${dayWithArticle('dal', italianDay(due))} indicare "dal": "${due}"`
  throw new CampiNonValidi({ campo: 'dal', messaggio })
}

/** The schedine of stored guests, in order. A member's stored document is left out. */
export function schedineOf (guests: StayWithGuests['ospiti']): SchedinaIntera[] {
  const types = guestTypes(guests.map(({ tipo_alloggiato }) => tipo_alloggiato))
  return guests.map((guest, at) => {
    const tipo_alloggiato = types[at]!
    const leftOut = WITHOUT_DOCUMENT.includes(tipo_alloggiato) ? NO_DOCUMENT : {}
    return { ...stored(guest), ...leftOut, tipo_alloggiato }
  })
}

const NO_DOCUMENT = Object.fromEntries(DOCUMENT_FIELDS.map((name) => [name, '']))

function stored (guest: StayWithGuests['ospiti'][number]): SchedinaIntera {
  return Object.fromEntries(SCHEDINA_FIELDS.map((name) => [name, guest[name] ?? ''])) as SchedinaIntera
}

/**
 * Completes the guest types of a list, and keeps stored ones. A guest without a type is a member of the leader before
 * him. Without one he is a leader if others follow (of a family, unless they are members of a group), else a single
 * guest.
 */
export function guestTypes (stored: readonly StoredType[]): string[] {
  let member: string | undefined
  return stored.map((given, at) => {
    const type = given ?? member ?? leaderOf(stored[at + 1])
    if (!WITHOUT_DOCUMENT.includes(type)) member = memberTypeOf(type)
    return type
  })
}

/** The type of a guest without a leader, by the next guest's: null is untyped, undefined means no next guest. */
function leaderOf (next: StoredType | undefined): string {
  if (next === null) return FAMILY_LEADER
  return (next === undefined ? undefined : leaderTypeOf(next)) ?? SINGLE_GUEST
}

/** The guests of a booking who are still to be sent. */
interface Missing {
  schedine: SchedinaIntera[]
  /** For each guest the index in the booking. */
  places: number[]
  avvisi: Segnalazione[]
}

/**
 * Finds the guests of a booking without a live row. A guest whose leader or members were sent already is sent as a
 * single guest, with the stored document.
 * @throws NullaDaInviare when no guest is left, SchedineInCorso while one of them is being sent
 */
export async function findMissing (
  { db, keys, service }: Pick<LedgerContext, 'db' | 'keys' | 'service'>,
  { schedine, documents, numero_ospiti, soggiorno: { check_in } }: BookingSchedine
): Promise<Missing> {
  const guests = documents.map((guest) => guestAt(check_in, guest))
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, service.account, guests)
  // The same document with another name may be another guest: a person must confirm.
  const earlier = conflicts.flatMap(({ duplicate: { ospite, ricevuta, motivo } }) =>
    ricevuta === null || motivo !== 'stessa_persona' ? [] : { ospite, ricevuta })
  const sent = new Set(earlier.map(({ ospite }) => ospite))
  if (sent.size > 0 && sent.size === guests.length) {
    for (const { duplicate: { ricevuta, stato } } of conflicts) {
      if (isUnderWay(stato) && ricevuta !== null && stato !== null) {
        const waiting = await readWaiting(db, [ricevuta])
        throw new SchedineInCorso(ricevuta, stato, { waitsUntil: waiting.get(ricevuta) })
      }
    }
    const unsaved = Math.max(0, numero_ospiti - documents.length)
    throw new NullaDaInviare([...new Set(earlier.map(({ ricevuta }) => ricevuta))], unsaved)
  }
  const groups = groupsOf(schedine.map(({ tipo_alloggiato }) => tipo_alloggiato))
  return joined(groups.map((group) => leftOf(group, sent, { schedine, documents })))
}

type Guests = Pick<BookingSchedine, 'schedine' | 'documents'>

function leftOf (group: readonly number[], sent: ReadonlySet<number>, { schedine, documents }: Guests): Missing {
  const places = group.filter((ospite) => !sent.has(ospite))
  const leader = group[0]!
  const leads = LEADERS.includes(schedine[leader]!.tipo_alloggiato) && !sent.has(leader) && places.length > 1
  if (leads || places.length === group.length) {
    return { places, schedine: places.map((ospite) => schedine[ospite]!), avvisi: [] }
  }
  const why = sent.has(leader) ? 'il capo è già stato inviato' : 'i familiari o membri sono già stati inviati'
  return {
    places,
    schedine: places.map((ospite) => ({ ...documents[ospite]!, tipo_alloggiato: SINGLE_GUEST })),
    avvisi: places.map((ospite) => ({
      ospite,
      campo: 'tipo_alloggiato',
      messaggio: `Comunicato come ospite singolo (${SINGLE_GUEST}): ${why}`
    }))
  }
}

function joined (parts: readonly Missing[]): Missing {
  return {
    places: parts.flatMap(({ places }) => places),
    schedine: parts.flatMap(({ schedine }) => schedine),
    avvisi: parts.flatMap(({ avvisi }) => avvisi)
  }
}
