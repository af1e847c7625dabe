import { Type, type Static, type TOptional, type TString } from '@sinclair/typebox'
import { Closed, Nullable, OneOf, fieldNames } from './common.ts'

/** The contract's formats, by number and length of the lines. */
const MRZ_FORMATS = ['TD1', 'TD2', 'TD3'] as const
export type MrzFormat = (typeof MRZ_FORMATS)[number]

/** The actual layouts: visas have the size of `TD3` and `TD2`, the old French card that of `TD2`. */
const MRZ_LAYOUTS = [...MRZ_FORMATS, 'MRV-A', 'MRV-B', 'FRA'] as const
export type MrzLayout = (typeof MRZ_LAYOUTS)[number]

/** The legibility of characters in an image: all clear, some doubtful, or some illegible. */
export const LEGIBILITIES = ['buona', 'dubbia', 'nulla'] as const
export type Legibility = (typeof LEGIBILITIES)[number]

/** Null if the layout lacks the field. */
const FieldLegibility = Nullable(OneOf(LEGIBILITIES))

/** How well the image shows each field, with its check digit. `composite` is the digit over several fields. */
export const Leggibilita = Closed({
  documentCode: FieldLegibility,
  issuingCountry: FieldLegibility,
  surname: FieldLegibility,
  name: FieldLegibility,
  docNumber: FieldLegibility,
  nationality: FieldLegibility,
  birthDate: FieldLegibility,
  gender: FieldLegibility,
  expiryDate: FieldLegibility,
  optionalData: FieldLegibility,
  composite: FieldLegibility
}, { description: 'Quanto bene l’immagine mostra ogni campo; null se la zona non lo ha' })
export type Leggibilita = Static<typeof Leggibilita>
export const LEGIBLE_FIELDS = fieldNames(Leggibilita)

export const ParseMrzBody = Closed(
  {
    lines: Type.Array(Type.String({ maxLength: 200 }), {
      minItems: 2,
      maxItems: 3,
      description: 'Le righe della zona: 3 da 30 caratteri (TD1), 2 da 36 (TD2) o 2 da 44 (TD3)'
    }),
    text: Type.Optional(Type.String({
      maxLength: 20_000,
      description: 'Il testo del documento (`text` di ocr): se ne confrontano i nomi, e di una carta ' +
        'd’identità italiana dà i luoghi di nascita e di rilascio'
    })),
    leggibilita: Type.Optional({
      ...Leggibilita, description: '`leggibilita` di ocr: un campo che non si vede bene non è valido'
    })
  },
  {
    examples: [{
      lines: ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']
    }]
  }
)

export type ParseMrzBody = Static<typeof ParseMrzBody>

/** Whether a check digit is correct. Null if the layout has none. */
const Check = Nullable(Type.Boolean())

export const MrzChecks = Closed({
  docNumber: Check,
  birthDate: Check,
  expiryDate: Check,
  optionalData: Check,
  composite: Check
})
export type MrzChecks = Static<typeof MrzChecks>
export const MRZ_CHECKS = fieldNames(MrzChecks)

/** A date of the MRZ. '' if it is missing, incomplete or invalid. */
const ZoneDay = Type.String({ maxLength: 10, examples: ['1964-12-30'] })

export const ParsedMrz = Closed({
  format: OneOf(MRZ_FORMATS),
  name: Type.String(),
  surname: Type.String(),
  docNumber: Type.String(),
  birthDate: ZoneDay,
  gender: OneOf(['M', 'F', '']),
  nationality: Type.String({ description: 'ISO 3166-1 alpha-3, o il codice della zona che non vi corrisponde' }),
  expiryDate: ZoneDay,
  issuingCountry: Type.String(),
  valid: Type.Boolean({
    description: 'Le cifre di controllo sono giuste, nessuna data è impossibile, e nell’immagine si vede ogni carattere'
  }),
  checks: MrzChecks,
  layout: OneOf(MRZ_LAYOUTS),
  documentCode: Type.String({ examples: ['P'] }),
  nameTruncated: Type.Boolean({ description: 'Il nome riempie il suo spazio: può essere stato troncato' }),
  nationalityRaw: Type.String({ description: 'Il codice come è stampato, per esempio D' }),
  issuingCountryRaw: Type.String()
})
export type ParsedMrz = Static<typeof ParsedMrz>

/** Guest fields read from an MRZ. `BIRTH_PLACE_FIELDS` are those of the birth place, which an MRZ lacks. */
const GUEST_FIELDS = {
  nome: Type.String(),
  cognome: Type.String(),
  sesso: OneOf(['M', 'F', '']),
  data_nascita: ZoneDay,
  cittadinanza: Type.String({ examples: ['100000100'] }),
  tipo_documento: Type.String({ examples: ['IDELE'] }),
  numero_documento: Type.String(),
  luogo_rilascio: Type.String()
}
type ScannedField = keyof typeof GUEST_FIELDS
export const SCANNED_FIELDS = Object.keys(GUEST_FIELDS) as ScannedField[]
export const BIRTH_PLACE_FIELDS = ['stato_nascita', 'comune_nascita', 'provincia_nascita'] as const

/** A guest for `saveOspiti`, as far as the document says. '' means unknown. */
export const ScannedGuest = Closed({
  ...GUEST_FIELDS,
  ...Object.fromEntries(BIRTH_PLACE_FIELDS.map((name) => [name, Type.Optional(Type.String())])) as
    Record<(typeof BIRTH_PLACE_FIELDS)[number], TOptional<TString>>,
  proposti: Type.Optional(Type.Array(OneOf([...SCANNED_FIELDS, ...BIRTH_PLACE_FIELDS]), {
    description: 'Campi proposti dal testo, da controllare: da togliere prima di salvare'
  })),
  da_completare: Type.Array(OneOf([...SCANNED_FIELDS, ...BIRTH_PLACE_FIELDS]), {
    description: 'Campi che il documento non dice: da togliere prima di salvare'
  })
})
export type ScannedGuest = Static<typeof ScannedGuest>

/** A warning for the user to check. `campo` is a field of `parsed` or `ospite`. */
export const Avviso = Closed({ campo: Type.String(), messaggio: Type.String() })
export type Avviso = Static<typeof Avviso>

export const PARSED_EXAMPLE: ParsedMrz = {
  format: 'TD1',
  name: 'BIANCA',
  surname: 'ROSSI',
  docNumber: 'CA00000AA',
  birthDate: '1964-12-30',
  gender: 'F',
  nationality: 'ITA',
  expiryDate: '2022-12-30',
  issuingCountry: 'ITA',
  valid: true,
  checks: { docNumber: true, birthDate: true, expiryDate: true, optionalData: null, composite: true },
  layout: 'TD1',
  documentCode: 'C',
  nameTruncated: false,
  nationalityRaw: 'ITA',
  issuingCountryRaw: 'ITA'
}

export const ParseMrzResponse = Closed(
  { parsed: ParsedMrz, ospite: ScannedGuest, avvisi: Type.Array(Avviso) },
  {
    examples: [{
      parsed: PARSED_EXAMPLE,
      ospite: {
        nome: 'BIANCA',
        cognome: 'ROSSI',
        sesso: 'F',
        data_nascita: '1964-12-30',
        cittadinanza: '100000100',
        tipo_documento: 'IDELE',
        numero_documento: 'CA00000AA',
        luogo_rilascio: '',
        da_completare: ['luogo_rilascio', 'stato_nascita', 'comune_nascita', 'provincia_nascita']
      },
      avvisi: [{ campo: 'expiryDate', messaggio: 'Il documento è scaduto il 30/12/2022' }]
    }]
  }
)
export type ParseMrzResponse = Static<typeof ParseMrzResponse>
