import { replyCodes } from './smtp-reply-codes.ts'

/** The reason why the SMTP server did not accept a mail. */
export interface SmtpFailure {
  /** The SMTP reply code, or the code of the error. Never the server's text, because it may name recipients. */
  code: string
  /** Whether a retry would fail in the same way. */
  permanent: boolean
  /** Whether the server refused this mail. Otherwise it is unavailable, and other mails would fail too. */
  ofThisMail: boolean
}

/** The code of a failed login. */
export const REFUSED_LOGIN = 'EAUTH'
/** The code for a mail that cannot be decrypted, because it was sealed with another master key. */
export const UNREADABLE = 'ILLEGGIBILE'

/** 530 requires a login or TLS (RFC 4954, RFC 3207), and 503 another order of commands. Neither concerns the mail. */
const OF_THE_SESSION = new Set(['503', '530'])
/** nodemailer's codes for a refusal from `MAIL FROM` to the end of `DATA`. */
const OF_A_MAIL = new Set(['EENVELOPE', 'EMESSAGE'])
/** nodemailer's codes that are more specific than the SMTP reply. */
const SAYS_MORE = new Set([REFUSED_LOGIN, 'ETLS'])

/** Classifies an error of the transport. A refused login or session never counts as an error of the mail. */
export function classifySmtpError (err: unknown): SmtpFailure {
  const code = detail(err, 'code')
  const reply = detail(err, 'responseCode')
  const ofThisMail = OF_A_MAIL.has(code) && !OF_THE_SESSION.has(reply)
  // Errors of the system or of TLS have `originalCode`.
  const known = SAYS_MORE.has(code) ? code : reply || detail(err, 'originalCode') || code
  return {
    code: /^\w{1,40}$/.test(known) ? known : 'ERRORE',
    permanent: ofThisMail && /^5\d\d$/.test(reply),
    ofThisMail
  }
}

/** The codes in the server's reply. Null if the error is not a reply. See `replyCodes`. */
export function replyCodesOf (err: unknown): string | null {
  return replyCodes(detail(err, 'response'))
}

function detail (err: unknown, name: string): string {
  const value: unknown = err instanceof Error ? Reflect.get(err, name) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
