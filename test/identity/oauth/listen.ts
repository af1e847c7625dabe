import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** A server on loopback that stops when the test ends. */
export async function listen (
  t: Pick<Test, 'teardown'>,
  handler?: RequestListener
): Promise<{ url: string; server: Server }> {
  const server = createServer(handler)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

/** A port on which nobody listens. */
export async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

export async function readForm (request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(Buffer.concat(await request.toArray()).toString())
}
