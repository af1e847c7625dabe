import { Socket } from 'node:net'

/** The hosts to connect to, in the form in which the driver parses them. */
interface Hosts { host: readonly string[], port: readonly number[], path?: string | false | undefined }

/** The sockets of all pools to one database. They can be destroyed together. */
export interface Sockets {
  /** Whether connections are cut. Then new ones fail at once. */
  readonly areCut: boolean
  /** Number of bytes received over the open sockets. */
  received (): number
  /** Opens a socket for the driver, which may write before the socket is connected. */
  open (hosts: Hosts): Socket
  /**
   * Destroys all sockets, and each new one from now on. Waiting queries and connection attempts fail. PostgreSQL rolls
   * back every transaction without a commit.
   */
  cut (): void
  /** Allows new connections again. */
  mend (): void
}

export function createSockets (): Sockets {
  const open = new Set<Socket>()
  let areCut = false
  /** With several hosts, try the next one after a connection has closed, as the driver does. */
  let at = 0

  return {
    get areCut () { return areCut },
    received: () => [...open].reduce((sum, { bytesRead }) => sum + bytesRead, 0),
    open ({ host, port, path }) {
      // The driver removes all listeners when it upgrades a socket to TLS, so a listener for `close` would not run.
      for (const socket of open) if (socket.destroyed) open.delete(socket)
      const socket = new Socket()
      open.add(socket)
      const index = at % host.length
      socket.once('close', () => { at = index + 1 })
      // Emit errors only after the driver listens, because an unhandled error ends the process. An unreachable network
      // gives an error at once.
      if (areCut) setImmediate(() => end(socket))
      else queueMicrotask(() => path ? socket.connect(path) : socket.connect(port[index]!, host[index]!))
      // TLS compares the certificate with this host name.
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
 * Tells the driver, or the TLS socket in front of it, at once that the connection is closed. Otherwise TLS would emit
 * the error of a later write without a listener, which ends the process.
 */
function end (socket: Socket): void {
  // The driver has already been notified. After TLS it has removed its listeners, and an unhandled error would end the
  // process.
  if (socket.destroyed) return
  const reason = Object.assign(new Error('the database does not respond'), { code: 'ETIMEDOUT', address: '' })
  socket.on('error', () => {}).emit('error', reason)
  socket.emit('close', true)
  socket.destroy()
}
