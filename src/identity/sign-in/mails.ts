import type { Mail } from '#src/services/mail/queue.ts'
import type { Language } from '../languages.ts'
import { de } from './mail-texts/de.ts'
import { en } from './mail-texts/en.ts'
import { fr } from './mail-texts/fr.ts'
import { it } from './mail-texts/it.ts'
import type { MailKind, MailTexts, NoticeKind } from './mail-texts/texts.ts'

export type { MailKind, NoticeKind } from './mail-texts/texts.ts'

/** Every text in every language. */
const TEXTS: Readonly<Record<Language, MailTexts>> = { it, en, de, fr }

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
  { link, code, email }: { link?: string; code: string; email?: string },
  language: Language = 'it'
): Omit<Mail, 'to'> {
  const { mails: { [kind]: wording }, enterCode, codeEnds, orCode, linkEnds } = TEXTS[language]
  const parts: Part[] = [wording.why]
  // A line break in an address would make the rest of it look like our own text.
  if (email !== undefined) parts.push(`${wording.email}: ${email.replace(/[\p{C}\p{Z}]+/gu, ' ')}`)
  if (wording.link === undefined) {
    parts.push(enterCode, { code }, codeEnds)
  } else {
    parts.push(
      wording.link,
      { link: httpUrl(link) },
      orCode,
      { code },
      linkEnds
    )
  }
  parts.push(wording.otherwise)
  return mailOf(wording.subject, parts, language)
}

/** A mail that tells a person what was done to their account. */
export function composeNotice (kind: NoticeKind, language: Language): Omit<Mail, 'to'> {
  const [subject, ...parts] = TEXTS[language].notices[kind]
  return mailOf(subject, parts, language)
}

function mailOf (subject: string, parts: readonly Part[], language: Language): Omit<Mail, 'to'> {
  return { subject, text: asText(parts), html: asHtml(subject, parts, language) }
}

function asText (parts: readonly Part[]): string {
  return (
    parts.map((part) => (typeof part === 'string' ? part : 'link' in part ? part.link : part.code)).join('\n\n') + '\n'
  )
}

function asHtml (title: string, parts: readonly Part[], language: Language): string {
  const body = parts.map((part) => `<p>${inline(part)}</p>\n`).join('')
  return `<!doctype html>\n<html lang="${language}">\n` +
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
