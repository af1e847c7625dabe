import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Consecutive checks without progress until the connection is destroyed. */
const LOOKS = 4
/** Bytes per second that count as progress. A slower client would hold resources for hours. */
const SLOWEST = 1024

/**
 * Destroys a connection whose client reads next to nothing of a response for `ms`, or up to a quarter longer. Any
 * progress restarts the time. The socket's own timeout fires only the second time, and never while single bytes are
 * read.
 */
export function destroyWhenStalled (response: ServerResponse, ms: number): void {
  // A pipelined response gets its socket only after the earlier responses, so it is taken from the request.
  const { socket } = response.req
  // Injected requests have no socket.
  if (!(socket instanceof Socket)) return
  let before = taken(socket)
  let quiet = 0
  const interval = ms / LOOKS
  const look = setInterval(() => {
    const now = taken(socket)
    // With an empty buffer it is the handler that is slow, not the client.
    quiet = now - before < SLOWEST * interval / 1000 && socket.writableLength > 0 ? quiet + 1 : 0
    before = now
    if (quiet === LOOKS) socket.destroy()
  }, interval).unref()
  response.once('close', () => clearInterval(look))
}

/** Bytes written to the network. Only the socket's handle knows how much of a buffer was written. */
function taken (socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number, writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
