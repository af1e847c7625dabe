import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A provider on loopback with replies that the test chooses. It records its requests. */
export async function fakeProvider (t: Test, first: RequestListener) {
  let behaviour = first
  const requests: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    behaviour(request, response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  t.teardown(stop)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, stop, answer: (next: RequestListener) => { behaviour = next } }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
    (_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    }
