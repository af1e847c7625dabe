import { Type, type SchemaOptions, type Static } from '@sinclair/typebox'
import { Closed, errorWith, Ref, Text } from './common.ts'

/** Range of apartment ids: the service counts from 0, and a line has six characters for one. */
export const APARTMENT_IDS = { minimum: 0, maximum: 999_999 } as const

export function ApartmentId (options: SchemaOptions = {}) {
  return Type.Integer({ ...APARTMENT_IDS, ...options })
}

/** An apartment as the service lists it. */
export const Apartment = Closed(
  {
    id: ApartmentId({ examples: [0] }),
    descrizione: Type.String(),
    comune: Type.String(),
    provincia: Type.String(),
    indirizzo: Type.String(),
    proprietario: Type.String()
  },
  {
    $id: 'Appartamento',
    examples: [
      {
        id: 0,
        descrizione: 'CASA AL LAGO',
        comune: 'ROMA',
        provincia: 'RM',
        indirizzo: 'VIA DEI PRATI, 8',
        proprietario: 'ADA PROVETTI'
      }
    ]
  }
)

export const ApartmentList = Closed(
  { data: Type.Array(Ref(Apartment)) },
  {
    examples: [
      {
        data: [
          {
            id: 0,
            descrizione: 'CASA AL LAGO',
            comune: 'ROMA',
            provincia: 'RM',
            indirizzo: 'VIA DEI PRATI, 8',
            proprietario: 'ADA PROVETTI'
          }
        ]
      }
    ]
  }
)

/** A semicolon would break the service's CSV, which has no quotes. */
const Line = Text(200, { minLength: 1, pattern: '^(?=.*\\S)[^;\\u0000-\\u001f\\u007f\\ud800-\\udfff]*$' })

export const ApartmentBody = Closed(
  {
    descrizione: Line,
    comune_codice: Text(100, {
      minLength: 1,
      description: 'Codice del comune, di nove cifre, nella provincia della Questura',
      examples: ['412058091']
    }),
    indirizzo: Line,
    proprietario: Line
  },
  {
    examples: [
      {
        descrizione: 'Casa al lago',
        comune_codice: '412058091',
        indirizzo: 'Via dei Prati, 8',
        proprietario: 'Ada Provetti'
      }
    ]
  }
)
export type ApartmentBody = Static<typeof ApartmentBody>

export const ApartmentParams = Closed({
  id: ApartmentId({ description: 'L’id che gli ha dato la Polizia: è nell’elenco', examples: [0] })
})

export const ApartmentResponse = (status: 200 | 201) =>
  Closed(
    { message: Type.String(), status: Type.Integer() },
    {
      examples: [
        {
          message:
            status === 201
              ? 'Appartamento aggiunto'
              : 'Appartamento 3 disabilitato: non si può riattivare, solo aggiungere di nuovo',
          status
        }
      ]
    }
  )

/** The service's reason for rejecting an apartment: 422. */
export const ApartmentRefused = errorWith({
  dettagli: Closed({ codice_errore: Type.String(), messaggio_soap: Type.String() })
}, {
  $id: 'AppartamentoRifiutato',
  examples: [{
    error: 'Il servizio ha rifiutato la richiesta',
    status: 422,
    codice: 'APPARTAMENTO_RIFIUTATO',
    requestId: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f',
    dettagli: { codice_errore: '30', messaggio_soap: 'ERRORE_PARAMETRO_ERRATO: Codice Comune Errato' }
  }]
})
