import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import process from 'node:process'

/**
 * Ports outside the ephemeral range (Linux from 32768, others from 49152). A free port stays free until the test's
 * server listens, because no outgoing connection uses it.
 */
const FIRST = 20_000
const END = 32_000
/** Each process has its own range of ports, and takes them in order, so that concurrent tests find different ports. */
const PART = 250
const begin = FIRST + process.pid % ((END - FIRST) / PART) * PART
let next = randomInt(PART)

/** A loopback port that is free now. */
export async function freePort (): Promise<number> {
  for (;;) {
    // A client of an earlier server may connect now. Its connection would keep this server open, so it is destroyed.
    const server = createServer((socket) => socket.destroy()).listen(begin + next++ % PART, '127.0.0.1')
    const isFree = await once(server, 'listening').then(() => true, () => false)
    if (!isFree) continue
    const { port } = server.address() as AddressInfo
    server.close()
    await once(server, 'close')
    return port
  }
}
