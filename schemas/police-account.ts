import { Type, type Static } from '@sinclair/typebox'
import { Closed, Id, Instant, NotEmpty, Nullable, OneOf, Ref, Text } from './common.ts'

export const POLICE_MODES = ['sandbox', 'production'] as const
export const POLICE_CATEGORIES = ['singola', 'appartamenti'] as const
/** The source of the credentials of an establishment. */
const ACCOUNT_SOURCES = ['ambiente', 'sandbox', 'struttura', 'altra_struttura'] as const

const categoria = OneOf(POLICE_CATEGORIES, {
  description: '`appartamenti`: account «Gestione Appartamenti», ogni schedina nomina un appartamento'
})

/** The police account of an establishment. Its password and key are never returned. */
export const EstablishmentAccount = Closed(
  {
    struttura_id: Id,
    configurato: Type.Boolean({ description: 'Se la struttura può inviare' }),
    utente: Nullable(Type.String()),
    origine: Nullable(OneOf(ACCOUNT_SOURCES, {
      description: '`ambiente`: le variabili ALLOGGIATI_*, che valgono per la prima struttura; `sandbox`: quello di ' +
        'prova del server; `struttura`: salvato qui; `altra_struttura`: quello di `di_struttura`'
    })),
    di_struttura: Nullable(Id),
    categoria: Nullable(categoria),
    modalita: OneOf(POLICE_MODES),
    ultima_prova: Nullable(Closed({
      quando: Instant,
      riuscita: Type.Boolean(),
      codice: Nullable(Type.String({ description: 'Il codice dell’errore' }))
    }))
  },
  {
    $id: 'AccountDellaStruttura',
    examples: [{
      struttura_id: 2,
      configurato: true,
      utente: 'CO000002',
      origine: 'struttura',
      di_struttura: null,
      categoria: 'singola',
      modalita: 'sandbox',
      ultima_prova: { quando: '2026-11-21T09:30:00.000Z', riuscita: true, codice: null }
    }]
  }
)
export type EstablishmentAccount = Static<typeof EstablishmentAccount>

const credential = (description: string) => Type.Optional(NotEmpty(Text(200, { minLength: 1, description })))

/** Own credentials, all three, or the establishment whose account is used. */
export const EstablishmentAccountBody = Closed(
  {
    utente: credential('Il nome utente di Alloggiati Web'),
    password: credential('La password: non è mai mostrata'),
    wskey: credential('La chiave web service: non è mai mostrata'),
    categoria: Type.Optional(NotEmpty(categoria)),
    di_struttura: Type.Optional(NotEmpty(Type.Integer({
      ...Id, description: 'Al posto delle credenziali: usa l’account di questa struttura'
    })))
  },
  { examples: [{ utente: 'CO000002', password: 'una-password', wskey: 'una-chiave', categoria: 'singola' }] }
)
export type EstablishmentAccountBody = Static<typeof EstablishmentAccountBody>

export const EstablishmentAccountResponse = Closed({ data: Ref(EstablishmentAccount) })

/** The establishment whose account a request uses. The default is the first one. */
export const AccountQuery = Closed({
  struttura_id: Type.Optional({ ...Id, description: 'La struttura di cui si usa l’account; se manca, la prima' })
})
export type AccountQuery = Static<typeof AccountQuery>
