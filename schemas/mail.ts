/** The states of a mail: it waits for the worker, was taken by the mail server, or was given up. */
export const MAIL_STATES = ['in_coda', 'inviata', 'fallita'] as const
export type MailState = typeof MAIL_STATES[number]
