import { Type } from '@sinclair/typebox'

export const tags = ['Provider di identità']
const page = { description: 'Una pagina HTML', content: { 'text/html': { schema: Type.String() } } }

/** What the pages' addresses carry, each a plain word. */
export const PageQuery = Type.Object({
  dopo: Type.Optional(Type.String({ maxLength: 20 })),
  esito: Type.Optional(Type.String({ maxLength: 20 }))
})

/** Of all pages: who may see them is said by the browser's cookie, which the pages read themselves. */
export const OPEN = { access: 'public' } as const

/** A page is no part of the description of the API. */
export function described<T extends object> (operationId: string, summary: string, parts: T) {
  return { hide: true, operationId, tags, summary, response: { 200: page }, ...parts }
}
