export type Log = (message: string) => void

/** A start that cannot succeed: one line, in Italian, for the operator. */
export class EmbeddedError extends Error {
  constructor (message: string, options?: ErrorOptions) {
    super(`PostgreSQL incorporato: ${message}`, options)
    this.name = 'EmbeddedError'
  }
}

/** The system error code (`ENOENT`) or SQLSTATE of a caught value. */
export function codeOf (err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined
}
