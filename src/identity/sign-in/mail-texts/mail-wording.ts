/* The texts of mails about an account. */

/** A mail with a code, and usually a link. */
export interface Wording {
  subject: string
  /** The reason for the mail. */
  why: string
  /** The label of an address other than the account's. */
  email?: string
  /** The purpose of the link. Missing when the mail has only a code. */
  link?: string
  /** Advice for a reader who did not request the mail. */
  otherwise: string
}

export type MailKind = 'signup' | 'recovery' | 'magiclink' | 'invite' | 'email_change' | 'reauthentication'

/** A notice of a past event: subject, the event, and advice. */
export type Notice = readonly [subject: string, event: string, otherwise: string]
export type NoticeKind = 'factor_added' | 'factor_removed' | 'recovery_codes' | 'passkey_added' | 'passkey_removed' |
  'access_reset' | 'codes_tried'

/** The texts in one language. */
export interface MailTexts {
  /** The label before the account's address. */
  account: string
  enterCode: string
  codeEnds: string
  orCode: string
  linkEnds: string
  mails: Readonly<Record<MailKind, Wording>>
  notices: Readonly<Record<NoticeKind, Notice>>
}
