import { Type } from '@sinclair/typebox'
import { NotEmpty } from './common.ts'

const limit = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description }))

/** Query fields of a paginated list. */
export const paging = {
  limit: limit('Elementi per pagina; se manca, 100'),
  conteggio: Type.Optional(Type.Boolean({
    description: 'Se contare gli elementi in X-Total-Count; senza cursor sì, con cursor no'
  })),
  // Without it a client that lost its cursor would read the first page again.
  cursor: Type.Optional(NotEmpty(Type.String({
    maxLength: 200,
    pattern: '^[A-Za-z0-9_-]+$',
    description: 'Da dove prosegue la pagina: è nell’indirizzo in Link della pagina prima, con gli altri parametri'
  })))
}

/** Like `paging`, for routes that return the whole list when `limit` and `cursor` are missing. */
export const pagingOrWhole = {
  ...paging,
  limit: limit('Elementi per pagina; se manca, tutto l’elenco, o 100 con cursor')
}
