import { Type, type Static } from '@sinclair/typebox'
import { ApartmentId } from './apartment.ts'
import { Closed, NotEmpty, Nullable, Open, Proposal, Upper } from './common.ts'
import { GUEST_TYPES } from './guest-types.ts'

/** Descriptions of guest fields with unclear names. Codes are those of the police. */
export const GUEST_WORDS = {
  tipo_alloggiato: 'Il codice: ' + GUEST_TYPES.map(({ codice, descrizione }) =>
    `${codice} ${descrizione.toLowerCase()}`).join(', '),
  comune_nascita: 'Per chi è nato in Italia: il codice del comune, da `comuni` di GET /api/alloggiati/codici',
  provincia_nascita: 'Per chi è nato in Italia: la sigla della provincia',
  stato_nascita: 'Il codice del paese di nascita, da `paesi` di GET /api/alloggiati/codici',
  cittadinanza: 'Il codice del paese, da `paesi` di GET /api/alloggiati/codici',
  tipo_documento: 'Il codice del documento, da `tipi_documento` di GET /api/alloggiati/codici',
  luogo_rilascio: 'Dove è stato rilasciato il documento: il codice del comune, o del paese se è estero'
} as const

/** An input value of a schedina: bounded here, validated by the rules. */
const Campo = (description?: string) =>
  Type.Optional(Nullable(Type.String({ maxLength: 200, ...description !== undefined && { description } })))
const Codice = (description: string) => Upper(Campo(description))

/** The fields of the record, which describe the guest. */
const PERSON = {
  tipo_alloggiato: Codice(GUEST_WORDS.tipo_alloggiato),
  cognome: Campo(),
  nome: Campo(),
  sesso: Codice('`M` o `F`'),
  data_nascita: Campo('AAAA-MM-GG'),
  comune_nascita: Codice(GUEST_WORDS.comune_nascita),
  provincia_nascita: Codice(GUEST_WORDS.provincia_nascita),
  stato_nascita: Codice(GUEST_WORDS.stato_nascita),
  cittadinanza: Codice(GUEST_WORDS.cittadinanza),
  tipo_documento: Codice(GUEST_WORDS.tipo_documento),
  numero_documento: Campo(),
  luogo_rilascio: Codice(GUEST_WORDS.luogo_rilascio)
}

/**
 * A guest in the police service's format. It is open, as in the contract, so that a stored guest can be sent whole. All
 * fields are optional: a missing one is an item of `errors` with guest and field, not a 400.
 */
export const Schedina = Open({
  ...PERSON,
  arrivo: Campo('AAAA-MM-GG, se non è quello del soggiorno: tutti gli ospiti di un elenco arrivano lo stesso giorno'),
  partenza: Campo('AAAA-MM-GG, se non è quella del soggiorno')
})
export type Schedina = Static<typeof Schedina>

/** The fields of a record. `DOCUMENT_FIELDS` are those of the document. */
export type SchedinaField = keyof typeof PERSON
export const SCHEDINA_FIELDS = Object.keys(PERSON) as SchedinaField[]
export const DOCUMENT_FIELDS: readonly SchedinaField[] = ['tipo_documento', 'numero_documento', 'luogo_rilascio']

/** The stay. Also open, so that a whole booking can be sent. */
export const Soggiorno = Open({
  check_in: Campo('Il giorno di arrivo, AAAA-MM-GG'),
  numero_notti: Type.Optional(Type.Number()),
  id: Type.Optional(NotEmpty(Type.Integer({
    minimum: 1, maximum: 2_147_483_647, description: 'La prenotazione; se manca, quella con lo stesso arrivo e ospite'
  }))),
  id_appartamento: Type.Optional(ApartmentId({ description: 'Per gli account "Gestione Appartamenti"' })),
  struttura_id: Type.Optional(NotEmpty(Type.Integer({
    minimum: 1, maximum: 2_147_483_647, description: 'La struttura, se gli ospiti non sono di una prenotazione'
  })))
})
export type Soggiorno = Static<typeof Soggiorno>

/** A remark on a guest's field. `ospite` is the index in `ospiti`. */
export const Segnalazione = Closed({
  ospite: Type.Integer({ minimum: 0 }),
  campo: Type.String(),
  messaggio: Type.String(),
  proposta: Type.Optional(Proposal)
}, { $id: 'Segnalazione' })
export type Segnalazione = Static<typeof Segnalazione>
