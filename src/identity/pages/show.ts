import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/page.ts'
import { languageOf, TEXTS, type Language, type Texts } from './page-texts.ts'

/** The address of the one script, which sends a form once, and asks devices for their answers. */
export const SCRIPT = '/auth/moduli.js'

/** Of all pages for people: light or dark as the browser asks, and readable on a telephone. */
const STYLE = readFileSync(new URL('style.css', import.meta.url), 'utf8')
const POLICY = pagePolicy(STYLE, ["form-action 'self'", "script-src 'self'", "connect-src 'self'"])

export interface Page {
  title: string
  content: Html
  isFaulty?: boolean
  hasForms?: boolean
  /** By default that of the answer, which is 200 where nothing has set it. */
  status?: number
}

export function show (
  request: FastifyRequest, reply: FastifyReply, make: (texts: Texts, language: Language) => Page
): FastifyReply {
  const language = languageOf(request)
  const texts = TEXTS[language]
  const { title, content, isFaulty = false, hasForms = true, status = reply.statusCode } = make(texts, language)
  const page = htmlPage({
    language,
    title: isFaulty ? `${texts.error}: ${title}` : title,
    style: STYLE,
    script: hasForms ? SCRIPT : undefined,
    content: html`<header>Locanda</header>
<main>
<h1>${title}</h1>
${content}
</main>`
  })
  return reply.code(status)
    .headers({
      'cache-control': 'no-store',
      'content-language': language,
      'content-security-policy': POLICY,
      vary: 'accept-language',
      'x-frame-options': 'DENY'
    })
    .type('text/html; charset=utf-8')
    .send(page)
}
