/** For `catch`: rethrows every error but the one with this code, which becomes undefined. */
export function ignoring (code: string): (err: unknown) => undefined {
  return (err) => {
    if (!(err instanceof Error && 'code' in err && err.code === code)) throw err
  }
}
