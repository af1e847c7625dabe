import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Looks that find no progress, one after the other, until a connection is cut. */
const LOOKS = 4
/** Bytes in a second that are progress: who takes fewer holds what the answer is made of for hours. */
const SLOWEST = 1024

/**
 * Cuts a connection which for so many milliseconds, or up to a quarter more, takes next to nothing of an answer. The
 * time starts anew whenever it takes more. The timeout of the socket itself comes only the second time, and never while
 * a byte is taken.
 */
export function cutWhenStalled (response: ServerResponse, ms: number): void {
  // The response has it only when those to earlier requests of the connection are written.
  const { socket } = response.req
  // An injected request has none.
  if (!(socket instanceof Socket)) return
  let before = taken(socket)
  let quiet = 0
  const interval = ms / LOOKS
  const look = setInterval(() => {
    const now = taken(socket)
    // With nothing to write it is the answer that takes its time.
    quiet = now - before < SLOWEST * interval / 1000 && socket.writableLength > 0 ? quiet + 1 : 0
    before = now
    if (quiet === LOOKS) socket.destroy()
  }, interval).unref()
  response.once('close', () => clearInterval(look))
}

/** Bytes that the connection has taken. How much of a piece it has is known to the socket's handle alone. */
function taken (socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number, writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
