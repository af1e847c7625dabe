import { replyCodes } from './reply.ts'

/** Why a mail was not taken. */
export interface Failure {
  /** The SMTP reply code, or the error's code; never the server's words, in which recipients are named. */
  code: string
  /** It would be the same next time. */
  permanent: boolean
  /** The mail itself was refused; otherwise the server could not be had, and no other mail would fare better. */
  ofThisMail: boolean
}

/** The code of a refused login. */
export const REFUSED_LOGIN = 'EAUTH'
/** The code of a content that cannot be unsealed: it was sealed with another master key. */
export const UNREADABLE = 'ILLEGGIBILE'

/**
 * 530 asks for a login or for TLS (RFC 4954, RFC 3207), 503 for another order of commands: neither is about the mail.
 */
const OF_THE_SESSION = new Set(['503', '530'])
/** nodemailer's codes for what was refused between `MAIL FROM` and the end of `DATA`. */
const OF_A_MAIL = new Set(['EENVELOPE', 'EMESSAGE'])
/** nodemailer's codes that say more than the reply which they come with. */
const SAYS_MORE = new Set([REFUSED_LOGIN, 'ETLS'])

/** What an error of the transport means. A refusal of the login or of the whole session is never blamed on the mail. */
export function failureOf (err: unknown): Failure {
  const code = detail(err, 'code')
  const reply = detail(err, 'responseCode')
  const ofThisMail = OF_A_MAIL.has(code) && !OF_THE_SESSION.has(reply)
  // The original code is the system's, or that of TLS.
  const known = SAYS_MORE.has(code) ? code : reply || detail(err, 'originalCode') || code
  return {
    code: /^\w{1,40}$/.test(known) ? known : 'ERRORE',
    permanent: ofThisMail && /^5\d\d$/.test(reply),
    ofThisMail
  }
}

/** What the server replied, where the error is a reply: its codes; see `replyCodes`. */
export function replyOf (err: unknown): string | null {
  return replyCodes(detail(err, 'response'))
}

function detail (err: unknown, name: string): string {
  const value: unknown = err instanceof Error ? Reflect.get(err, name) : undefined
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
