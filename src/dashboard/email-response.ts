import type { Email, EmailResponse, EmailRecipient } from '#schemas/email.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import type { DeliveryStatus } from '#src/services/mail/delivery-status.ts'
import { explain } from './email-replies.ts'

/** A queued mail. */
export interface Posted { id: number, messageId: string, recipient: string }

/** The state of each mail, in the order of the recipients. A mail without an outcome is in the queue. */
export function presentSending (posted: readonly Posted[], deliveryStatuses: readonly DeliveryStatus[]): EmailResponse {
  const known = new Map(deliveryStatuses.map((outcome) => [outcome.id, outcome]))
  const recipients = posted.map(({ id, messageId, recipient }): EmailRecipient => {
    const { stato, reply, last_error } = known.get(id) ?? { stato: 'in_coda', reply: null, last_error: null }
    return { recipient, id, messageId, stato, risposta: reply, spiegazione: explain({ stato, reply, last_error }) }
  })
  const of = (state: EmailRecipient['stato']) =>
    recipients.filter(({ stato }) => stato === state).map(({ recipient }) => recipient)
  const [accepted, rejected] = [of('inviata'), of('fallita')]
  return {
    success: rejected.length === 0,
    message: sumUp(accepted.length, rejected.length, recipients.length - accepted.length - rejected.length),
    messageId: recipients[0]!.messageId,
    accepted,
    rejected,
    recipients,
    status: 200
  }
}

export function presentEmail (outcome: DeliveryStatus): Email {
  const { id, message_id, stato, reply, last_error, attempts, created_at, sent_at, next_attempt_at } = outcome
  // During an attempt the column contains the end of the lease instead.
  const isSet = stato === 'in_coda' && last_error !== null
  return {
    id,
    messageId: message_id,
    stato,
    risposta: reply,
    spiegazione: explain(outcome),
    tentativi: attempts,
    creata_il: created_at.toISOString(),
    inviata_il: sent_at?.toISOString() ?? null,
    prossimo_tentativo: isSet ? next_attempt_at.toISOString() : null
  }
}

function sumUp (accepted: number, rejected: number, queued: number): string {
  return [
    accepted > 0 && `${countWithNoun(accepted, 'e-mail accettata', 'e-mail accettate')} dal server di posta`,
    rejected > 0 && countWithNoun(rejected, 'e-mail rifiutata', 'e-mail rifiutate'),
    queued > 0 && `${countWithNoun(queued, 'e-mail in coda', 'e-mail in coda')}: la consegna prosegue da sola, ` +
      'GET /api/v1/email ne dice l’esito'
  ].filter((part) => part !== false).join('; ')
}
