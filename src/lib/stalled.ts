import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Looks that find no progress, one after the other, until a connection is cut. */
const LOOKS = 4

/**
 * Cuts a connection on which nothing of an answer can be written for so many milliseconds, or up to a quarter more. The
 * time starts anew whenever the connection takes bytes. The timeout of the socket itself comes only the second time.
 */
export function cutWhenStalled (response: ServerResponse, ms: number): void {
  // The response has it only when those to earlier requests of the connection are written.
  const { socket } = response.req
  // An injected request has none.
  if (!(socket instanceof Socket)) return
  let before = progress(socket)
  let quiet = 0
  const look = setInterval(() => {
    const now = progress(socket)
    // With nothing to write it is the answer that takes its time.
    quiet = now === before && socket.writableLength > 0 ? quiet + 1 : 0
    before = now
    if (quiet === LOOKS) socket.destroy()
  }, ms / LOOKS).unref()
  response.once('close', () => clearInterval(look))
}

/** Changes when the connection takes bytes. How much of a piece it has taken is known to the socket's handle alone. */
function progress (socket: Socket): string {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: number } | null }
  return `${socket.bytesWritten} ${handle?.writeQueueSize}`
}
