import { html } from '#src/lib/html.ts'
import { counted } from '#src/lib/counted.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { inRome } from '#src/lib/time.ts'
import { kindOf, type AlarmFacts, type AlarmKind } from './kinds.ts'

type Content = Omit<Mail, 'to'>

/** What a mail says: paragraphs, and the cases one a line. */
export interface Letter { subject: string, paragraphs: readonly string[], sections: readonly Section[] }
interface Section { title: string, lines: readonly string[] }

/** So many cases are written out in a mail; of the others it says how many they are. */
const MAX_LINES = 100

/** The mail that tells of an alarm: what happened, to what, and what to do. Italian; no names. */
export function alarmMail (kind: AlarmKind, cases: readonly AlarmFacts[], mode: 'sandbox' | 'production'): Content {
  const { subject, text } = kindOf(kind)
  return letter({ subject, paragraphs: [text], sections: [{ title: 'Riguarda', lines: cases.map(describe) }] }, mode)
}

/** A mail as text and as HTML. Those of the sandbox say so: nothing in them concerns the police. */
export function letter ({ subject, paragraphs, sections }: Letter, mode: 'sandbox' | 'production'): Content {
  const written = sections.map(({ title, lines }) => ({ title, lines: shorten(lines) }))
  return {
    subject: `Alloggiati Web${mode === 'sandbox' ? ' (sandbox)' : ''}: ${subject}`,
    text: [
      ...paragraphs,
      ...written.map(({ title, lines }) => [`${title}:`, ...lines.map((line) => `- ${line}`)].join('\n'))
    ].join('\n\n') + '\n',
    html: html`${paragraphs.map((each) => html`<p>${each}</p>`)}${written.map(({ title, lines }) =>
      html`<p>${title}:</p><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul>`)}`.html
  }
}

function shorten (lines: readonly string[]): readonly string[] {
  const more = lines.length - MAX_LINES
  return more <= 0 ? lines : [...lines.slice(0, MAX_LINES), `e ${counted(more, 'altro', 'altri')}`]
}

/** A case in words. */
export function describe (facts: AlarmFacts): string {
  const { invio, ricevuta, tentativo, prenotazione, prenotazioni: bookings, giorno, utente, scadenza } = facts
  const { ospiti_mancanti: missing, dal, macchina } = facts
  const parts = [
    prenotazione === undefined ? undefined : `prenotazione ${prenotazione}`,
    bookings === undefined
      ? undefined
      : `${bookings.length === 1 ? 'prenotazione' : 'prenotazioni'} ${bookings.join(', ')}`,
    missing === undefined ? undefined : counted(missing, 'ospite da comunicare', 'ospiti da comunicare'),
    ricevuta === undefined ? undefined : `invio ${ricevuta}`,
    invio === undefined ? undefined : `id dell’invio ${invio}`,
    tentativo === undefined ? undefined : `tentativo ${tentativo}`,
    giorno === undefined ? undefined : `giorno ${giorno}`,
    utente === undefined ? undefined : `account ${utente}`,
    scadenza === undefined ? undefined : `scadenza ${inRome(new Date(scadenza))}`,
    dal === undefined ? undefined : `dal ${inRome(new Date(dal))}`,
    macchina === undefined ? undefined : `server ${macchina}`,
    facts.errore
  ]
  return parts.filter((part) => part !== undefined).join(', ') || 'il registro'
}
