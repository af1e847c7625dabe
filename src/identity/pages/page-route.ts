import { Type, type TSchema } from '@sinclair/typebox'
import { Closed } from '#schemas/common.ts'
import { route } from '../provider-route.ts'
import { DeviceQuestion } from './device-forms.ts'

/** Maximum characters of a field. A device's response is the longest one. */
const LONGEST = 32_768

const HTML = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }

/** Authentication is by cookie, which the pages read themselves. */
const OPEN = { access: 'public' } as const

export const PageQuery = Type.Object({
  dopo: Type.Optional(Type.String({ maxLength: 20 })), esito: Type.Optional(Type.String({ maxLength: 20 }))
})

/** A page, for GET. */
export function page<T extends object> (operationId: string, summary: string, parts = {} as T) {
  return route(OPEN, operationId, summary, { hide: true, response: { 200: HTML }, ...parts })
}

/** The answer to a form with these fields, all optional. */
export function formPage<const T extends readonly string[]> (operationId: string, summary: string, names: T) {
  return page(operationId, summary, { body: Fields(names) })
}

/** The challenge that the script requests before it asks a device. */
export function question<B extends TSchema> (operationId: string, summary: string, body: B) {
  return route(OPEN, operationId, summary, { hide: true, body, response: { 200: DeviceQuestion } })
}

/** The body of a form with these fields, all optional. */
export function Fields<const T extends readonly string[]> (names: T) {
  const field = Type.Optional(Type.String({ maxLength: LONGEST }))
  return Closed(Object.fromEntries(names.map((name) => [name, field])) as Record<T[number], typeof field>)
}
