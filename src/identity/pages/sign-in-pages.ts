import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { html } from '#src/lib/html.ts'
import { redirectSignedIn, showContinue } from './app-pages.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { asksDevices, deviceForm, SIGN_IN_PASSKEY } from './device-forms.ts'
import { alarm, field, form, link, NOTHING, notice, show, titleOf } from './page-elements.ts'
import { AppQuery, clearApp, clearSession, readAppRequest, setApp } from './page-cookies.ts'
import { explain, settleRefusal } from './show-error.ts'
import { Fields, formPage, page, PageQuery } from './page-route.ts'
import { fill } from './page-texts.ts'
import {
  ACCOUNT, beginVisit, endVisit, findVisitor, needsPassword, PASSWORD, SIGN_IN, SIGN_OUT
} from './page-visitor.ts'

/** The query of a link to the sign-in, from a page of this server or from a front end. */
const SignInQuery = Type.Composite([PageQuery, AppQuery])

interface Attempt { email?: string, refused?: Refused, hasSignedOut?: boolean }

const signInPages: FastifyPluginAsyncTypebox = async (app) => {
  const { config } = app.identity

  app.get('/auth/', page('getPagine', 'Porta all’accesso, o all’account'), async (request, reply) => {
    const visitor = await findVisitor(request)
    const next = visitor === undefined ? SIGN_IN : needsPassword(visitor) ? PASSWORD : ACCOUNT
    return await reply.redirect(next, 303)
  })

  app.get(SIGN_IN, page('getAccesso', 'La pagina per accedere', {
    querystring: SignInQuery
  }), async (request, reply) => {
    const appRequest = readAppRequest(config, request.query)
    if (appRequest) setApp(reply, appRequest)
    const visitor = await findVisitor(request)
    if (visitor && appRequest && visitor.caller.lacks === undefined) {
      return showContinue(request, reply, visitor, appRequest)
    }
    if (visitor) return await reply.redirect(ACCOUNT, 303)
    return showSignIn(request, reply, { hasSignedOut: request.query.esito === 'uscita' })
  })

  app.post(SIGN_IN, formPage(
    'postAccesso', 'Accede con la password', ['email', 'password']
  ), async (request, reply) => {
    const { email = '', password = '' } = request.body
    try {
      const url = '/auth/v1/token?grant_type=password'
      const payload = { email: email.trim(), password }
      const tokens = await callRoute<AuthSession>(request, { method: 'POST', url, payload })
      return await redirectSignedIn(request, reply, await beginVisit(request, reply, tokens))
    } catch (err) {
      return showSignIn(request, reply, { email, refused: refusalOf(err) })
    }
  })

  app.post(SIGN_OUT, page('postUscita', 'Esce', { body: Fields(['altro']) }), async (request, reply) => {
    await endVisit(request)
    clearSession(reply)
    // Without this, a later user of the browser could see this person's pages in the history.
    reply.header('clear-site-data', '"cache"')
    // Drop the front end's request, because the next user did not make it. Keep it for another account of this user.
    if (request.body.altro === undefined) clearApp(reply)
    return await reply.redirect(`${SIGN_IN}?esito=uscita`, 303)
  })
}
export default signInPages

export function showSignIn (
  request: FastifyRequest, reply: FastifyReply, { email, refused, hasSignedOut = false }: Attempt
): FastifyReply {
  const { config } = request.server.identity
  if (refused) settleRefusal(refused, request, reply)
  const hasDevices = asksDevices(config)
  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts, 'badAddress')
    // The error does not show which of the two fields is wrong.
    const isPassword = refused?.code === 'invalid_credentials'
    const content = [
      field({ name: 'email', label: texts.email, type: 'email', autocomplete: 'username', value: email }),
      field({
        name: 'password',
        label: texts.password,
        type: 'password',
        autocomplete: 'current-password',
        error: isPassword ? error : undefined
      })
    ]
    return {
      title: texts.signIn,
      isFaulty: error !== undefined,
      content: html`${notice(hasSignedOut ? texts.signedOut : undefined)}${alarm(isPassword ? undefined : error)}${
        form({ action: SIGN_IN, button: texts.signIn, content })}${link('/auth/recupera', texts.forgot)}${
        config.OAUTH_PROVIDERS.map(({ name }) =>
          link(`/auth/accedi/con/${encodeURIComponent(name)}`, fill(texts.signInWith, titleOf(name))))}${
        hasDevices ? deviceForm({ action: SIGN_IN_PASSKEY, button: texts.signInWithPasskey }, texts) : NOTHING}`
    }
  })
}
