import type { SchedinaIntera, SoggiornoDaPrenotazione } from '#schemas/from-booking.ts'
import {
  FAMILY_LEADER, leaderTypeOf, memberTypeOf, SINGLE_GUEST, WITHOUT_DOCUMENT, LEADERS
} from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS, SCHEDINA_FIELDS, type Segnalazione } from '#schemas/schedina.ts'
import { stayWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { addDays, daysBetween, type Day } from '#src/lib/time.ts'
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

/** Which part of a booking is communicated, and for which apartment. */
interface BookingChoice { dal?: Day, id_appartamento?: number }

interface BookingSchedine {
  schedine: SchedinaIntera[]
  /** The same guests with all that is stored of them, the documents of members too. */
  documents: SchedinaIntera[]
  /** How many guests the booking is for: some may not be saved yet. */
  numero_ospiti: number
  /** The version of the booking of which these are the guests. */
  versione: number
  soggiorno: SoggiornoDaPrenotazione
}

/**
 * The schedine of a booking's saved guests, and its stay, as `invio` takes them. What is not known is `''`: the rules
 * judge it.
 * @throws PrenotazioneNonTrovata, CampiNonValidi for a day from which nothing is to be communicated
 */
export async function fromBooking (
  db: Executor, id: number, { dal, id_appartamento }: BookingChoice
): Promise<BookingSchedine> {
  const { ospiti: guests, check_in, numero_notti, numero_ospiti, versione } = await stayWithGuests(db, id)
  const apartment = id_appartamento === undefined ? {} : { id_appartamento }
  return {
    schedine: schedineOf(guests),
    documents: guests.map(stored),
    numero_ospiti,
    versione,
    soggiorno: { id, ...stretchOf({ check_in, numero_notti }, dal), ...apartment }
  }
}

/**
 * The part of a stay that is communicated from a day on: a stay longer than 30 nights once for every 30, as if the
 * guests arrived again.
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
 * A stay whose arrival can no longer be sent, and of which further nights can: they are meant, and have to be named.
 * @throws CampiNonValidi
 */
export function refuseUnnamedRenewal (stay: Stretch, today: Day): void {
  const [arrival, ...renewals] = daysToCommunicate(stay)
  const due = renewals.find((day) => arrivalWindowOpen(day, today))
  if (due === undefined || arrivalWindowOpen(arrival!, today)) return
  const messaggio = `l'arrivo del ${arrival} non si può più inviare; per le notti dal ${due} indicare "dal": "${due}"`
  throw new CampiNonValidi({ campo: 'dal', messaggio })
}

/** The schedine of stored guests, in their order. A member's stored document is no part of his schedina. */
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
 * The guest types of a list; types that are stored stay. A guest without a type is a member of the leader before him.
 * Without a leader before him he is one himself if others follow him (of a family, unless these are members of a
 * group), else a single guest.
 */
export function guestTypes (stored: readonly StoredType[]): string[] {
  let member: string | undefined
  return stored.map((given, at) => {
    const type = given ?? member ?? leaderOf(stored[at + 1])
    if (!WITHOUT_DOCUMENT.includes(type)) member = memberTypeOf(type)
    return type
  })
}

/** The type of a guest without a leader by the guest who comes next: null has no type yet, undefined is no guest. */
function leaderOf (next: StoredType | undefined): string {
  if (next === null) return FAMILY_LEADER
  return (next === undefined ? undefined : leaderTypeOf(next)) ?? SINGLE_GUEST
}

/** What is left of a booking. */
interface Missing {
  schedine: SchedinaIntera[]
  /** For each its index in the booking's list. */
  places: number[]
  avvisi: Segnalazione[]
}

/**
 * The guests of a booking of whom no row is live. A guest whose leader or members are with the police already goes
 * alone, with the document that is stored.
 * @throws NullaDaInviare when no guest is left, SchedineInCorso while one of them is being sent
 */
export async function findMissing (
  { db, keys, service }: Pick<LedgerContext, 'db' | 'keys' | 'service'>,
  { schedine, documents, numero_ospiti, soggiorno: { check_in } }: BookingSchedine
): Promise<Missing> {
  const guests = documents.map((guest) => guestAt(check_in, guest))
  const conflicts = guests.length === 0 ? [] : await findConflicts(db, keys, service.account, guests)
  // The same document alone does not make another name the same guest: that is for a person to confirm.
  const earlier = conflicts.flatMap(({ told: { ospite, ricevuta, motivo } }) =>
    ricevuta === null || motivo !== 'stessa_persona' ? [] : { ospite, ricevuta })
  const sent = new Set(earlier.map(({ ospite }) => ospite))
  if (sent.size > 0 && sent.size === guests.length) {
    for (const { told: { ricevuta, stato } } of conflicts) {
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
