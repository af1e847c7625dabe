import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import type { Test } from 'tap'
import { serverAddress } from '#test/database.ts'

export interface Gate {
  /** The URL of the database behind it. */
  url: string
  /** Rejects new connections, and closes open ones. */
  shut (): Promise<void>
}

/** A proxy to a database that can be shut. */
export async function gateTo (t: Test, url: string): Promise<Gate> {
  const target = serverAddress(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connect(target)
    for (const [one, other] of [[client, behind], [behind, client]] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy()).on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port: own } = server.address() as AddressInfo
  const through = new URL(url)
  through.host = `127.0.0.1:${own}`

  async function shut () {
    const closed = server.listening ? once(server, 'close') : undefined
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  t.teardown(shut)
  return { url: through.href, shut }
}
