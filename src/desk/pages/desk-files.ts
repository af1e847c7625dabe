import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { RouteCall } from '#src/identity/index.ts'
import { routesUnder } from '#src/lib/routes-under.ts'
import { fetchRoute, type Desk } from './desk-page.ts'

const route = routesUnder('Sistema')
const BYTES = { schema: Type.Unsafe<unknown>({ type: 'string', format: 'binary' }) }

/** The options of a GET route that sends a file of the API to the browser, which has no token for the API itself. */
export function deskFile<const P extends object> (
  operationId: string, summary: string, { type, ...parts }: { type: 'application/pdf' | 'text/plain' | 'image/*' } & P
) {
  return route({ access: 'public', readsCookie: true } as const, operationId, summary, {
    hide: true, response: { 200: { description: 'Un file', content: { [type]: BYTES } } }, ...parts
  })
}

/**
 * Sends the file that a route of the API responds with.
 * @param isShown the browser shows the file instead of storing it
 * @throws Refusal, RedirectError
 */
export async function sendFile (
  { request, reply, visitor: { token } }: Desk, call: Omit<RouteCall, 'token'>, { isShown = false } = {}
): Promise<FastifyReply> {
  const { rawPayload, headers } = await fetchRoute(request, { ...call, token })
  const disposition = String(headers['content-disposition'] ?? 'attachment')
  return await reply
    .type(String(headers['content-type']))
    .headers({
      'cache-control': 'no-store',
      'content-disposition': isShown ? disposition.replace(/^attachment/, 'inline') : disposition
    })
    .send(rawPayload)
}
