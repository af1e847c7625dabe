import type { SchedinaIntera, SoggiornoDaPrenotazione } from '#schemas/from-booking.ts'
import {
  FAMILY_LEADER, leaderTypeOf, memberTypeOf, SINGLE_GUEST, WITHOUT_DOCUMENT
} from '#schemas/guest-types.ts'
import { DOCUMENT_FIELDS, SCHEDINA_FIELDS, type SchedinaField } from '#schemas/schedina.ts'
import { stayWithGuests, type StayWithGuests } from '#src/bookings/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'

type StoredType = string | null

/**
 * The schedine of a booking's saved guests, and its stay, as `invio` takes them. What is not known is `''`: the rules
 * judge it.
 * @throws PrenotazioneNonTrovata
 */
export async function fromBooking (
  db: Executor, id: number, id_appartamento?: number
): Promise<{ schedine: SchedinaIntera[], soggiorno: SoggiornoDaPrenotazione }> {
  const { ospiti: guests, check_in, numero_notti } = await stayWithGuests(db, id)
  const soggiorno = { id, check_in, numero_notti, ...(id_appartamento === undefined ? {} : { id_appartamento }) }
  return { schedine: schedineOf(guests), soggiorno }
}

/** The schedine of stored guests, in their order. A member's stored document is no part of his schedina. */
export function schedineOf (guests: StayWithGuests['ospiti']): SchedinaIntera[] {
  const types = guestTypes(guests.map(({ tipo_alloggiato }) => tipo_alloggiato))
  return guests.map((guest, at) => {
    const tipo_alloggiato = types[at]!
    const leftOut: readonly SchedinaField[] = WITHOUT_DOCUMENT.includes(tipo_alloggiato) ? DOCUMENT_FIELDS : []
    const values = SCHEDINA_FIELDS.map((name) => [name, leftOut.includes(name) ? '' : guest[name] ?? ''])
    return { ...Object.fromEntries(values) as SchedinaIntera, tipo_alloggiato }
  })
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
