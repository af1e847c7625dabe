/* The texts of mails about an account. */

/** A mail with a link or a code. */
export interface Wording {
  subject: string
  /** The event. */
  why: string
  /** The label before an address other than the account's. */
  email?: string
  /** The purpose of the link. Absent when the mail has only a code. */
  link?: string
  /** For a reader who did not ask for the mail. */
  otherwise: string
}

export type MailKind = 'signup' | 'recovery' | 'magiclink' | 'invite' | 'email_change' | 'reauthentication'

/** A notice after the fact: subject, what happened, and what to do about it. */
export type Notice = readonly [subject: string, what: string, otherwise: string]
export type NoticeKind = 'factor_added' | 'factor_removed' | 'recovery_codes' | 'passkey_added' | 'passkey_removed' |
  'access_reset' | 'codes_tried'

/** One language. */
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
