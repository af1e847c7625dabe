import { Type, type TSchema } from '@sinclair/typebox'
import { Closed } from '#schemas/common.ts'
import { route } from '../provider-route.ts'
import { DeviceQuestion } from './device-forms.ts'

/** Maximum characters of a field. The longest value is a device's response. */
const MAX_FIELD_LENGTH = 32_768

const HTML = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }

/** No guard, because the pages read the session cookie themselves. */
const OPEN = { access: 'public' } as const

export const PageQuery = Type.Object({
  dopo: Type.Optional(Type.String({ maxLength: 20 })), esito: Type.Optional(Type.String({ maxLength: 20 }))
})

/** The options of a route that responds with a page. */
export function page<T extends object> (operationId: string, summary: string, parts = {} as T) {
  return route(OPEN, operationId, summary, { hide: true, response: { 200: HTML }, ...parts })
}

/** The options of a form's POST with these optional fields. */
export function formPage<const T extends readonly string[]> (operationId: string, summary: string, names: T) {
  return page(operationId, summary, { body: Fields(names) })
}

/** The options of a route from which the script requests the challenge for a device. */
export function question<B extends TSchema> (operationId: string, summary: string, body: B) {
  return route(OPEN, operationId, summary, { hide: true, body, response: { 200: DeviceQuestion } })
}

/** The body of a form with these optional fields. */
export function Fields<const T extends readonly string[]> (names: T) {
  const field = Type.Optional(Type.String({ maxLength: MAX_FIELD_LENGTH }))
  return Closed(Object.fromEntries(names.map((name) => [name, field])) as Record<T[number], typeof field>)
}
