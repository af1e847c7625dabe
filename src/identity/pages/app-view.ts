import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { isLoopbackApp } from '../sign-in/redirects.ts'
import { tagOf, type AppRequest } from './app-request.ts'
import { form, link } from './parts.ts'
import { show } from './show.ts'
import { fill, type Texts } from './texts.ts'
import { CONTINUE, DECLINE, SIGN_OUT, type Visitor } from './visitors.ts'

/* What a person sees whom a front end has sent to sign in. */

/** For who is signed in already: a button, as the address alone takes nothing. */
export function showContinue (
  request: FastifyRequest,
  reply: FastifyReply,
  { user: { email } }: Visitor,
  asked: AppRequest
): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.continueTo,
    content: html`<p>${fill(texts.signedInAs, email)}</p>
${continueForm(asked, texts)}${
  form({ action: SIGN_OUT, button: texts.otherAccount, values: { altro: '1' }, isQuiet: true })}`
  }))
}

/** Who asks, and the two answers. */
export function continueForm (asked: AppRequest, texts: Texts): Html {
  const { redirectTo } = asked
  const who = nameOf(redirectTo)
  return html`<p>${fill(isLoopbackApp(redirectTo) ? texts.programAsks : texts.appAsks, who)}</p>
${form({ action: CONTINUE, button: texts.continue, values: { app: tagOf(asked) } })}${
  form({ action: DECLINE, button: texts.decline, about: who, isQuiet: true })}`
}

/** Leads a browser to another origin after a form, which a redirect must not do (`form-action` of the policy). */
export function showReturn (request: FastifyRequest, reply: FastifyReply, address: string): FastifyReply {
  reply.header('refresh', `0;url=${address}`)
  return show(request, reply, (texts) => ({
    title: texts.returning,
    content: html`<p>${texts.returningText}</p>
${link(address, texts.openApp)}`
  }))
}

/** A front end as people know it. */
function nameOf (redirectTo: string): string {
  const { protocol, host } = new URL(redirectTo)
  return host || protocol.slice(0, -1)
}
