export type Log = (message: string) => void

/** A start that cannot succeed: one line, in Italian, for the operator. */
export class EmbeddedError extends Error {
  constructor (message: string, options?: ErrorOptions) {
    super(`PostgreSQL incorporato: ${message}`, options)
    this.name = 'EmbeddedError'
  }
}

/** For `catch`: rethrows every error but the one with this system error code. */
export function ignoring (code: string): (err: unknown) => undefined {
  return (err) => {
    if (!(err instanceof Error && 'code' in err && err.code === code)) throw err
  }
}
