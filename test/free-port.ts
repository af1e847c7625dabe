import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/**
 * Of which systems take none by themselves for a connection (Linux from 32768 on, others from 49152): a port that is
 * free now is free still when the server of the test listens there, whatever connections others make meanwhile.
 */
const FIRST = 20_000
const END = 32_000

/** A loopback port that is free now. */
export async function freePort (): Promise<number> {
  for (;;) {
    const server = createServer().listen(randomInt(FIRST, END), '127.0.0.1')
    const isFree = await once(server, 'listening').then(() => true, () => false)
    if (!isFree) continue
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return port
  }
}
