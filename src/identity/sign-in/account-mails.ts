import type { FastifyInstance } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import type { Executor } from '#src/database/connect.ts'
import { plainAddress } from '#src/services/mail/mail-address.ts'
import type { Mail } from '#src/services/mail/queue.ts'
import { languageOfPerson, type Language } from '../languages.ts'
import type { User } from '../people/find-users.ts'
import { de } from './mail-texts/mail-de.ts'
import { en } from './mail-texts/mail-en.ts'
import { fr } from './mail-texts/mail-fr.ts'
import { it } from './mail-texts/mail-it.ts'
import type { MailKind, MailTexts, NoticeKind } from './mail-texts/mail-wording.ts'

export type { MailKind } from './mail-texts/mail-wording.ts'

export const CONFIRM_PAGE = '/auth/conferma'

const TEXTS: Readonly<Record<Language, MailTexts>> = { it, en, de, fr }

type Part = string | { link: string } | { code: string }

/**
 * A mail about an account, as plain text and HTML with the same content. It loads nothing from the network.
 * @param link an http(s) URL. Not used for `reauthentication`, which needs only the code
 * @param email the account's address, for `email_change` the new one
 * @throws TypeError when the link is missing or is not an http(s) URL
 */
export function composeMail (
  kind: MailKind, { link, code, email }: { link?: string; code: string; email?: string }, language: Language = 'it'
): Omit<Mail, 'to'> {
  const { mails: { [kind]: wording }, account, enterCode, codeEnds, orCode, linkEnds } = TEXTS[language]
  const parts: Part[] = [wording.why]
  // With a line break, the rest of an address would look like text of this service.
  if (email !== undefined) parts.push(`${wording.email ?? account}: ${email.replace(/[\p{C}\p{Z}]+/gu, ' ')}`)
  if (wording.link === undefined) {
    parts.push(enterCode, { code }, codeEnds)
  } else {
    parts.push(wording.link, { link: httpUrl(link) }, orCode, { code }, linkEnds)
  }
  parts.push(wording.otherwise)
  return mailOf(wording.subject, parts, language)
}

/**
 * Notifies a person by mail of a change to their account, in the same transaction. The caller calls
 * `app.mail.deliver()` after the commit. Without a mail server or a verified address no mail is sent.
 */
export async function notify (
  { mail }: Pick<FastifyInstance, 'mail'>,
  tx: Executor,
  { email, email_confirmed_at, user_metadata }: Pick<User, 'email' | 'email_confirmed_at' | 'user_metadata'>,
  kind: NoticeKind
): Promise<void> {
  if (!mail.configured || email_confirmed_at === null || plainAddress(email) === undefined) return
  const language = languageOfPerson({ user_metadata })
  const [subject, ...parts] = TEXTS[language].notices[kind]
  await mail.enqueue(tx, { to: email, ...mailOf(subject, parts, language) })
}

function mailOf (subject: string, parts: readonly Part[], language: Language): Omit<Mail, 'to'> {
  return { subject, text: asText(parts), html: asHtml(subject, parts, language) }
}

function asText (parts: readonly Part[]): string {
  const lines = parts.map((part) => (typeof part === 'string' ? part : 'link' in part ? part.link : part.code))
  return `${lines.join('\n\n')}\n`
}

function asHtml (title: string, parts: readonly Part[], language: Language): string {
  return html`<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${title}</title></head>
<body>
${parts.map((part) => html`<p>${inline(part)}</p>\n`)}</body>
</html>
`.html
}

function inline (part: Part): string | Html {
  if (typeof part === 'string') return part
  return 'link' in part ? html`<a href="${part.link}">${part.link}</a>` : html`<strong>${part.code}</strong>`
}

function httpUrl (link = ''): string {
  const { protocol, href } = new URL(link)
  if (protocol !== 'https:' && protocol !== 'http:') throw new TypeError('the link of a mail must be an http(s) URL')
  return href
}
