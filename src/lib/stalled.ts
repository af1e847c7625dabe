import type { ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/**
 * Cuts a connection on which nothing of an answer can be written for so many milliseconds. The time starts anew
 * whenever the connection takes bytes; after the answer the server sets its own again.
 */
export function cutWhenStalled (response: ServerResponse, ms: number): void {
  // Of the request: the response has it only when those before it on the connection are answered.
  const { socket } = response.req
  // An injected request has none.
  if (!(socket instanceof Socket)) return
  response.setTimeout(ms, () => {
    // With nothing to write it is the answer that takes its time.
    if (socket.writableLength > 0) socket.destroy()
  })
}
