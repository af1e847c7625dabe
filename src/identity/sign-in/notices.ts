import type { FastifyInstance } from 'fastify'
import { plainAddress } from '#src/plugins/mail/address.ts'
import type { Executor } from '#src/plugins/database/connect.ts'
import type { User } from '../people/find-users.ts'
import { mailOf } from './mails.ts'

const OTHERWISE =
  'Se non è opera tua, cambia subito la password, chiudi le altre sessioni e avvisa un amministratore.'

/** What a person is told after the fact: subject, what has happened, and what to do about it. */
const NOTICES = {
  factor_added: ['Nuovo secondo fattore', 'Al tuo account di Locanda è stato aggiunto un secondo fattore.', OTHERWISE],
  factor_removed: [
    'Secondo fattore rimosso', 'Dal tuo account di Locanda è stato rimosso un secondo fattore.', OTHERWISE
  ],
  recovery_codes: [
    'Nuovi codici di recupero',
    'Per il tuo account di Locanda sono stati creati nuovi codici di recupero: se ne avevi altri, non valgono più.',
    OTHERWISE
  ],
  passkey_added: ['Nuova passkey', 'Al tuo account di Locanda è stata aggiunta una passkey.', OTHERWISE],
  passkey_removed: ['Passkey rimossa', 'Dal tuo account di Locanda è stata rimossa una passkey.', OTHERWISE],
  access_reset: [
    'Account reimpostato',
    'Un amministratore ha tolto dal tuo account di Locanda i secondi fattori e le passkey.',
    'Se non te l’aspettavi, avvisa un amministratore.'
  ],
  codes_tried: [
    'Codici sbagliati per il tuo account',
    'Qualcuno che conosce la tua password di Locanda ha provato più volte il secondo fattore con codici sbagliati.',
    'Se non sei stato tu, cambia la password: senza il secondo fattore non è entrato nessuno. ' +
      'Se il codice dell’app non viene più accettato, accedi con un codice di recupero.'
  ]
} satisfies Record<string, [subject: string, what: string, otherwise: string]>

export type NoticeKind = keyof typeof NOTICES

/**
 * Tells a person by mail what was done to their account, in the transaction that does it; the caller calls
 * `app.mail.deliver()` after the commit. Without a mail server, or an address that was proven, nobody is told.
 */
export async function notify (
  { mail }: Pick<FastifyInstance, 'mail'>,
  tx: Executor,
  { email, email_confirmed_at }: Pick<User, 'email' | 'email_confirmed_at'>,
  kind: NoticeKind
): Promise<void> {
  if (!mail.configured || email_confirmed_at === null || plainAddress(email) === undefined) return
  const [subject, ...parts] = NOTICES[kind]
  await mail.enqueue(tx, { to: email, ...mailOf(subject, parts) })
}
