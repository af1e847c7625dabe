import { Type, type Static } from '@sinclair/typebox'
import { OneOf, Open } from './common.ts'

/* Range and order of a list in the storage protocol. */

const prefix = (description: string) => Type.String({ maxLength: 1024, description, examples: ['ospiti'] })
/** Maximum entries of a response. A larger `limit` is reduced to this. */
export const LIST_MAX = 1000
export const limit = (usual: string) => Type.Integer({
  minimum: 1, description: `Quanti al massimo, fino a ${LIST_MAX}; se manca, ${usual}`, examples: [100]
})
export const offset = Type.Optional(Type.Integer({
  minimum: 0, description: 'Quanti saltarne; se manca, nessuno', examples: [0]
}))
export const order = OneOf(['asc', 'desc'], { description: '`asc` dal primo, `desc` dall’ultimo; se manca, `asc`' })

export const ListBody = Open({
  prefix: prefix('La cartella; vuoto: quella di tutto il bucket'),
  limit: Type.Optional(limit('100')),
  offset,
  search: Type.Optional(Type.String({
    maxLength: 1024, description: 'Come comincia il nome nella cartella, senza badare alle maiuscole'
  })),
  sortBy: Type.Optional(Open({
    column: Type.Optional(OneOf(['name', 'updated_at', 'created_at', 'last_accessed_at'])),
    order: Type.Optional(order)
  }))
}, { examples: [{ prefix: 'ospiti', limit: 100, offset: 0, sortBy: { column: 'name', order: 'asc' } }] })
export type ListBody = Static<typeof ListBody>

export const ListV2Body = Open({
  prefix: Type.Optional(prefix('Come comincia il nome, cartelle comprese; se manca, tutti')),
  limit: Type.Optional(limit('1000')),
  cursor: Type.Optional(Type.String({
    maxLength: 4096, description: 'Il `nextCursor` della parte prima, con lo stesso ordine'
  })),
  with_delimiter: Type.Optional(Type.Boolean({
    description: '`true`: ciò che sta più in giù, oltre la prossima barra, viene come cartelle; se manca, come file'
  })),
  sortBy: Type.Optional(Open({
    column: Type.Optional(OneOf(['name', 'updated_at', 'created_at'])),
    order: Type.Optional(order)
  }))
}, { examples: [{ prefix: 'ospiti/', with_delimiter: true }] })
export type ListV2Body = Static<typeof ListV2Body>
