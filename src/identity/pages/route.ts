import { Type, type TSchema } from '@sinclair/typebox'
import { route } from '../provider-route.ts'
import { DeviceQuestion } from './devices.ts'

const HTML = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }

/** The cookie of the browser says who may see a page, and the pages read it themselves. */
const OPEN = { access: 'public' } as const

export const PageQuery = Type.Object({
  dopo: Type.Optional(Type.String({ maxLength: 20 })), esito: Type.Optional(Type.String({ maxLength: 20 }))
})

export function page<T extends object> (operationId: string, summary: string, parts = {} as T) {
  return route(OPEN, operationId, summary, { hide: true, response: { 200: HTML }, ...parts })
}

export function question<B extends TSchema> (operationId: string, summary: string, body: B) {
  return route(OPEN, operationId, summary, { hide: true, body, response: { 200: DeviceQuestion } })
}
