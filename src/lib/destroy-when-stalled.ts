import type { IncomingMessage, ServerResponse } from 'node:http'
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
  // With an empty buffer it is the handler that is slow, not the client.
  const stop = watch(socket, ms, () => taken(socket), () => socket.writableLength > 0)
  response.once('close', stop)
}

/** Destroys a connection whose client sends next to nothing of a body for `ms`, or up to a quarter longer. */
export function destroyWhenBodyStalls (request: IncomingMessage, ms: number): void {
  const { socket } = request
  if (!(socket instanceof Socket)) return
  // With a full buffer it is the handler that is slow, not the client.
  const stop = watch(socket, ms, () => socket.bytesRead, () => request.readableLength === 0)
  request.once('end', stop).once('close', stop)
}

/** @param isClientsTurn whether the connection waits for the client */
function watch (socket: Socket, ms: number, progress: () => number, isClientsTurn: () => boolean): () => void {
  let before = progress()
  let quiet = 0
  const interval = ms / LOOKS
  const look = setInterval(() => {
    const now = progress()
    quiet = now - before < SLOWEST * interval / 1000 && isClientsTurn() ? quiet + 1 : 0
    before = now
    if (quiet === LOOKS) socket.destroy()
  }, interval).unref()
  return () => clearInterval(look)
}

/** Bytes written to the network. Only the socket's handle knows how much of a buffer was written. */
function taken (socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number, writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
