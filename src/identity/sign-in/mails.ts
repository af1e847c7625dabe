import type { Mail } from '#src/plugins/mail/queue.ts'

interface Wording {
  subject: string
  /** What has happened. */
  why: string
  /** The label in front of the address. */
  email: string
  /** What the link is for; none where the mail has only a code. */
  link?: string
  /** For a reader who did not ask for the mail. */
  otherwise: string
}

/** The mails about an account. */
const WORDINGS = {
  signup: {
    subject: 'Conferma la registrazione a Locanda',
    why: 'Con questo indirizzo è stata chiesta la registrazione a Locanda.',
    email: 'Account',
    link: 'Per confermare la registrazione apri questo collegamento nel browser in cui l’hai chiesta ' +
      '(in un altro la password andrà scelta di nuovo):',
    otherwise:
      'Se non hai chiesto tu la registrazione, ignora questo messaggio: senza conferma l’account non si attiva.'
  },
  recovery: {
    subject: 'Reimposta la password di Locanda',
    why: 'È stato chiesto di reimpostare la password del tuo account di Locanda.',
    email: 'Account',
    link: 'Per scegliere una nuova password apri questo collegamento:',
    otherwise: 'Se non hai chiesto tu di reimpostarla, ignora questo messaggio: la password resta quella di prima.'
  },
  magiclink: {
    subject: 'Il collegamento per accedere a Locanda',
    why: 'È stato chiesto di accedere a Locanda con questo indirizzo.',
    email: 'Account',
    link: 'Per accedere apri questo collegamento:',
    otherwise: 'Se non hai chiesto tu di accedere, ignora questo messaggio e non dare il codice a nessuno.'
  },
  invite: {
    subject: 'Invito a Locanda',
    why: 'Hai ricevuto un invito a usare Locanda.',
    email: 'Account',
    link: 'Per accettare l’invito apri questo collegamento:',
    otherwise:
      'Se non hai chiesto tu di entrare e non conosci chi ti invita, ignora questo messaggio: ' +
      'senza conferma l’account non si attiva.'
  },
  email_change: {
    subject: 'Conferma il nuovo indirizzo e-mail',
    why: 'È stato chiesto di cambiare l’indirizzo e-mail di un account di Locanda.',
    email: 'Nuovo indirizzo',
    link: 'Per confermare il cambio apri questo collegamento:',
    otherwise:
      'Se non hai chiesto tu il cambio, ignora questo messaggio: senza conferma l’indirizzo resta quello di prima.'
  },
  reauthentication: {
    subject: 'Il codice di verifica di Locanda',
    why: 'Per confermare un’operazione sul tuo account di Locanda serve un codice di verifica.',
    email: 'Account',
    otherwise: 'Se non hai chiesto tu il codice, non darlo a nessuno e cambia la password.'
  }
} satisfies Record<string, Wording>

export type MailKind = keyof typeof WORDINGS

/** A paragraph, or a link or code on a line of its own. */
type Part = string | { link: string } | { code: string }

/**
 * A mail about an account, as plain text and as HTML with the same content, which loads nothing from the network.
 * @param link an http(s) URL; not used for `reauthentication`, which is answered with the code alone
 * @param email the account's address, for `email_change` the new one
 * @throws TypeError where the link is missing or is no http(s) URL
 */
export function composeMail (
  kind: MailKind,
  { link, code, email }: { link?: string; code: string; email?: string }
): Omit<Mail, 'to'> {
  const wording: Wording = WORDINGS[kind]
  const parts: Part[] = [wording.why]
  // A line break in an address would make the rest of it look like our own text.
  if (email !== undefined) parts.push(`${wording.email}: ${email.replace(/[\p{C}\p{Z}]+/gu, ' ')}`)
  if (wording.link === undefined) {
    parts.push('Inserisci questo codice:', { code }, 'Il codice vale 24 ore e una volta sola.')
  } else {
    parts.push(
      wording.link,
      { link: httpUrl(link) },
      'Oppure inserisci questo codice:',
      { code },
      'Il collegamento e il codice valgono 24 ore e una volta sola.'
    )
  }
  parts.push(wording.otherwise)
  return mailOf(wording.subject, parts)
}

/** A mail of these paragraphs. */
export function mailOf (subject: string, parts: readonly Part[]): Omit<Mail, 'to'> {
  return { subject, text: asText(parts), html: asHtml(subject, parts) }
}

function asText (parts: readonly Part[]): string {
  return (
    parts.map((part) => (typeof part === 'string' ? part : 'link' in part ? part.link : part.code)).join('\n\n') + '\n'
  )
}

function asHtml (title: string, parts: readonly Part[]): string {
  const body = parts.map((part) => `<p>${inline(part)}</p>\n`).join('')
  return '<!doctype html>\n<html lang="it">\n' +
    `<head><meta charset="utf-8"><title>${escape(title)}</title></head>\n<body>\n${body}</body>\n</html>\n`
}

function inline (part: Part): string {
  if (typeof part === 'string') return escape(part)
  return 'link' in part
    ? `<a href="${escape(part.link)}">${escape(part.link)}</a>`
    : `<strong>${escape(part.code)}</strong>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;'
}

function escape (text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]!)
}

function httpUrl (link = ''): string {
  const { protocol, href } = new URL(link)
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError('the link of a mail must be an http(s) URL')
  return href
}
