import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '#src/lib/html.ts'
import { publicPath } from '#src/lib/local-paths.ts'
import { RedirectError, setNextPage, SIGN_IN } from '#src/identity/index.ts'
import { prepareErrorReply } from '#src/http/errors.ts'
import { alarm, buttonLink, NAV, refusalText, requestCode, showDesk } from './desk-layout.ts'
import { openFrame, Refusal } from './desk-page.ts'

/**
 * Renders an error as a page with the request id. A `RedirectError` redirects, for example to the sign-in page, from
 * where the person returns to the requested page. A GET request for the URL of a form is redirected to its page.
 * @param back the only link of the page, for a visitor who has not signed in
 */
export function showDeskError (
  err: FastifyError | Refusal | RedirectError,
  request: FastifyRequest,
  reply: FastifyReply,
  back?: { href: string, text: string }
): FastifyReply {
  if (err instanceof RedirectError) return redirectPerson(err.location, request, reply)
  const form = err instanceof Refusal ? undefined : pageOfForm(err, request)
  if (form !== undefined) return reply.redirect(form, 303)
  const frame = openFrame(request, reply)
  const { texts } = frame
  const { status, codice, error, requestId } = err instanceof Refusal
    ? applyRefusal(err, request, reply)
    : { ...prepareErrorReply(err, request, reply), requestId: request.id }
  const isUnknown = status === 404 || status === 405
  const isUnexplained = status >= 500 && codice !== 'MANUTENZIONE'
  const ownTexts: Readonly<Record<string, string>> = {
    MODULO_SCADUTO: texts.expiredForm, NON_AUTORIZZATO: texts.onlyAdministrators
  }
  const ownText = ownTexts[codice] ?? (isUnexplained ? texts.failedText : refusalText(frame, { codice, error }))
  // The API names the missing object, but only in Italian.
  const hasOwnText = err instanceof Refusal && frame.language === 'it'
  const text = isUnknown && !hasOwnText ? texts.notFoundText : ownText
  const { href, text: next } = back ?? { href: '/oggi', text: texts.toToday }
  return showDesk(frame, {
    title: isUnknown ? texts.notFound : texts.failed,
    isFaulty: true,
    isAlone: back !== undefined,
    status,
    content: html`${alarm(text)}${requestCode(frame, requestId)}<p>${buttonLink(href, next, { isMain: true })}</p>`
  })
}

/**
 * The page that contains a form, when the request is a GET of the form's URL, which accepts only POST. After a refusal
 * the browser shows that URL. The person may reload it, or return to it from the sign-in page.
 */
function pageOfForm ({ statusCode }: FastifyError, { method, url }: FastifyRequest): string | undefined {
  const path = url.split('?', 1)[0]!
  const isForm = statusCode === 405 && method === 'GET' && NAV.some(([screen]) => path.startsWith(`${screen}/`))
  return isForm ? path.slice(0, path.lastIndexOf('/')) : undefined
}

/** Sets the status and the logged error code of a refusal. */
function applyRefusal ({ body }: Refusal, request: FastifyRequest, reply: FastifyReply) {
  request.errorCode = body.codice
  reply.code(body.status)
  return body
}

/**
 * Redirects the person. htmx would insert the new page into the current one, so htmx gets the URL and opens it. The
 * reload of a live part leaves the page as it is, because the person may be typing.
 */
function redirectPerson (location: string, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (request.headers['x-live'] !== undefined) return reply.code(401).type('text/html; charset=utf-8').send('')
  const { 'hx-request': isInPlace, referer, 'hx-current-url': from = referer } = request.headers
  const page = request.method === 'GET' && isInPlace === undefined ? request.url : pathOf(from, request)
  if (page !== undefined && location.startsWith(SIGN_IN)) setNextPage(reply, page)
  if (isInPlace === undefined) return reply.redirect(location, 303)
  return reply.code(200).header('hx-redirect', location).type('text/html; charset=utf-8').send('')
}

/** The path of a page without the path of `PUBLIC_URL`, which the redirect adds again. */
function pathOf (url: string | string[] | undefined, { server }: FastifyRequest): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { pathname, search } = new URL(url)
  const prefix = publicPath(server.identity.config.PUBLIC_URL)
  return pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) + search : undefined
}
