import { html } from '#src/lib/html.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { GONE, type Outcome } from './send.ts'

/** A webhook that was suspended, and what came of the last attempt. */
export interface Suspended { id: number, url: string, descrizione: string | null, outcome: Outcome }

/** The mail that tells of it, Italian. Of the address it names the host alone: the rest may hold a secret. */
export function suspensionMail ({ id, url, descrizione, outcome }: Suspended): Omit<Mail, 'to'> {
  const name = `Il webhook ${id}${descrizione === null ? '' : ` (${descrizione})`} verso ${new URL(url).host}`
  const { stato_http: status, errore } = outcome
  const paragraphs = [
    status === GONE
      ? `${name} ha risposto ${GONE}: non vuole altri eventi.`
      : `${name} da tre giorni non riceve gli eventi. Ultimo esito: ${status === null ? errore : `stato ${status}`}.`,
    'È sospeso: non gli si consegna più nulla. Ciò che succede intanto si legge in GET /api/v1/eventi.',
    `Un amministratore lo riattiva (POST /api/v1/webhooks/${id}/riattiva) o lo elimina (DELETE /api/v1/webhooks/${id}).`
  ]
  return {
    subject: `Locanda: sospeso il webhook ${id}`,
    text: paragraphs.join('\n\n') + '\n',
    html: html`${paragraphs.map((each) => html`<p>${each}</p>`)}`.html
  }
}
