import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, Nullable, Ref, Text } from './common.ts'
import { PNG_EXAMPLE } from './image.ts'
import { Paragraphs } from './paragraphs.ts'

const Hour = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', maxLength: 5, examples: ['10:30'] })

/** The establishment's details in its letters. Null values are left out. */
export const establishmentFields = {
  nome: Nullable(Text(100, { examples: ['Locanda del Lago'] })),
  motto: Nullable(Text(120)),
  indirizzo: Nullable(Text(150)),
  luogo: Nullable(Text(60, { description: 'Sta davanti alla data' })),
  telefono: Nullable(Text(40)),
  email: Nullable(Type.String({ format: 'email', maxLength: 254 })),
  cin: Nullable(Text(30, { description: 'Codice Identificativo Nazionale' })),
  firma: Nullable(Text(100, { description: 'Chi firma; se manca, il nome' })),
  colore: Nullable(Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', maxLength: 7, examples: ['#1f4e46'] })),
  wifi_rete: Nullable(Text(32)),
  wifi_password: Nullable(Text(63)),
  ora_check_in: Nullable(Hour),
  ora_check_out: Nullable(Hour),
  colazione: Nullable(Text(150, { examples: ['7:30 – 10:00, nella veranda'] })),
  regole: Nullable(Paragraphs(600))
}

const translated = Type.Optional(Closed({
  motto: Type.Optional(Text(120)),
  colazione: Type.Optional(Text(150)),
  regole: Type.Optional(Paragraphs(600))
}))
/** The establishment's texts by language. The general text replaces one that is missing or blank. */
const HouseTexts = Closed({ it: translated, en: translated, de: translated, fr: translated })
export type HouseTexts = Static<typeof HouseTexts>
const testi = Nullable({
  ...HouseTexts,
  description: 'I testi per lingua della lettera; dove mancano valgono motto, colazione e regole',
  examples: [{ en: { colazione: '7:30 – 10:00 on the veranda' } }]
})

const EXAMPLE = {
  nome: 'Locanda del Lago',
  motto: 'Camere con vista dal 1987',
  indirizzo: 'Via dei Prati 8, 22100 Como',
  luogo: 'Como',
  telefono: '+39 031 555 0100',
  email: 'ciao@locanda.example',
  cin: 'IT013075A1B2C3D4E5',
  firma: 'Ada e Bruno',
  colore: '#1f4e46',
  wifi_rete: 'Locanda',
  wifi_password: 'lago-sereno-2026',
  ora_check_in: '15:00',
  ora_check_out: '10:30',
  colazione: '7:30 – 10:00, nella veranda',
  regole: 'Silenzio dalle 22:30. Si fuma solo in giardino.'
}

const SHOWN = {
  ...EXAMPLE, testi: null, logo: 'https://locanda.example/api/v1/struttura/logo', updated_at: '2026-11-23T09:30:00.000Z'
}

export const Establishment = Closed(
  {
    ...establishmentFields,
    testi,
    logo: Nullable(Type.String({ description: 'Dove si scarica il logo' })),
    updated_at: Nullable(Instant)
  },
  {
    $id: 'Struttura',
    examples: [SHOWN]
  }
)
export type Establishment = Static<typeof Establishment>

/** Any of the fields. Null clears one. The whole object can be sent back: its read-only fields are ignored. */
export const EstablishmentUpdate = Closed({
  ...Type.Partial(Type.Object(establishmentFields)).properties,
  testi: Type.Optional(testi),
  logo: Type.Optional(Nullable(Text(2000))),
  updated_at: Type.Optional(Nullable(Text(40)))
}, { examples: [EXAMPLE] })
export type EstablishmentUpdate = Static<typeof EstablishmentUpdate>

export const EstablishmentQuery = Closed({
  struttura_id: Type.Optional({ ...Id, description: 'La struttura; se manca, la prima' })
})

export const EstablishmentResponse = Closed({ data: Ref(Establishment) })
export const EstablishmentSaved = Closed(
  { data: Ref(Establishment), status: Type.Integer() },
  { examples: [{ data: SHOWN, status: 200 }] }
)

/** Maximum bytes of a decoded logo, and of its request body. */
export const LOGO_BYTES_MAX = 5 * 1024 * 1024
export const LOGO_BODY_MAX = 7 * 1024 * 1024

export const LogoUpload = Closed({
  base64Image: Type.String({
    format: 'byte', description: 'PNG o JPEG in Base64, anche preceduto da «data:image/png;base64,»'
  })
}, { examples: [{ base64Image: PNG_EXAMPLE }] })

export const LogoResponse = Closed(
  { success: Type.Boolean(), message: Type.String(), url: Type.String() },
  {
    examples: [{ success: true, message: 'Logo salvato', url: 'https://locanda.example/api/v1/struttura/logo' }]
  }
)
export const LogoRemoved = Closed(
  { success: Type.Boolean(), message: Type.String() },
  { examples: [{ success: true, message: 'Logo eliminato' }] }
)
