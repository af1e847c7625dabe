import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'

const FAREWELL_MS = 1000

/** Where the driver would connect, as it has parsed it. */
export interface Place { host: readonly string[], port: readonly number[], path?: string | undefined }

/**
 * A connection that is cut when more than `max` bytes have come in: a single value can be of a gigabyte, and the driver
 * would gather it in memory. It stands below TLS, where there is any.
 */
export class CountedSocket extends Duplex {
  /** The name that TLS verifies. */
  readonly host: string | undefined
  readonly #socket: Socket
  #received = 0

  constructor ({ host, port, path }: Place, max: number, onTooMuch: () => void) {
    super()
    this.host = path ? undefined : host[0]
    const socket = path ? connect(path) : connect(port[0]!, host[0])
    this.#socket = socket
    socket.on('data', (chunk) => {
      this.#received += chunk.length
      if (this.#received > max) {
        onTooMuch()
        this.destroy()
      } else if (!this.push(chunk)) {
        socket.pause()
      }
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (err) => this.destroy(err))
    socket.on('close', () => this.destroy())
  }

  /** The driver takes leave of the server only where this is `open`. */
  get readyState (): Socket['readyState'] {
    return this.#socket.readyState
  }

  /** For a server that does not close its side. */
  closeSoon (): void {
    this.#socket.setTimeout(FAREWELL_MS, () => this.destroy())
  }

  override _read (): void {
    this.#socket.resume()
  }

  override _write (chunk: Buffer, encoding: BufferEncoding, done: (err?: Error | null) => void): void {
    this.#socket.write(chunk, encoding, done)
  }

  override _final (done: () => void): void {
    this.#socket.end(done)
  }

  override _destroy (err: Error | null, done: (err: Error | null) => void): void {
    this.#socket.destroy()
    done(err)
  }
}
