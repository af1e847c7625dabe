import { Socket } from 'node:net'

/** Where the driver would connect, as it has parsed it. */
interface Place { host: readonly string[], port: readonly number[], path?: string | false | undefined }

/** The connections of pools to one database: they can be cut together. */
export interface Sockets {
  /** Whether they are cut, and new ones fail at once. */
  readonly areCut: boolean
  /** Bytes that have come in over the open ones. */
  received (): number
  /** For the driver, which writes before the connection stands. */
  open (place: Place): Socket
  /**
   * Cuts all of them, and from now on each new one. What waits for an answer, or for a connection, fails; a transaction
   * whose commit was not sent is never committed, because nothing more is sent for it.
   */
  cut (): void
  /** From now on new ones are opened. */
  mend (): void
}

export function createSockets (): Sockets {
  const open = new Set<Socket>()
  let areCut = false
  /** Of several hosts the next one is tried when a connection to this one has ended, as the driver does. */
  let at = 0

  return {
    get areCut () { return areCut },
    received: () => [...open].reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    open ({ host, port, path }) {
      // The driver takes its listeners, and ours, off a socket that gets TLS.
      for (const socket of open) if (socket.destroyed) open.delete(socket)
      const socket = new Socket()
      open.add(socket)
      const index = at % host.length
      socket.once('close', () => { at = index + 1 })
      // Errors are emitted when the driver listens. One without a listener ends the process: a network that is down
      // refuses the connection at once.
      if (areCut) setImmediate(() => end(socket))
      else queueMicrotask(() => path ? socket.connect(path) : socket.connect(port[index]!, host[index]!))
      // The host is the name that TLS verifies.
      return path ? socket : Object.assign(socket, { host: host[index] })
    },

    cut () {
      areCut = true
      for (const socket of open) end(socket)
    },

    mend () {
      areCut = false
    }
  }
}

/**
 * The driver, or TLS between it and the socket, hears at once that the connection is gone. What it would write until
 * the system says so would fail under TLS where nobody listens, and end the process.
 */
function end (socket: Socket): void {
  // It has ended, and the driver knows. After TLS the driver has taken its listeners off: one more error would have no
  // listener, and would end the process.
  if (socket.destroyed) return
  const reason = Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT', address: '' })
  socket.on('error', () => {}).emit('error', reason)
  socket.emit('close', true)
  socket.destroy()
}
