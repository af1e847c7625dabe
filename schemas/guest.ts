import { Type, type Static, type StringOptions } from '@sinclair/typebox'
import { BirthDate, BirthDateOrEmpty, Closed, Day, Id, Nullable, OneOf, Text, Upper, fieldNames } from './common.ts'
import { GUEST_WORDS } from './schedina.ts'

/** A name with at least one character other than whitespace. */
export function Name (maxLength: number, options: StringOptions = {}) {
  return Text(maxLength, {
    minLength: 1,
    pattern: '^(?=.*[^\\s])[^\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$',
    ...options
  })
}

/** A guest in a booking's response. */
export const Guest = Closed({
  id: Id,
  nome: Type.String(),
  cognome: Type.String(),
  sesso: Nullable(Type.String()),
  data_nascita: Nullable(BirthDate),
  tipo_documento: Nullable(Type.String()),
  numero_documento: Nullable(Type.String()),
  arrivo: Type.Optional(Nullable({ ...Day, description: 'Soltanto se l’ospite ha giorni propri; così `partenza`' })),
  partenza: Type.Optional(Nullable(Day))
}, { $id: 'Ospite' })
export type Guest = Static<typeof Guest>

/** A field that may be absent, null or empty. All mean "unknown", and are stored as null. */
const optional = (maxLength: number, description?: string) =>
  Type.Optional(Nullable(Text(maxLength, { ...description !== undefined && { description } })))
/** A code. A name is also stored, and the police rules then propose the code. */
const code = (description: string) => Upper(optional(100, description))

/** A day, with the same meaning of absent, null and empty. */
const DayOrEmpty = (description?: string) => Type.Optional(Type.Unsafe<string | null>({
  type: ['string', 'null'], format: 'day-or-empty', maxLength: 10, ...description !== undefined && { description }
}))

/** A guest in a `saveOspiti` request. It has the fields of a schedina, too. */
export const GuestInput = Closed(
  {
    nome: optional(100, 'Vuoto se il documento ha un nome solo, che va in `cognome`'),
    cognome: Name(100),
    sesso: Type.Optional(
      Upper(Type.Unsafe<'M' | 'F' | 'X' | '<' | '' | null>({
        ...OneOf(['M', 'F', 'X', '<', '']),
        type: ['string', 'null'],
        enum: ['M', 'F', 'X', '<', '', null],
        description: '`X`, `<` o vuoto, se il documento non lo indica: alla Polizia vanno `M` o `F`'
      }))
    ),
    data_nascita: Type.Optional(Nullable(BirthDateOrEmpty)),
    luogo_nascita: optional(100, 'In parole; alla Polizia vanno i tre campi con i codici'),
    cittadinanza: code(GUEST_WORDS.cittadinanza),
    tipo_documento: code(GUEST_WORDS.tipo_documento),
    numero_documento: optional(50),
    luogo_rilascio: optional(100, GUEST_WORDS.luogo_rilascio),
    tipo_alloggiato: code(GUEST_WORDS.tipo_alloggiato),
    comune_nascita: code(GUEST_WORDS.comune_nascita),
    provincia_nascita: code(GUEST_WORDS.provincia_nascita),
    stato_nascita: code(GUEST_WORDS.stato_nascita),
    arrivo: DayOrEmpty('Se non è quello della prenotazione: il primo giorno di questo ospite'),
    partenza: DayOrEmpty('Se non è quella della prenotazione: il giorno in cui questo ospite parte')
  },
  { $id: 'OspiteDaSalvare' }
)
export type GuestInput = Static<typeof GuestInput>

export const GuestFields = fieldNames(GuestInput)

export const SaveGuests = Closed(
  { prenotazione_id: Id, dati: Type.Array(GuestInput, { maxItems: 1000 }) },
  {
    examples: [
      {
        prenotazione_id: 1,
        dati: [
          {
            nome: 'Anna',
            cognome: 'Bianchi',
            sesso: 'F',
            data_nascita: '1985-04-12',
            cittadinanza: '100000100',
            tipo_documento: 'IDELE',
            numero_documento: 'CA12345AA',
            luogo_rilascio: '412058091'
          }
        ]
      }
    ]
  }
)
export type SaveGuests = Static<typeof SaveGuests>

export const SaveGuestsResponse = Closed({ message: Type.String(), count: Type.Integer(), status: Type.Integer() }, {
  examples: [{ message: '1 ospite salvato', count: 1, status: 200 }]
})
