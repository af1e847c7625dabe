import { replyCodes } from './smtp-reply-codes.ts'

/** The reason why the SMTP server did not accept a mail. */
export interface SmtpFailure {
  /** The SMTP reply code or the error's code. Never the server's text, which names recipients. */
  code: string
  /** A retry would fail the same way. */
  permanent: boolean
  /** The server refused this mail. Otherwise the server is unavailable, and other mails would fail, too. */
  ofThisMail: boolean
}

/** The code of a failed login. */
export const REFUSED_LOGIN = 'EAUTH'
/** The code of a mail that cannot be decrypted, because it was sealed with another master key. */
export const UNREADABLE = 'ILLEGGIBILE'

/** 530 requires a login or TLS (RFC 4954, RFC 3207), 503 another command order. Neither concerns the mail. */
const OF_THE_SESSION = new Set(['503', '530'])
/** nodemailer's codes for a refusal between `MAIL FROM` and the end of `DATA`. */
const OF_A_MAIL = new Set(['EENVELOPE', 'EMESSAGE'])
/** nodemailer's codes that are more specific than the SMTP reply. */
const SAYS_MORE = new Set([REFUSED_LOGIN, 'ETLS'])

/** Classifies an error of the transport. A refused login or session is never attributed to the mail. */
export function classifySmtpError (err: unknown): SmtpFailure {
  const code = detail(err, 'code')
  const reply = detail(err, 'responseCode')
  const ofThisMail = OF_A_MAIL.has(code) && !OF_THE_SESSION.has(reply)
  // The system or TLS sets `originalCode`.
  const known = SAYS_MORE.has(code) ? code : reply || detail(err, 'originalCode') || code
  return {
    code: /^\w{1,40}$/.test(known) ? known : 'ERRORE',
    permanent: ofThisMail && /^5\d\d$/.test(reply),
    ofThisMail
  }
}

/** The codes of the server's reply, if the error is a reply. See `replyCodes`. */
export function replyCodesOf (err: unknown): string | null {
  return replyCodes(detail(err, 'response'))
}

function detail (err: unknown, name: string): string {
  const value: unknown = err instanceof Error ? Reflect.get(err, name) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
