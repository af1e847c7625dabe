/** The states of a mail: queued, accepted by the mail server, or failed. */
export const MAIL_STATES = ['in_coda', 'inviata', 'fallita'] as const
export type MailState = typeof MAIL_STATES[number]
