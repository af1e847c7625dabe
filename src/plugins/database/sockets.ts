import { createConnection, Socket } from 'node:net'

/**
 * The usual limit of `answerWithin`, longer than any statement of a request may take. Without one, a query would wait
 * for a quarter of an hour where a network has dropped the connection, and for ever where its process is frozen.
 */
export const ANSWER_WITHIN = 40

/** Where the driver would connect, as it has parsed it. */
interface Place { host: readonly string[], port: readonly number[], path?: string | false | undefined }

/** The connections of pools to one database: they can be cut together. */
export interface Sockets {
  /** Whether they are cut, and new ones fail at once. */
  readonly areCut: boolean
  /**
   * Seconds that a connection may be silent while a query waits for its answer. After that time this one connection is
   * closed. Undefined: an answer may take any time.
   */
  answerWithin: number | undefined
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

  function connect ({ host, port, path }: Place): Socket {
    if (path) return createConnection(path)
    const index = at % host.length
    const socket = createConnection(port[index]!, host[index])
    socket.once('close', () => { at = index + 1 })
    // The name that TLS verifies.
    return Object.assign(socket, { host: host[index] })
  }

  return {
    get areCut () { return areCut },
    answerWithin: undefined,

    open (place) {
      // The driver takes its listeners, and ours, off a socket that gets TLS.
      for (const socket of open) if (socket.destroyed) open.delete(socket)
      const socket = areCut ? new Socket() : connect(place)
      open.add(socket)
      // When the driver listens: a connection that cannot be opened at all it would wait for without end.
      if (areCut) setImmediate(() => end(socket))
      return socket
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
