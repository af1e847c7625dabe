import { Type, type Static, type TString } from '@sinclair/typebox'
import { Conferma, TestMode } from './alloggiati.ts'
import { ApartmentId } from './apartment.ts'
import { Closed, Day, Id, NotEmpty, Nullable, Ref } from './common.ts'
import { SCHEDINA_FIELDS, Segnalazione, type SchedinaField } from './schedina.ts'

/* Schedine made from a stored booking and its guests. */

const texts = Object.fromEntries(SCHEDINA_FIELDS.map((name) => [name, Type.String()])) as Record<
  SchedinaField,
  TString
>
/** A schedina with every field. `''` means unknown. */
const SchedinaIntera = Closed(texts)
export type SchedinaIntera = Static<typeof SchedinaIntera>

const IdAppartamento = ApartmentId({ description: 'Per gli account "Gestione Appartamenti"' })
const OwnApartment = Type.Optional(IdAppartamento)

export const SoggiornoDaPrenotazione = Closed({
  id: Id,
  check_in: Day,
  numero_notti: Type.Integer(),
  id_appartamento: Type.Optional(IdAppartamento)
})
export type SoggiornoDaPrenotazione = Static<typeof SoggiornoDaPrenotazione>

/** The first night that is not declared. */
const Dal = Type.String({
  ...Day, description: 'La prima notte non comunicata di un soggiorno prolungato, o oltre i 30 giorni'
})

/** The body is optional. */
export const SchedineBody = Nullable(
  Closed({ id_appartamento: OwnApartment, dal: Type.Optional(Dal) }, { examples: [{}] })
)

export const InvioPrenotazioneBody = Nullable(
  Closed(
    {
      id_appartamento: OwnApartment,
      dal: Type.Optional(Dal),
      testMode: Type.Optional(TestMode),
      solo_mancanti: Type.Optional(NotEmpty(Type.Boolean({ description: 'Soltanto gli ospiti non ancora inviati' }))),
      ...Conferma
    },
    {
      examples: [{ testMode: true }]
    }
  )
)

export const SchedineResponse = Closed({
  schedine: Type.Array(SchedinaIntera),
  soggiorno: SoggiornoDaPrenotazione,
  valid: Type.Boolean(),
  errors: Type.Array(Ref(Segnalazione)),
  warnings: Type.Array(Ref(Segnalazione))
}, {
  examples: [{
    schedine: [{
      tipo_alloggiato: '16',
      cognome: 'Bianchi',
      nome: 'Anna',
      sesso: 'F',
      data_nascita: '1985-04-12',
      comune_nascita: '412058091',
      provincia_nascita: 'RM',
      stato_nascita: '100000100',
      cittadinanza: '100000100',
      tipo_documento: 'IDELE',
      numero_documento: 'CA12345AA',
      luogo_rilascio: '412058091'
    }],
    soggiorno: { id: 1, check_in: '2026-11-21', numero_notti: 3 },
    valid: true,
    errors: [],
    warnings: []
  }]
})
