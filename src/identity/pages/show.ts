import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/page.ts'
import { STYLE } from './style.ts'
import { languageOf, TEXTS, type Language, type Texts } from './texts.ts'

/** The address of the one script, which sends a form once, and asks devices for their answers. */
export const SCRIPT = '/auth/moduli.js'

const POLICY = pagePolicy(STYLE, ["form-action 'self'", "script-src 'self'", "connect-src 'self'"])

/** A page, in the language of the person. */
export interface Page {
  title: string
  content: Html
  /** Something on it is refused. */
  isFaulty?: boolean
  /** By default it has. */
  hasForms?: boolean
  /** By default that of the answer, which is 200 where nothing has set it. */
  status?: number
}

/** Writes the page in the browser's language. */
export function show (
  request: FastifyRequest,
  reply: FastifyReply,
  make: (texts: Texts, language: Language) => Page
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
  return reply
    .code(status)
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
