import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { issueTokenHandover } from '../sign-in/token-handover.ts'
import { redirectWithCode } from '../sign-in/redirects.ts'
import { appOf, clearApp, tagOf, type AppRequest } from './page-cookies.ts'
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
    // Undefined if the cookie has expired.
    const routeCall = appOf(request)
    if (routeCall === undefined) throw new RedirectError(ACCOUNT)
    // Another request has replaced it. The person agrees only to the request that the page shows.
    if (request.body.app !== tagOf(routeCall)) return showContinue(request, reply, visitor, routeCall)
    return await goOn(request, reply, visitor)
  })

  app.post(DECLINE, formPage('postRifiuta', 'Non dà una sessione all’applicazione', []), async (_request, reply) => {
    clearApp(reply)
    return await reply.redirect(ACCOUNT, 303)
  })
}
export default appPages

/**
 * Redirects a person who has just signed in: to the second factor, to a new password, to the front end that sent
 * them, or to the account.
 */
export async function goOn (request: FastifyRequest, reply: FastifyReply, visitor: Visitor): Promise<FastifyReply> {
  const { db, identity: { keys } } = request.server
  const { lacks } = visitor.caller
  if (lacks === 'proof') return await reply.redirect(SECOND_FACTOR, 303)
  if (lacks === 'password') return await reply.redirect(PASSWORD, 303)
  const routeCall = appOf(request)
  if (routeCall === undefined || lacks !== undefined) return await reply.redirect(ACCOUNT, 303)
  const code = await db.transaction((tx) => issueTokenHandover(tx, keys, visitor, routeCall))
  clearApp(reply)
  return showReturn(request, reply, redirectWithCode(routeCall.redirectTo, code))
}

/** A button for a person who is already signed in, because a GET must not sign a person in to the front end. */
export function showContinue (
  request: FastifyRequest, reply: FastifyReply, { user: { email } }: Visitor, routeCall: AppRequest
): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.continueTo,
    content: html`<p>${fill(texts.signedInAs, email)}</p>
${continueForm(routeCall, texts)}${
  form({ action: SIGN_OUT, button: texts.otherAccount, values: { altro: '1' }, isQuiet: true })}`
  }))
}

export function continueForm (routeCall: AppRequest, texts: Texts): Html {
  const { protocol, host } = new URL(routeCall.redirectTo)
  // The name of the front end that users see.
  const who = host || protocol.slice(0, -1)
  return html`<p>${fill(texts.appAsks, who)}</p>
${form({ action: CONTINUE, button: texts.continue, values: { app: tagOf(routeCall) } })}${
  form({ action: DECLINE, button: texts.decline, about: who, isQuiet: true })}`
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
