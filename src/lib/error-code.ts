/**
 * The part of an error that may be logged: the code of the innermost cause with a code, else the error's name. Never
 * its message, which may contain personal data.
 */
export function errorCode (err: unknown): string {
  let code = err instanceof Error ? err.name : ''
  for (let inner = err; inner instanceof Error; inner = inner.cause) {
    if ('code' in inner && isPlain(inner.code)) code = inner.code
  }
  return isPlain(code) ? code : 'ERRORE'
}

/** Codes of a failed TLS handshake or a rejected certificate, of Node, OpenSSL and nodemailer. */
const TLS = /CERT|SIGNATURE|CRL|PATH_LENGTH|PURPOSE|^INVALID_CA$|^HOSTNAME_MISMATCH$|^ERR_(?:SSL|TLS)|^EPROTO$|^ETLS$/

/** Whether an `errorCode` means that TLS failed, so that the host was reached. */
export function isTlsCode (code: string): boolean {
  return TLS.test(code)
}

function isPlain (code: unknown): code is string {
  return typeof code === 'string' && /^\w{1,60}$/.test(code)
}
