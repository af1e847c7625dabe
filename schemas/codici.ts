import { Type, type Static } from '@sinclair/typebox'
import { Closed, Ref, Text } from './common.ts'

export const CodiciQuery = Closed({
  q: Type.Optional(Text(100, {
    description: 'Testo cercato in codici e nomi, anche in altre lingue e non più in uso', examples: ['roma']
  })),
  limit: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1000, description: 'Voci per elenco; se manca, 100 con q, altrimenti tutte'
  }))
})
export type CodiciQuery = Static<typeof CodiciQuery>

export const Codice = Closed({
  codice: Type.String(),
  descrizione: Type.String()
}, { $id: 'Codice', examples: [{ codice: '412058091', descrizione: 'ROMA (RM)' }] })
export type Codice = Static<typeof Codice>

/** The code tables of the police service. */
export const Codici = Closed({
  tipi_documento: Type.Array(Ref(Codice)),
  paesi: Type.Array(Ref(Codice)),
  comuni: Type.Array(Ref(Codice)),
  province: Type.Array(Ref(Codice)),
  tipi_alloggiato: Type.Array(Ref(Codice))
}, {
  $id: 'Codici',
  examples: [{
    tipi_documento: [{ codice: 'PASOR', descrizione: 'PASSAPORTO ORDINARIO' }],
    paesi: [{ codice: '100000100', descrizione: 'ITALIA' }],
    comuni: [{ codice: '412058091', descrizione: 'ROMA (RM)' }],
    province: [{ codice: 'RM', descrizione: 'ROMA' }],
    tipi_alloggiato: [{ codice: '16', descrizione: 'OSPITE SINGOLO' }]
  }]
})
export type Codici = Static<typeof Codici>
