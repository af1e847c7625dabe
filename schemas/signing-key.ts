import { Type } from '@sinclair/typebox'
import { Closed, Instant, NotEmpty } from './common.ts'

export const RotateBody = Closed(
  {
    immediate: Type.Optional(
      NotEmpty(Type.Boolean({
        description: 'Rifiuta subito i token firmati con le chiavi precedenti: per una chiave compromessa'
      }))
    )
  },
  { examples: [{ immediate: false }] }
)

export const RotateResponse = Closed({
  kid: Type.String(),
  signs_from: Type.String({ ...Instant, description: 'Da quando firma; è pubblicata da subito' }),
  message: Type.String(),
  status: Type.Integer()
}, {
  examples: [{
    kid: '5d0c9a1e-7b34-4c55-8d0e-2f6a1b3c4d5e',
    signs_from: '2026-11-21T09:45:00.000Z',
    message: 'Nuova chiave di firma pubblicata: i token già emessi restano validi',
    status: 200
  }]
})
