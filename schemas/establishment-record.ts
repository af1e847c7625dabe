import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'
import { Name } from './guest.ts'

export const ESTABLISHMENT_KINDS = [
  'albergo', 'affittacamere', 'bed_and_breakfast', 'casa_vacanze', 'locazione_breve', 'agriturismo', 'ostello',
  'campeggio', 'altro'
] as const

/** The time zone of an establishment that names none. */
export const TIME_ZONE = 'Europe/Rome'

const nome = Name(100)
const fuso_orario = Text(40, { minLength: 1, description: 'Il nome IANA del fuso orario', examples: [TIME_ZONE] })
/** Rules that have no settings yet. */
const regola_imposta = Closed({}, { description: 'La regola dell’imposta di soggiorno: per ora senza campi' })
const statistica = Closed({}, { description: 'Le impostazioni delle statistiche: per ora senza campi' })

const facts = {
  tipo: Nullable(OneOf(ESTABLISHMENT_KINDS, { description: 'Il tipo di struttura' })),
  comune: Nullable(Type.String({
    pattern: '^[0-9]{6}$', maxLength: 6, description: 'Il codice ISTAT del comune, di sei cifre', examples: ['013075']
  })),
  indirizzo: Nullable(Text(150)),
  cin: Nullable(Text(30, { description: 'Codice Identificativo Nazionale' })),
  codice_regionale: Nullable(Text(40, { description: 'Il codice che ha dato la regione' }))
}

const EXAMPLE = {
  nome: 'Casa del Porto',
  tipo: 'casa_vacanze',
  comune: '013075',
  indirizzo: 'Lungolago 4, 22100 Como',
  cin: 'IT013075B2D3E4F5G6',
  codice_regionale: '013075-CNI-00042'
}

const RECORD = {
  id: 2,
  ...EXAMPLE,
  fuso_orario: TIME_ZONE,
  regola_imposta: {},
  statistica: {},
  versione: 1,
  updated_at: '2026-11-23T09:30:00.000Z'
}

/** An establishment: its units are let under one address, one kind and one police account. */
export const EstablishmentRecord = Closed(
  {
    id: Id,
    nome: Nullable(nome),
    ...facts,
    fuso_orario,
    regola_imposta,
    statistica,
    versione: Type.Integer({ description: 'La versione, come nell’ETag' }),
    updated_at: Nullable(Instant)
  },
  { $id: 'StrutturaRicettiva', examples: [RECORD] }
)
export type EstablishmentRecord = Static<typeof EstablishmentRecord>

const settings = {
  fuso_orario: Type.Optional(NotEmpty(fuso_orario)),
  regola_imposta: Type.Optional(regola_imposta),
  statistica: Type.Optional(statistica)
}

export const EstablishmentCreation = Closed(
  { nome, ...Type.Partial(Type.Object(facts)).properties, ...settings },
  { examples: [EXAMPLE] }
)
export type EstablishmentCreation = Static<typeof EstablishmentCreation>

/** Any of the fields. Null clears one. A whole establishment can be sent back: its read-only fields are ignored. */
export const EstablishmentChange = Closed(
  {
    nome: Type.Optional(NotEmpty(nome)),
    ...Type.Partial(Type.Object(facts)).properties,
    ...settings,
    id: Type.Optional(Type.Unknown()),
    versione: Type.Optional(Type.Unknown()),
    updated_at: Type.Optional(Type.Unknown())
  },
  { examples: [{ codice_regionale: '013075-CNI-00042' }] }
)
export type EstablishmentChange = Static<typeof EstablishmentChange>

export const EstablishmentRecords = Closed({ data: Type.Array(Ref(EstablishmentRecord)) })
export const EstablishmentRecordResponse = Closed({ data: Ref(EstablishmentRecord) })
