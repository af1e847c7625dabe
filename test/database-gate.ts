import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { serverAddress } from './database.ts'
import { freePort } from './free-port.ts'

/** Starts a TCP proxy that a test can shut, open again or freeze. @param url the database of the proxy */
export async function gateTo (t: Test, url: string) {
  const target = serverAddress(url)
  const sockets = new Set<Socket>()
  let isFrozen = false
  const server = createServer((near) => {
    const far = isFrozen ? undefined : connect(target)
    for (const [socket, other] of [[near, far], [far, near]]) {
      if (!socket) continue
      sockets.add(socket.on('error', () => {}).on('close', () => {
        sockets.delete(socket)
        other?.destroy()
      }))
      if (other) socket.pipe(other)
      else socket.pause()
    }
  })
  const port = await freePort()
  const open = () => once(server.listen(port, '127.0.0.1'), 'listening')
  await open()
  /** Rejects new connections, and closes open ones. */
  async function shut () {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  t.teardown(shut)
  const through = new URL(url)
  through.host = `127.0.0.1:${port}`
  return {
    url: through.href,
    shut,
    open,
    freeze () {
      isFrozen = true
      for (const socket of sockets) socket.unpipe().pause()
    }
  }
}
