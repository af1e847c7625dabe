import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** Number of checks without progress after which the connection is destroyed. */
const CHECKS = 4
/** Minimum bytes per second that count as progress. A slower client would occupy resources for hours. */
const MIN_BYTES_PER_SECOND = 1024

/**
 * Destroys a connection whose client reads fewer than `MIN_BYTES_PER_SECOND` for `ms`, or up to a quarter longer. Any
 * progress restarts this time. The socket's own timeout does not suffice: it fires only at its second expiry, and never
 * while the client reads single bytes.
 */
export function destroyWhenStalled (response: ServerResponse, ms: number): void {
  // Take the socket from the request, because a pipelined response gets its socket only after earlier responses.
  const { socket } = response.req
  // Requests injected by tests have no socket.
  if (!(socket instanceof Socket)) return
  // An empty buffer means that the handler is slow, not the client.
  const stop = watch(socket, ms, () => taken(socket), () => socket.writableLength > 0)
  response.once('close', stop)
}

/** Destroys a connection whose client sends fewer than `MIN_BYTES_PER_SECOND` for `ms`, or up to a quarter longer. */
export function destroyWhenBodyStalls (request: IncomingMessage, ms: number): void {
  const { socket } = request
  if (!(socket instanceof Socket)) return
  // A full buffer means that the handler is slow, not the client.
  const stop = watch(socket, ms, () => socket.bytesRead, () => request.readableLength === 0)
  request.once('end', stop).once('close', stop)
}

/** @param isClientsTurn whether the connection waits for the client */
function watch (socket: Socket, ms: number, progress: () => number, isClientsTurn: () => boolean): () => void {
  let before = progress()
  let quiet = 0
  const interval = ms / CHECKS
  const look = setInterval(() => {
    const now = progress()
    quiet = now - before < MIN_BYTES_PER_SECOND * interval / 1000 && isClientsTurn() ? quiet + 1 : 0
    before = now
    if (quiet === CHECKS) socket.destroy()
  }, interval).unref()
  return () => clearInterval(look)
}

/** Bytes written to the network. Only the socket's handle knows the written part of a buffer. */
function taken (socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { bytesWritten: number, writeQueueSize: number } | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
