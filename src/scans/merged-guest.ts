import type { GuestInput } from '#schemas/guest.ts'
import type { SavedGuest } from '#src/bookings/index.ts'

export type Fields = Partial<GuestInput>
export interface Names { nome: string, cognome: string }

/** Fields that stay valid with the same name, with the same birth date, and with the same document number. */
const OF_PERSON = ['sesso', 'data_nascita', 'cittadinanza'] as const
const OF_BIRTH = ['luogo_nascita', 'comune_nascita', 'provincia_nascita', 'stato_nascita'] as const
const OF_DOCUMENT = ['tipo_documento', 'numero_documento', 'luogo_rilascio'] as const

/** The fields to write over the guest who is saved in the place. */
export function kept (saved: SavedGuest | undefined, fields: Fields & Names): Fields & Names {
  const isNamesake = saved !== undefined && nameOf(saved) === nameOf(fields)
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
