import { Socket } from 'node:net'

/** The hosts to connect to, as parsed by the driver. */
interface Place { host: readonly string[], port: readonly number[], path?: string | false | undefined }

/** The sockets of all pools to one database, which can be destroyed together. */
export interface Sockets {
  /** Whether they are cut, so that new ones fail at once. */
  readonly areCut: boolean
  /** Bytes received over the open sockets. */
  received (): number
  /** Called by the driver, which writes before the socket is connected. */
  open (place: Place): Socket
  /**
   * Destroys all sockets, and each new one from now on. Waiting queries and connection attempts fail. A transaction
   * whose commit was not sent never commits, because nothing more is sent.
   */
  cut (): void
  /** Allows new connections again. */
  mend (): void
}

export function createSockets (): Sockets {
  const open = new Set<Socket>()
  let areCut = false
  /** With several hosts, the next is tried after a connection has closed, as in the driver. */
  let at = 0

  return {
    get areCut () { return areCut },
    received: () => [...open].reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    open ({ host, port, path }) {
      // The driver removes all listeners from a socket that it upgrades to TLS, so `close` would not be seen.
      for (const socket of open) if (socket.destroyed) open.delete(socket)
      const socket = new Socket()
      open.add(socket)
      const index = at % host.length
      socket.once('close', () => { at = index + 1 })
      // Emits errors only after the driver listens: an unhandled one ends the process. An unreachable network refuses
      // at once.
      if (areCut) setImmediate(() => end(socket))
      else queueMicrotask(() => path ? socket.connect(path) : socket.connect(port[index]!, host[index]!))
      // TLS verifies this host name.
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
 * Notifies the driver (or TLS between) at once that the connection is closed. Otherwise TLS would report a later
 * write's error without a listener, which ends the process.
 */
function end (socket: Socket): void {
  // The driver knows already. After TLS it has removed its listeners, and an unhandled error would end the process.
  if (socket.destroyed) return
  const reason = Object.assign(new Error('the database does not answer'), { code: 'ETIMEDOUT', address: '' })
  socket.on('error', () => {}).emit('error', reason)
  socket.emit('close', true)
  socket.destroy()
}
