import type { GuestInput } from '#schemas/guest.ts'
import type { SavedGuest } from '#src/bookings/index.ts'
import { isDay } from '#src/lib/time.ts'

export type Fields = Partial<GuestInput>
export interface Names { nome: string, cognome: string }

/** Saved fields that stay if the name is the same, if the birth date is, and if the document number is. */
const OF_PERSON = ['sesso', 'data_nascita', 'cittadinanza'] as const
const OF_BIRTH = ['luogo_nascita', 'comune_nascita', 'provincia_nascita', 'stato_nascita'] as const
const OF_DOCUMENT = ['tipo_documento', 'numero_documento', 'luogo_rilascio'] as const

/**
 * The fields to write over the guest who is saved in the place: those of the document, and null for saved values to
 * clear. If the document lacks a field, the saved value stays under a condition. Sex, birth date and citizenship need
 * the same name. The birth place needs the same birth date, and details of the document the same number. If the
 * document lacks the birth date or number, the same name is enough. A complete saved birth date also stays if the
 * document's is incomplete.
 */
export function mergedFields (saved: SavedGuest | undefined, read: Fields & Names): Fields & Names {
  const isNamesake = saved !== undefined && nameOf(saved) === nameOf(read)
  const { data_nascita: born, ...others } = read
  const isLessComplete = isNamesake && isDay(saved.data_nascita ?? '') && !isDay(born ?? '')
  const fields: Fields & Names = isLessComplete ? others : read
  const keeps = (name: 'data_nascita' | 'numero_documento') =>
    fields[name] === undefined ? isNamesake : saved?.[name] === fields[name]
  const cleared = [
    ...(isNamesake ? [] : OF_PERSON),
    ...(keeps('data_nascita') ? [] : OF_BIRTH),
    ...(keeps('numero_documento') ? [] : OF_DOCUMENT)
  ]
  return { ...Object.fromEntries(cleared.map((name) => [name, null])), ...fields }
}

/** Surname and name in capitals, for comparison. */
export function nameOf ({ nome, cognome }: Names): string {
  return `${cognome}|${nome}`.toUpperCase()
}
