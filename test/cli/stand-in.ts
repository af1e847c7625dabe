import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'

export interface Reply { status?: number, headers?: Record<string, string>, body?: object | string }
export interface Received { method: string, url: string, headers: IncomingHttpHeaders, body: string }
/** Replies by method and path (`GET /api/config`). Other paths get a 404. 'never' sends no reply. */
export type Replies = Record<string, Reply | 'never' | undefined>

/**
 * A server that sends replies which a real server would not send. It records its requests.
 * @param certificate if given, the server uses https
 */
export async function standIn (
  t: Test, replies: Replies, certificate?: { key: string, cert: string }
): Promise<{ url: string, received: Received[] }> {
  const received: Received[] = []
  const { url } = await serve(t, (request, response) => {
    text(request).then((body) => {
      const { method = '', url = '', headers } = request
      received.push({ method, url, headers, body })
      const reply: Reply | 'never' = replies[`${method} ${url.split('?', 1)[0]}`] ?? { status: 404 }
      if (reply === 'never') return
      response
        .writeHead(reply.status ?? 200, reply.headers)
        .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {}))
    }, () => response.destroy())
  }, certificate)
  return { url, received }
}
