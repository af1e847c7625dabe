import { Type, type Static } from '@sinclair/typebox'
import { ApartmentId } from './apartment.ts'
import { Closed, Nullable, Open } from './common.ts'

/** A value of a schedina as it comes in: bounded here, judged by the rules. */
const Campo = Nullable(Type.String({ maxLength: 200 }))

/**
 * A guest as the police service wants it. Open, as the contract types it: a stored guest can be passed whole.
 * Everything is optional here because a missing field is an item of `errors` that names guest and field, not a 400.
 */
export const Schedina = Open({
  tipo_alloggiato: Type.Optional(Campo),
  cognome: Type.Optional(Campo),
  nome: Type.Optional(Campo),
  sesso: Type.Optional(Campo),
  data_nascita: Type.Optional(Campo),
  comune_nascita: Type.Optional(Campo),
  provincia_nascita: Type.Optional(Campo),
  stato_nascita: Type.Optional(Campo),
  cittadinanza: Type.Optional(Campo),
  tipo_documento: Type.Optional(Campo),
  numero_documento: Type.Optional(Campo),
  luogo_rilascio: Type.Optional(Campo)
})
export type Schedina = Static<typeof Schedina>

/** The fields of a schedina; those of the document stand once more by themselves. */
export type SchedinaField = keyof typeof Schedina.properties
export const SCHEDINA_FIELDS = Object.keys(Schedina.properties) as SchedinaField[]
export const DOCUMENT_FIELDS: readonly SchedinaField[] = ['tipo_documento', 'numero_documento', 'luogo_rilascio']

/** The stay. Open as well: a whole booking can be passed. */
export const Soggiorno = Open({
  check_in: Type.Optional(Campo),
  numero_notti: Type.Optional(Type.Number()),
  id: Type.Optional(Type.Integer({ minimum: 1, maximum: 2_147_483_647 })),
  id_appartamento: Type.Optional(ApartmentId())
})
export type Soggiorno = Static<typeof Soggiorno>

/** A remark on one field of one guest: `ospite` is the index into `ospiti`. */
export const Segnalazione = Closed({
  ospite: Type.Integer({ minimum: 0 }),
  campo: Type.String(),
  messaggio: Type.String()
}, { $id: 'Segnalazione' })
export type Segnalazione = Static<typeof Segnalazione>
