import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#src/lib/html.ts'
import { prepareErrorReply } from '#src/http/errors.ts'
import { Refused, textKeyFor } from './call-route.ts'
import { alarm, link, show } from './page-elements.ts'
import { fill, type TextKey, type Texts } from './page-texts.ts'
import { RedirectError, SECOND_FACTOR, SIGN_IN } from './page-visitor.ts'

/** The text for a refusal, in the visitor's language. @param otherwise the text for a code that has none */
export function explain (
  refused: Pick<Refused, 'status' | 'code' | 'reasons' | 'retryAfter'>, texts: Texts, otherwise?: TextKey
): string {
  return fill(texts[textKeyFor(refused, otherwise)], minutesOf(refused))
}

export function minutesOf ({ retryAfter }: Pick<Refused, 'retryAfter'>): number {
  return Math.max(1, Math.ceil(retryAfter / 60))
}

/** Sets status, `retry-after` and logged code of a page about a refusal. Any status except 429 and 5xx becomes 400. */
export function settleRefusal ({ status, code, retryAfter }: Refused, request: FastifyRequest, reply: FastifyReply) {
  request.errorCode = code
  if (retryAfter > 0) reply.header('retry-after', retryAfter)
  reply.code(status === 429 || status >= 500 ? status : 400)
}

/** After a refusal with one of these codes, the person is redirected to the proof of a second factor. */
const PROOF_WANTED = ['insufficient_aal', 'SECONDO_FATTORE_RICHIESTO', 'SECONDO_FATTORE_RECENTE']
/** After a refusal with one of these codes, the person is redirected to the sign-in page. */
const SESSION_ENDED = ['session_not_found', 'bad_jwt', 'no_authorization', 'NON_AUTENTICATO', 'user_not_found']

/** The page for a refusal after which the person must prove who they are. Undefined for other codes. */
export function proofPage (code: string): string | undefined {
  if (PROOF_WANTED.includes(code)) return SECOND_FACTOR
  return SESSION_ENDED.includes(code) ? SIGN_IN : undefined
}

export function showError (err: FastifyError | Refused | RedirectError, request: FastifyRequest, reply: FastifyReply) {
  if (err instanceof RedirectError) return reply.redirect(err.location, 303)
  const proof = err instanceof Refused ? proofPage(err.code) : undefined
  if (proof !== undefined) return reply.redirect(proof, 303)
  const refused = err instanceof Refused ? err : refusedBy(err, request, reply)
  if (err instanceof Refused) settleRefusal(err, request, reply)
  return show(request, reply, (texts) => ({
    title: refused.status === 404 ? texts.notFoundTitle : texts.failed,
    isFaulty: true,
    content: html`${alarm(explain(refused, texts))}${link('/auth/', texts.continue)}`
  }))
}

/** Sets the reply's status for an error that no called route returned, e.g. of the rate limit or a foreign form. */
function refusedBy (err: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const { status, codice: code } = prepareErrorReply(err, request, reply)
  return { status, code, reasons: [], retryAfter: Number(reply.getHeader('retry-after') ?? 0) }
}
