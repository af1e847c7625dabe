import { CAMPI_SCHEDINA, type SchedinaIntera, type SoggiornoDaPrenotazione } from '#schemas/from-booking.ts'
import { stayWithGuests } from '#src/bookings/index.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import { SENZA_DOCUMENTO } from '../rules/fields.ts'

type Tipo = string | null

/** The type of a member by the type of its leader. */
const MEMBERS = new Map([['17', '19'], ['18', '20']])
/** Fields that only single guests and leaders have. */
const DOCUMENT: readonly string[] = ['tipo_documento', 'numero_documento', 'luogo_rilascio']

/**
 * The schedine of a booking's saved guests, and its stay, as `invio` takes them. What is not known is `''`: the rules
 * judge it.
 * @throws PrenotazioneNonTrovata
 */
export async function fromBooking (
  db: Executor, id: number, id_appartamento?: number
): Promise<{ schedine: SchedinaIntera[], soggiorno: SoggiornoDaPrenotazione }> {
  const { ospiti: guests, ...stay } = await stayWithGuests(db, id)
  const types = guestTypes(guests.map(({ tipo_alloggiato }) => tipo_alloggiato))
  const schedine = guests.map((guest, at) => {
    const tipo_alloggiato = types[at]!
    const unfit = SENZA_DOCUMENTO.includes(tipo_alloggiato) ? DOCUMENT : []
    const values = CAMPI_SCHEDINA.map((name): [string, string] => [name, unfit.includes(name) ? '' : guest[name] ?? ''])
    return { ...Object.fromEntries(values) as SchedinaIntera, tipo_alloggiato }
  })
  return { schedine, soggiorno: id_appartamento === undefined ? stay : { ...stay, id_appartamento } }
}

/**
 * The guest types of a list; a type that is stored stays. A guest without a type is a member of the leader before.
 * Without a leader before, the guest is a leader if others follow (of a family, unless they are members of a group),
 * else a single guest.
 */
export function guestTypes (stored: readonly Tipo[]): string[] {
  let leader: string | undefined
  return stored.map((tipo, at) => {
    const type = tipo ?? (leader === undefined ? typeBefore(stored[at + 1]) : MEMBERS.get(leader)!)
    if (!SENZA_DOCUMENTO.includes(type)) leader = MEMBERS.has(type) ? type : undefined
    return type
  })
}

/** The type of a guest without a leader, by the next one in the list: null has no type yet, undefined is the end. */
function typeBefore (next: Tipo | undefined): string {
  if (next === null) return '17'
  return [...MEMBERS].find(([, member]) => member === next)?.[0] ?? '16'
}
