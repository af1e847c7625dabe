/* What mails about an account say. */

/** A mail with a link or a code. */
export interface Wording {
  subject: string
  /** What has happened. */
  why: string
  /** The label in front of an address that is not the account's. */
  email?: string
  /** What the link is for; none where the mail has only a code. */
  link?: string
  /** For a reader who did not ask for the mail. */
  otherwise: string
}

export type MailKind = 'signup' | 'recovery' | 'magiclink' | 'invite' | 'email_change' | 'reauthentication'

/** What a person is told after the fact: subject, what has happened, and what to do about it. */
export type Notice = readonly [subject: string, what: string, otherwise: string]
export type NoticeKind = 'factor_added' | 'factor_removed' | 'recovery_codes' | 'passkey_added' | 'passkey_removed' |
  'access_reset' | 'codes_tried'

/** One language. */
export interface MailTexts {
  /** The label in front of the account's address. */
  account: string
  enterCode: string
  codeEnds: string
  orCode: string
  linkEnds: string
  mails: Readonly<Record<MailKind, Wording>>
  notices: Readonly<Record<NoticeKind, Notice>>
}
