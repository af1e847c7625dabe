import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Test } from 'tap'
import { serve } from '#test/loopback.ts'

/** A provider on loopback with replies that the test chooses. It records its requests. */
export async function fakeProvider (t: Test, first: RequestListener) {
  let behaviour = first
  const requests: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[] = []
  const { url, server } = await serve(t, (request, response) => {
    requests.push(request)
    behaviour(request, response)
  })
  const stop = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { url, requests, stop, answer: (next: RequestListener) => { behaviour = next } }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
