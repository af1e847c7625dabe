import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import type { Test } from 'tap'
import { soapClient, type SoapClient, type SoapClientOptions } from '#src/alloggiati/service/soap/soap-client.ts'
import { freePort } from '#test/free-port.ts'

/* A raw HTTP server on loopback, which records every byte and can send malformed responses. */

export interface Received {
  /** Request line and headers. */
  head: string
  body: string
}

/** The reaction of the server to a complete request. */
export type Behaviour = (socket: Socket, received: Received) => void

interface Recorder {
  url: string
  /** The number of connections. */
  connections: number
  /** The number of received bytes, including incomplete requests. */
  bytes: number
  received: Received[]
  behaviour: Behaviour
}

export async function recorder (t: Test, behaviour: Behaviour, tls?: TlsOptions): Promise<Recorder> {
  const sockets = new Set<Socket>()
  const onConnection = (socket: Socket) => {
    recorder.connections++
    sockets.add(socket)
    let input = Buffer.alloc(0)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.on('data', (chunk) => {
      recorder.bytes += chunk.length
      input = Buffer.concat([input, chunk])
      const received = readRequest(input)
      if (!received) return
      input = Buffer.alloc(0)
      recorder.received.push(received)
      recorder.behaviour(socket, received)
    })
  }
  const server: Server = tls ? createTlsServer(tls, onConnection) : createServer(onConnection)
  server.on('tlsClientError', () => {})
  const url = await listen(server, tls ? 'https' : 'http')
  const recorder: Recorder = { url, connections: 0, bytes: 0, received: [], behaviour }
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    return new Promise((resolve) => server.close(resolve))
  })
  return recorder
}

/** Creates a client. Tests create clients only here, so that the endpoint is always on loopback. */
export function clientOf ({ url }: { url: string }, options: Omit<SoapClientOptions, 'endpoint'> = {}): SoapClient {
  if (!['127.0.0.1', 'localhost'].includes(new URL(url).hostname)) throw new Error(`not a loopback address: ${url}`)
  return soapClient({ ...options, endpoint: url })
}

/** The URL of a closed port. */
export async function closedPort (): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/`
}

export function respond (status: string, body: string | Buffer, ...headers: string[]): Behaviour {
  const bytes = Buffer.from(body)
  return (socket) => {
    socket.write(
      [`HTTP/1.1 ${status}`, `Content-Length: ${bytes.length}`, 'Connection: close', ...headers, '', ''].join('\r\n')
    )
    socket.end(bytes)
  }
}

export function response (body: string): Behaviour {
  return respond('200 OK', body, 'Content-Type: application/soap+xml; charset=utf-8')
}

export function fixture (name: string): string {
  return readFileSync(new URL(`../../../../fixtures/alloggiati/envelopes/${name}.xml`, import.meta.url), 'utf8')
}

async function listen (server: Server, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return `${scheme}://127.0.0.1:${port}/service.asmx`
}

/** Parses an HTTP request. Undefined while the request is incomplete. */
export function readRequest (input: Buffer): Received | undefined {
  const end = input.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const head = input.toString('latin1', 0, end)
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0)
  const body = input.subarray(end + 4)
  return body.length < length ? undefined : { head, body: body.toString('utf8', 0, length) }
}
