import { Type } from '@sinclair/typebox'
import { Closed, Instant } from './common.ts'

/** The response that sets the cookies of the administrators' pages. */
export const CookieResponse = Closed({
  success: Type.Boolean(),
  message: Type.String(),
  expires_at: Type.String({ ...Instant, description: 'Fine dell’accesso, anche se usato di continuo' }),
  status: Type.Integer()
}, {
  examples: [{
    success: true,
    message: 'Accesso alle pagine di amministrazione concesso: finisce dopo 15 minuti senza uso',
    expires_at: '2026-11-21T17:30:00.000Z',
    status: 200
  }]
})
