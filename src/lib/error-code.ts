/**
 * The printable part of an error: the code of the innermost cause that has one, else the error's name. Never its
 * message, which may contain personal data.
 */
export function errorCode (err: unknown): string {
  let code = err instanceof Error ? err.name : ''
  for (let inner = err; inner instanceof Error; inner = inner.cause) {
    if ('code' in inner && isPlain(inner.code)) code = inner.code
  }
  return isPlain(code) ? code : 'ERRORE'
}

function isPlain (code: unknown): code is string {
  return typeof code === 'string' && /^\w{1,60}$/.test(code)
}
