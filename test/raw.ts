import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'

interface RawResponse { status: number, head: string, body: string }

/** Listens on a free loopback port and returns it. */
export async function listen (app: FastifyInstance): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Sends raw bytes and returns the response. `inject` and HTTP clients cannot send some of them. */
export async function exchange (port: number, request: string): Promise<RawResponse> {
  const socket = connect(port, '127.0.0.1')
  socket.write(request)
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head: head.toLowerCase(), body }
}

/** Formats a request line and headers unchanged. By default the connection closes after the response. */
export function target (method: string, path: string, headers: Record<string, string> = {}): string {
  const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`
  )
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/** Opens a connection and sends only these bytes. The connection is destroyed when the test ends. */
export async function openSocket (t: Test, port: number, bytes = '') {
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(bytes)
  return socket
}
