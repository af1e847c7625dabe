import type { BookingState } from '#schemas/booking.ts'
import type { SchedinaIntera, SoggiornoDaPrenotazione } from '#schemas/from-booking.ts'
import {
  FAMILY_LEADER, leaderTypeOf, memberTypeOf, SINGLE_GUEST, WITHOUT_DOCUMENT, LEADERS
} from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS, SCHEDINA_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import { nightsOf, stayWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { dayWithArticle } from '#src/lib/day-with-article.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
import { isUnderWay } from '#schemas/submission.ts'
import { NullaDaInviare, SchedineInCorso } from '../sent-errors.ts'
import { findConflicts } from '../ledger/conflicts.ts'
import type { Comparison } from '../ledger/coverage-rows.ts'
import { compareStay } from '../ledger/coverage.ts'
import { unsavedGuests } from '../ledger/stay-nights.ts'
import type { LedgerBase } from '../ledger/ledger-context.ts'
import { guestAt } from '../ledger/fingerprints.ts'
import { readRetryTimes } from '../ledger/read-ledger.ts'
import { groupsOf } from '../rules/guest-groups.ts'
import { arrivingNow, dueFrom, otherPlaces } from './due-guests.ts'

type StoredType = string | null

/** The guests of a booking to report, and its apartment. */
interface BookingChoice { dal?: Day | undefined, id_appartamento?: number | undefined }

/** Guests with the same arrival day. `places` gives their places in the booking. */
interface Chosen {
  schedine: SchedinaIntera[]
  places: number[]
  /** Warnings about guests who are sent with other data than stored. */
  avvisi: Segnalazione[]
}

interface BookingSchedine extends Chosen {
  /** The nights of each guest. */
  nights: number[]
  /** All guests of the booking. */
  all: Guests
  /** The number of guests who are not saved yet. */
  unsaved: number
  stato: BookingState
  nome_cognome: string
  /** The version of the booking when the guests were read. */
  versione: number
  soggiorno: SoggiornoDaPrenotazione
  /** Warnings about guests who are due on another day. */
  later: Segnalazione[]
}

type Guests = {
  schedine: readonly SchedinaIntera[]
  /** The same guests with all stored fields, including the documents of members. */
  documents: readonly SchedinaIntera[]
}

/**
 * Reads the schedine of a booking's saved guests and its stay, in the form of `invio`. Includes the guests who arrive
 * together, or whose nights from `dal` are not declared. Unknown fields are `''`, which the rules then check.
 * @throws PrenotazioneNonTrovata, CampiNonValidi if no guest is due from that day
 */
export async function fromBooking (
  comparison: Comparison, id: number, { dal, id_appartamento }: BookingChoice
): Promise<BookingSchedine> {
  const { db, today } = comparison
  const stay = await stayWithGuests(db, id)
  const { ospiti: guests, check_in, numero_notti, stato, nome_cognome, versione } = stay
  const compared = await compareStay(comparison, stay)
  const due = dal === undefined ? arrivingNow(compared, today) : dueFrom(compared, dal, today)
  const apartment = id_appartamento === undefined ? {} : { id_appartamento }
  const all = { schedine: schedineOf(guests), documents: guests.map(stored) }
  const chosen = chooseDue(stay, due)
  const nights = due.places.length === 0
    ? daysBetween(due.day, addDays(check_in, numero_notti))
    : Math.max(...due.nights)
  return {
    ...chosen,
    nights: chosen.places.map((place) => due.nights[due.places.indexOf(place)]!),
    all,
    unsaved: unsavedGuests(stay.numero_ospiti, compared.days),
    stato,
    nome_cognome,
    versione,
    soggiorno: { id, check_in: due.day, numero_notti: nights, ...apartment },
    later: dal === undefined ? laterOf(stay, otherPlaces(stay, due), due.day) : []
  }
}

/** Warnings about guests who arrive after a day. */
function laterOf (stay: StayWithGuests, others: readonly number[], day: Day): Segnalazione[] {
  const nights = nightsOf(stay)
  return others.flatMap((ospite) => {
    const { arrival } = nights(stay.ospiti[ospite]!)
    const messaggio = `Arriva ${dayWithArticle('il', arrival)}: va inviato da quel giorno`
    return arrival > day ? [{ ospite, campo: 'arrivo', messaggio }] : []
  })
}

/** The schedine of stored guests, in order, without the documents of members. */
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
 * Completes the guest types of a list, and keeps stored types. A guest without a type is a member if a leader precedes.
 * Otherwise the guest is a leader if a member, or another guest without a type, follows. Else the guest is single. A
 * leader leads a family, unless a group member follows.
 */
export function guestTypes (stored: readonly StoredType[]): string[] {
  let member: string | undefined
  return stored.map((given, at) => {
    const type = given ?? member ?? leaderOf(stored[at + 1])
    if (!WITHOUT_DOCUMENT.includes(type)) member = memberTypeOf(type)
    return type
  })
}

/** The type of a guest without a leader. `next` is the next guest's type, null if unset, undefined if none. */
function leaderOf (next: StoredType | undefined): string {
  if (next === null) return FAMILY_LEADER
  return (next === undefined ? undefined : leaderTypeOf(next)) ?? SINGLE_GUEST
}

/** The reason why a guest is left out of a list, as a text about a leader and a text about members. */
interface Reason { leader: string, members: string }

const SENT: Reason = {
  leader: 'il capo è già stato inviato', members: 'i familiari o membri sono già stati inviati'
}
const OTHER_DAY: Reason = {
  leader: 'il capo arriva un altro giorno', members: 'i familiari o membri arrivano un altro giorno'
}

/** The reason for a guest who arrived before, and is not due for these nights. */
const NOT_DUE: Reason = {
  leader: 'il capo è già partito, o comunicato per quelle notti',
  members: 'i familiari o membri sono già partiti, o comunicati per quelle notti'
}

/**
 * Finds the due guests of a booking without a live row. A guest whose leader or members were already sent becomes a
 * single guest, with the stored document.
 * @throws when no guest is left: SchedineInCorso while one of them is being sent, else NullaDaInviare
 */
export async function findMissing (
  { db, keys, mode }: Pick<LedgerBase, 'db' | 'keys' | 'mode'>,
  { all, places, unsaved, soggiorno: { check_in } }: BookingSchedine
): Promise<Chosen> {
  const guests = places.map((place) => guestAt(check_in, all.documents[place]!))
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, mode, guests)
  // The same document with another name may be another guest, so a person must confirm.
  const earlier = conflicts.flatMap(({ duplicate: { ospite, ricevuta, motivo } }) =>
    ricevuta === null || motivo !== 'stessa_persona' ? [] : { place: places[ospite]!, ricevuta })
  const sent = new Set(earlier.map(({ place }) => place))
  if (sent.size > 0 && sent.size === guests.length) {
    for (const { duplicate: { ricevuta, stato } } of conflicts) {
      if (isUnderWay(stato) && ricevuta !== null && stato !== null) {
        const waiting = await readRetryTimes(db, [ricevuta])
        throw new SchedineInCorso(ricevuta, stato, { waitsUntil: waiting.get(ricevuta) })
      }
    }
    throw new NullaDaInviare([...new Set(earlier.map(({ ricevuta }) => ricevuta))], unsaved)
  }
  return choose(all, (place) => sent.has(place) ? SENT : places.includes(place) ? undefined : OTHER_DAY)
}

/**
 * Chooses guests of a booking. A leader keeps only chosen members. Without a leader or members a guest is single, with
 * the stored document.
 * @param isOut the reason why the guest of a place is not chosen
 */
export function choose (all: Guests, isOut: (place: number) => Reason | undefined): Chosen {
  const groups = groupsOf(all.schedine.map(({ tipo_alloggiato }) => tipo_alloggiato))
  const parts = groups.map((group) => chosenOf(group, isOut, all))
  return {
    places: parts.flatMap(({ places }) => places),
    schedine: parts.flatMap(({ schedine }) => schedine),
    avvisi: parts.flatMap(({ avvisi }) => avvisi)
  }
}

function chosenOf (
  group: readonly number[], isOut: (place: number) => Reason | undefined, { schedine, documents }: Guests
): Chosen {
  const places = group.filter((place) => isOut(place) === undefined)
  const [leader] = group as [number]
  const leads = LEADERS.includes(schedine[leader]!.tipo_alloggiato) && places.includes(leader) && places.length > 1
  if (leads || places.length === group.length) {
    return { places, schedine: places.map((place) => schedine[place]!), avvisi: [] }
  }
  const why = isOut(leader)?.leader ?? group.flatMap((place) => isOut(place) ?? [])[0]!.members
  return {
    places,
    schedine: places.map((place) => ({ ...documents[place]!, tipo_alloggiato: SINGLE_GUEST })),
    avvisi: places.map((ospite) => ({
      ospite,
      campo: 'tipo_alloggiato',
      messaggio: `Comunicato come ospite singolo (${SINGLE_GUEST}): ${why}`
    }))
  }
}

/** Chooses the guests of a booking who are due on one day. */
export function chooseDue (
  { ospiti, check_in }: Pick<StayWithGuests, 'ospiti' | 'check_in'>,
  { day, places }: { day: Day, places: readonly number[] }
): Chosen {
  const all = { schedine: schedineOf(ospiti), documents: ospiti.map(stored) }
  return choose(all, (place) => {
    if (places.includes(place)) return undefined
    return (ospiti[place]!.arrivo || check_in) < day ? NOT_DUE : OTHER_DAY
  })
}
