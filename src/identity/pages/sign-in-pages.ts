import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { Config } from '#src/config/config.ts'
import { html } from '#src/lib/html.ts'
import { AppQuery, readAppRequest } from './app-request.ts'
import { showContinue } from './app-view.ts'
import { refusalOf, type Refused } from './ask.ts'
import { asksDevices, deviceForm, SIGN_IN_PASSKEY } from './devices.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, field, form, link, NOTHING, notice, titleOf } from './parts.ts'
import { isProofTooOld } from './go-on.ts'
import { explain, settleRefusal } from './refusals.ts'
import { described, OPEN, PageQuery } from './route.ts'
import { show } from './show.ts'
import { fill } from './texts.ts'
import { ACCOUNT, needsPassword, PASSWORD, SECOND_FACTOR, SIGN_IN, SIGN_OUT } from './visitors.ts'

/** From our own pages, or from a front end. */
const SignInQuery = Type.Composite([PageQuery, AppQuery])

interface Attempt { email?: string, refused?: Refused, hasSignedOut?: boolean }

/** Signing in with a password, and signing out. */
const signInPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { config, ask, cookies, visitors, goOn }) => {
  app.route({
    method: 'GET',
    url: '/auth/',
    config: OPEN,
    schema: described('getPagine', 'Dove comincia una persona', {}),
    handler: async (request, reply) => {
      const visitor = await visitors.find(request)
      const next = visitor === undefined ? SIGN_IN : needsPassword(visitor) ? PASSWORD : ACCOUNT
      return await reply.redirect(next, 303)
    }
  })

  app.route({
    method: 'GET',
    url: SIGN_IN,
    config: OPEN,
    schema: described('getAccesso', 'La pagina per accedere', { querystring: SignInQuery }),
    handler: async (request, reply) => {
      const asked = readAppRequest(config, request.query)
      if (asked) cookies.setApp(reply, asked)
      const visitor = await visitors.find(request)
      if (visitor && asked && visitor.caller.lacks === undefined) {
        if (isProofTooOld(config, visitor, asked)) return await reply.redirect(SECOND_FACTOR, 303)
        return showContinue(request, reply, visitor, asked)
      }
      if (visitor) return await reply.redirect(ACCOUNT, 303)
      return showSignIn(request, reply, config, { hasSignedOut: request.query.esito === 'uscita' })
    }
  })

  app.route({
    method: 'POST',
    url: SIGN_IN,
    config: OPEN,
    schema: described('postAccesso', 'Accede con la password', { body: Fields(['email', 'password']) }),
    handler: async (request, reply) => {
      const { email = '', password = '' } = request.body
      try {
        const url = '/auth/v1/token?grant_type=password'
        const payload = { email: email.trim(), password }
        const tokens = await ask<AuthSession>(request, { method: 'POST', url, payload })
        return await goOn(request, reply, await visitors.begin(request, reply, tokens))
      } catch (err) {
        return showSignIn(request, reply, config, { email, refused: refusalOf(err) })
      }
    }
  })

  app.route({
    method: 'POST',
    url: SIGN_OUT,
    config: OPEN,
    schema: described('postUscita', 'Esce', { body: Fields(['altro']) }),
    handler: async (request, reply) => {
      const visitor = await visitors.find(request)
      if (visitor) {
        const { token } = visitor
        await ask(request, { method: 'POST', url: '/auth/v1/logout?scope=local', token, payload: {} })
      }
      cookies.clearSession(reply)
      // Whoever signs in next is not asked what this person was, unless it is this person under another name.
      if (request.body.altro === undefined) cookies.clearApp(reply)
      return await reply.redirect(`${SIGN_IN}?esito=uscita`, 303)
    }
  })
}
export default signInPages

/** The page to sign in. */
export function showSignIn (
  request: FastifyRequest,
  reply: FastifyReply,
  config: Config,
  { email, refused, hasSignedOut = false }: Attempt
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  const hasDevices = asksDevices(config)
  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts, 'badAddress')
    // Of the two fields, the page does not say which one is wrong.
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
