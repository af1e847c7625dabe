export type Log = (message: string) => void

/** The database cannot start. The message is one line for the operator, in Italian except for quoted output. */
export class EmbeddedError extends Error {
  constructor (message: string, options?: ErrorOptions) {
    super(`PostgreSQL incorporato: ${message}`, options)
    this.name = 'EmbeddedError'
  }
}
