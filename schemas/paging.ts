import { Type } from '@sinclair/typebox'

/** Query fields of a list that is given in pages. */
export const paging = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  conteggio: Type.Optional(Type.Boolean({
    description: 'Se contare gli elementi in X-Total-Count; senza cursor sì, con cursor no'
  })),
  cursor: Type.Optional(Type.String({ maxLength: 200, pattern: '^[A-Za-z0-9_-]+$' }))
}
