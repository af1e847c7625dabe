/** A handler for `catch`: returns undefined for an error with this code, and rethrows every other error. */
export function ignoring (code: string): (err: unknown) => undefined {
  return (err) => {
    if (!(err instanceof Error && 'code' in err && err.code === code)) throw err
  }
}
