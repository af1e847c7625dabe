import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import process from 'node:process'

/**
 * Of which systems take none by themselves for a connection (Linux from 32768 on, others from 49152): a port that is
 * free now is free still when the server of the test listens there, whatever connections others make meanwhile.
 */
const FIRST = 20_000
const END = 32_000
/** From a part of its own, one after the other: two processes, or two tests, that look at one moment find two ports. */
const PART = 250
const begin = FIRST + process.pid % ((END - FIRST) / PART) * PART
let next = randomInt(PART)

/** A loopback port that is free now. */
export async function freePort (): Promise<number> {
  for (;;) {
    // Somebody may connect in this moment, as to a server that was here before: it would stay open as long as they do.
    const server = createServer((socket) => socket.destroy()).listen(begin + next++ % PART, '127.0.0.1')
    const isFree = await once(server, 'listening').then(() => true, () => false)
    if (!isFree) continue
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return port
  }
}
