export type Log = (message: string) => void

/** A start that cannot succeed: one line, in Italian, for the operator. */
export class EmbeddedError extends Error {
  constructor (message: string, options?: ErrorOptions) {
    super(`PostgreSQL incorporato: ${message}`, options)
    this.name = 'EmbeddedError'
  }
}
