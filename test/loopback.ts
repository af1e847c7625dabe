import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server as NetServer, Socket } from 'node:net'
import type { Test } from 'tap'

/** Listens on a free loopback port. The server and its connections are closed when the test ends. @returns the port */
export async function listening (t: Pick<Test, 'teardown'>, server: NetServer): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  t.teardown(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** An HTTP server on loopback, which is closed when the test ends. With a certificate it uses https. */
export async function serve (
  t: Pick<Test, 'teardown'>, handler?: RequestListener, certificate?: { key: string, cert: string }
): Promise<{ url: string, server: Server }> {
  const server = certificate ? createSecureServer(certificate, handler) : createServer(handler)
  return { url: `http${certificate ? 's' : ''}://127.0.0.1:${await listening(t, server)}`, server }
}
