import { Type, type TSchema } from '@sinclair/typebox'
import { described } from '../described.ts'
import { DeviceQuestion } from './devices.ts'

const HTML = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }

/** The cookie of the browser says who may see a page, and the pages read it themselves. */
const OPEN = { access: 'public' } as const

export const PageQuery = Type.Object({
  dopo: Type.Optional(Type.String({ maxLength: 20 })), esito: Type.Optional(Type.String({ maxLength: 20 }))
})

export function page<T extends object> (operationId: string, summary: string, parts = {} as T) {
  const schema = { hide: true, ...described(operationId, summary, { response: { 200: HTML }, ...parts }) }
  return { config: OPEN, schema }
}

export function question<B extends TSchema> (operationId: string, summary: string, body: B) {
  const schema = { hide: true, ...described(operationId, summary, { body, response: { 200: DeviceQuestion } }) }
  return { config: OPEN, schema }
}
