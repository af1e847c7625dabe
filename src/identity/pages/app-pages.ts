import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { issueTokenHandover } from '../sign-in/token-handover.ts'
import { redirectWithCode } from '../sign-in/redirects.ts'
import { appOf, clearApp, clearNextPage, nextPageOf, tagOf, type AppRequest } from './page-cookies.ts'
import { form, link, show } from './page-elements.ts'
import { formPage } from './page-route.ts'
import { fill, type Texts } from './page-texts.ts'
import {
  ACCOUNT, CONTINUE, DECLINE, PASSWORD, RedirectError, requireVisitor, SECOND_FACTOR, SIGN_OUT, type Visitor
} from './page-visitor.ts'

const appPages: FastifyPluginAsyncTypebox = async (app) => {
  app.post(CONTINUE, formPage(
    'postContinua', 'Torna all’applicazione con una sessione', ['app']
  ), async (request, reply) => {
    const visitor = await requireVisitor(request)
    // The cookie may have expired.
    const appRequest = appOf(request)
    if (appRequest === undefined) throw new RedirectError(ACCOUNT)
    // Another request has replaced the cookie. The person agrees only to the request that the page shows.
    if (request.body.app !== tagOf(appRequest)) return showContinue(request, reply, visitor, appRequest)
    return await redirectSignedIn(request, reply, visitor)
  })

  app.post(DECLINE, formPage('postRifiuta', 'Non dà una sessione all’applicazione', []), async (_request, reply) => {
    clearApp(reply)
    return await reply.redirect(ACCOUNT, 303)
  })
}
export default appPages

/** Redirects a person who has signed in: to the next required step, to the front end, or to a page of this server. */
export async function redirectSignedIn (
  request: FastifyRequest, reply: FastifyReply, visitor: Visitor
): Promise<FastifyReply> {
  const { db, identity: { keys } } = request.server
  const { lacks } = visitor.caller
  if (lacks === 'proof') return await reply.redirect(SECOND_FACTOR, 303)
  if (lacks === 'password') return await reply.redirect(PASSWORD, 303)
  if (lacks !== undefined) return await reply.redirect(ACCOUNT, 303)
  const appRequest = appOf(request)
  if (appRequest === undefined) {
    const next = nextPageOf(request)
    if (next !== undefined) clearNextPage(reply)
    return await reply.redirect(next ?? ACCOUNT, 303)
  }
  const code = await db.transaction((tx) => issueTokenHandover(tx, keys, visitor, appRequest))
  clearApp(reply)
  return showReturn(request, reply, redirectWithCode(appRequest.redirectTo, code))
}

/** A button for a person who is already signed in, because a GET must not sign a person in to the front end. */
export function showContinue (
  request: FastifyRequest, reply: FastifyReply, { user: { email } }: Visitor, appRequest: AppRequest
): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.continueTo,
    content: html`<p>${fill(texts.signedInAs, email)}</p>
${continueForm(appRequest, texts)}${
  form({ action: SIGN_OUT, button: texts.otherAccount, values: { altro: '1' }, isQuiet: true })}`
  }))
}

export function continueForm (appRequest: AppRequest, texts: Texts): Html {
  const { protocol, host } = new URL(appRequest.redirectTo)
  const appName = host || protocol.slice(0, -1)
  return html`<p>${fill(texts.appAsks, appName)}</p>
${form({ action: CONTINUE, button: texts.continue, values: { app: tagOf(appRequest) } })}${
  form({ action: DECLINE, button: texts.decline, about: appName, isQuiet: true })}`
}

/** Sends the browser to another origin after a form. A redirect is not allowed there (`form-action` in the policy). */
function showReturn (request: FastifyRequest, reply: FastifyReply, address: string): FastifyReply {
  reply.header('refresh', `0;url=${address}`)
  return show(request, reply, (texts) => ({
    title: texts.returning,
    content: html`<p>${texts.returningText}</p>
${link(address, texts.openApp)}`
  }))
}
