import type { GuestInput } from '#schemas/guest.ts'
import type { SavedGuest } from '#src/bookings/index.ts'
import { isDay } from '#src/lib/time.ts'

export type Fields = Partial<GuestInput>
export interface Names { nome: string, cognome: string }

/** Saved fields that stay with the same name, with the same birth date, and with the same document number. */
const OF_PERSON = ['sesso', 'data_nascita', 'cittadinanza'] as const
const OF_BIRTH = ['luogo_nascita', 'comune_nascita', 'provincia_nascita', 'stato_nascita'] as const
const OF_DOCUMENT = ['tipo_documento', 'numero_documento', 'luogo_rilascio'] as const

/**
 * The fields to write over the guest who is saved in the place. A complete birth date of the same person is kept if the
 * document has an incomplete one.
 */
export function kept (saved: SavedGuest | undefined, read: Fields & Names): Fields & Names {
  const isNamesake = saved !== undefined && nameOf(saved) === nameOf(read)
  const { data_nascita: born, ...others } = read
  const isLess = isNamesake && isDay(saved.data_nascita ?? '') && !isDay(born ?? '')
  const fields: Fields & Names = isLess ? others : read
  const keeps = (name: 'data_nascita' | 'numero_documento') =>
    fields[name] === undefined ? isNamesake : saved?.[name] === fields[name]
  const cleared = [
    ...(isNamesake ? [] : OF_PERSON),
    ...(keeps('data_nascita') ? [] : OF_BIRTH),
    ...(keeps('numero_documento') ? [] : OF_DOCUMENT)
  ]
  return { ...Object.fromEntries(cleared.map((name) => [name, null])), ...fields }
}

export function nameOf ({ nome, cognome }: Names): string {
  return `${cognome}|${nome}`.toUpperCase()
}
