import { Type, type Static } from '@sinclair/typebox'
import {
  BirthDate, BirthDateOrEmpty, Closed, Day, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text, Upper
} from './common.ts'
import { GuestInput } from './guest.ts'
import { IMAGE_FORMATS, ImageText } from './image.ts'
import { paging } from './paging.ts'
import { Avviso } from './scanning.ts'
import { Segnalazione } from './schedina.ts'

/* Scanned documents, stored with or without the guest to whom they belong. */

/** Fields of a document, named as in `parsed` of `mrz/parse`. '' means that the document does not say. */
const documentFields = {
  name: Text(100, { description: 'Vuoto se il documento ha un nome solo' }),
  surname: Text(100),
  docNum: Text(50),
  birthDate: BirthDateOrEmpty,
  gender: Upper(OneOf(['M', 'F', 'X', ''])),
  nationality: Upper(Text(9, {
    pattern: '^([A-Z]{3}|\\d{9})?$',
    description: 'Il codice della zona (ISO 3166-1 alpha-3), o quello della Polizia'
  }))
}
const furtherFields = {
  expiryDate: Type.String({ format: 'day-or-empty', maxLength: 10, examples: ['2032-12-30'] }),
  documentCode: Upper(Text(2, {
    pattern: '^([A-Z][A-Z0-9]?)?$', description: '`documentCode` di mrz/parse: dà il tipo'
  })),
  issuingCountry: Upper(Text(3, { pattern: '^([A-Z]{3})?$', description: '`issuingCountry` di mrz/parse' }))
}

/** The encrypted data of a scan. '' means that the document does not say. */
export const ScanData = Closed({ ...documentFields, ...furtherFields })
export type ScanData = Static<typeof ScanData>

/** Index in the booking's guest list, 0-based. */
export const GuestIndex = Type.Integer({
  minimum: 0, maximum: 999, description: 'Quale ospite della prenotazione, da 0', examples: [0]
})

const EXAMPLE = {
  name: 'BIANCA',
  surname: 'ROSSI',
  docNum: 'CA00000AA',
  birthDate: '1964-12-30',
  gender: 'F' as const,
  nationality: 'ITA',
  expiryDate: '2032-12-30'
}

export const SaveScanBody = Closed(
  {
    ...documentFields,
    gender: Upper(OneOf(['M', 'F', 'X', '<', ''], { description: '`<` è `X`' })),
    expiryDate: Type.Optional(furtherFields.expiryDate),
    documentCode: Type.Optional(furtherFields.documentCode),
    issuingCountry: Type.Optional(furtherFields.issuingCountry),
    image: Type.Optional(ImageText),
    prenotazione_id: Type.Optional(Id),
    guest_idx: Type.Optional(GuestIndex)
  },
  { examples: [EXAMPLE] }
)
export type SaveScanBody = Static<typeof SaveScanBody>

export const SaveScanResponse = Closed(
  { success: Type.Boolean(), message: Type.String(), id: Id, avvisi: Type.Array(Avviso) },
  { examples: [{ success: true, message: 'Scansione salvata', id: 1, avvisi: [] }] }
)

const SCAN_EXAMPLE = {
  id: 1,
  ...EXAMPLE,
  documentCode: 'C',
  issuingCountry: 'ITA',
  prenotazione_id: null,
  guest_idx: null,
  immagine: null,
  fino_a: '2026-11-28',
  created_at: '2026-11-21T09:30:00.000Z'
}

export const Scan = Closed({
  id: Id,
  ...ScanData.properties,
  prenotazione_id: Nullable(Id),
  guest_idx: Nullable(Type.Integer()),
  immagine: Nullable(Type.String({ description: 'Dove si legge l’immagine' })),
  fino_a: Nullable(Type.String({ ...Day, description: 'Quando si elimina; null: non è ancora noto' })),
  created_at: Instant
}, { $id: 'Scansione', examples: [SCAN_EXAMPLE] })
export type Scan = Static<typeof Scan>

export const ScanQuery = Closed({
  ...paging,
  prenotazione_id: Type.Optional({ ...Id, description: 'Soltanto quelle unite a questa prenotazione' })
})
export type ScanQuery = Static<typeof ScanQuery>

export const ScanList = Closed({ data: Type.Array(Ref(Scan)) }, { examples: [{ data: [SCAN_EXAMPLE] }] })
export const ScanResponse = Closed({ data: Ref(Scan) }, { examples: [{ data: SCAN_EXAMPLE }] })
export const ScanDeletion = Closed(
  { success: Type.Boolean(), message: Type.String() },
  { examples: [{ success: true, message: 'Scansione eliminata' }] }
)

const image = Object.fromEntries(Object.values(IMAGE_FORMATS).map(({ contentType }) => [
  contentType, { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) }
]))
export const ScanImage = { description: 'L’immagine', content: image }
export const ScanImagePart = { description: 'La parte dell’immagine chiesta con Range', content: image }

/** Guest fields that the document lacks, or that a person corrects. A guest without surname does not exist. */
const GuestCompletion = Closed({
  ...Type.Partial(GuestInput).properties, cognome: Type.Optional(NotEmpty(GuestInput.properties.cognome))
})

export const ScanGuestBody = Closed({
  prenotazione_id: Id,
  guest_idx: GuestIndex,
  dati: Type.Optional({ ...GuestCompletion, description: 'Campi che il documento non dice, o che si correggono' })
}, {
  examples: [{
    prenotazione_id: 1,
    guest_idx: 0,
    dati: { stato_nascita: '100000100', comune_nascita: '412058091', provincia_nascita: 'RM' }
  }]
})
export type ScanGuestBody = Static<typeof ScanGuestBody>

/** A guest with all stored fields. */
export const StoredGuest = Closed({
  id: Id,
  nome: Type.String(),
  cognome: Type.String(),
  sesso: Nullable(Type.String()),
  data_nascita: Nullable(BirthDate),
  luogo_nascita: Nullable(Type.String()),
  cittadinanza: Nullable(Type.String()),
  tipo_documento: Nullable(Type.String()),
  numero_documento: Nullable(Type.String()),
  luogo_rilascio: Nullable(Type.String()),
  tipo_alloggiato: Nullable(Type.String()),
  comune_nascita: Nullable(Type.String()),
  provincia_nascita: Nullable(Type.String()),
  stato_nascita: Nullable(Type.String()),
  arrivo: Nullable(Day),
  partenza: Nullable(Day)
})
export type StoredGuest = Static<typeof StoredGuest>

/** The guest of the examples, read from a document without places. */
export const EXAMPLE_GUEST: StoredGuest = {
  id: 1,
  nome: 'BIANCA',
  cognome: 'ROSSI',
  sesso: 'F',
  data_nascita: '1964-12-30',
  luogo_nascita: null,
  cittadinanza: '100000100',
  tipo_documento: 'IDELE',
  numero_documento: 'CA00000AA',
  luogo_rilascio: null,
  tipo_alloggiato: null,
  comune_nascita: null,
  provincia_nascita: null,
  stato_nascita: null,
  arrivo: null,
  partenza: null
}

export const ScanGuestResponse = Closed({
  data: Closed({
    prenotazione_id: Id,
    guest_idx: Type.Integer(),
    ospite: StoredGuest,
    errors: Type.Array(Ref(Segnalazione), { description: 'Quello che impedirebbe ancora l’invio di questo ospite' }),
    warnings: Type.Array(Ref(Segnalazione)),
    avvisi: Type.Array(Avviso)
  }),
  status: Type.Integer()
}, {
  examples: [{
    data: {
      prenotazione_id: 1,
      guest_idx: 0,
      ospite: { ...EXAMPLE_GUEST, comune_nascita: '412058091', provincia_nascita: 'RM', stato_nascita: '100000100' },
      errors: [{ ospite: 0, campo: 'luogo_rilascio', messaggio: 'Manca il luogo di rilascio del documento' }],
      warnings: [],
      avvisi: []
    },
    status: 200
  }]
})
