import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { Location } from '#schemas/auth/answers.ts'
import { AuthorizeQuery, CallbackQuery, LinkIdentityQuery } from '#schemas/auth/requests.ts'
import { serverOf } from '#src/lib/addresses.ts'
import { parseForm } from '#src/lib/urlencoded.ts'
import { AuthError } from '../errors.ts'
import { deleteOldFlows } from '../sign-in/flow-states.ts'
import { OAuthError } from '../oauth/errors.ts'
import { callbackAddress } from '../oauth/clients.ts'
import { oauthFlows, type AuthorizeRequest } from '../oauth/flows.ts'
import type { ProtocolOptions } from './options.ts'
import { OWN_PAGES, signInPageFor } from './own-pages.ts'

const tags = ['Provider di identità']
const FORM_BYTES = 16 * 1024
const LONGEST_PARAMETER = 200

/** Parameters that clients may add to an authorization request. Those that protect it are not among them. */
const PASSED_ON = [
  'prompt',
  'login_hint',
  'hd',
  'domain_hint',
  'access_type',
  'include_granted_scopes',
  'ui_locales',
  'acr_values',
  'allow_signup'
]

/** Signing in through another provider, and linking an identity there to an account. */
const oauthRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, options) => {
  const flows = oauthFlows(app, options)
  const { start, finish, errorRedirect } = flows

  await app.register(formPost, options)
  for (const provider of options.config.OAUTH_PROVIDERS) {
    if ('issuer' in provider) app.expectReachable({ setting: 'OAUTH_PROVIDERS', ...serverOf(provider.issuer) })
  }

  app.addJob({
    name: 'old-flows',
    description: 'Elimina gli accessi rimasti a metà',
    cron: '17 * * * *',
    run: () => deleteOldFlows(app.db)
  })

  app.route({
    method: 'GET',
    url: '/authorize',
    exposeHeadRoute: false,
    config: { access: 'public', headers: { sends: { 'Set-Cookie': [302] } } },
    schema: {
      operationId: 'authAuthorize',
      tags,
      summary: 'Accede con un altro provider',
      querystring: AuthorizeQuery,
      response: { 302: Type.Null() }
    },
    handler: async (request, reply) => {
      const asked = readAuthorizeRequest(request.query)
      return await reply.redirect(await addressFor(reply, asked).catch(redirectError(asked)), 302)
    }
  })

  app.route({
    method: 'GET',
    url: '/callback',
    // A HEAD must not use the state up.
    exposeHeadRoute: false,
    config: { access: 'public', headers: { sends: { 'Set-Cookie': [302] } } },
    schema: {
      operationId: 'authCallback',
      tags,
      summary: 'Ritorno dal provider',
      querystring: CallbackQuery,
      response: { 302: Type.Null() }
    },
    handler: async (request, reply) => await reply.redirect(await finish(request, reply, request.query), 302)
  })

  app.route({
    method: 'GET',
    url: '/user/identities/authorize',
    exposeHeadRoute: false,
    config: { access: 'user', headers: { sends: { 'Set-Cookie': [200, 302] } } },
    schema: {
      operationId: 'authLinkIdentity',
      tags,
      summary: 'Collega un altro provider al proprio account',
      querystring: LinkIdentityQuery,
      response: { 200: Location, 302: Type.Null() }
    },
    handler: async (request, reply) => {
      const { principal, query } = request
      const asked = readAuthorizeRequest(query)
      const linking = { userId: principal!.userId!, sessionId: principal!.sessionId! }
      if (query.skip_http_redirect === 'true') {
        return { url: await start(reply, asked, linking).catch(answerUnavailable) }
      }
      return await reply.redirect(await start(reply, asked, linking).catch(redirectError(asked)), 302)
    }
  })

  /** At the provider, or the page of this server. */
  async function addressFor (reply: FastifyReply, asked: AuthorizeRequest): Promise<string> {
    const isOwn = asked.provider === OWN_PAGES && !options.clients.has(OWN_PAGES)
    return isOwn ? signInPageFor(options.config, asked) : await start(reply, asked)
  }

  /** A browser cannot read an error answer: it is redirected with the error. */
  function redirectError (asked: AuthorizeRequest): (err: unknown) => string {
    return (err) => {
      if (err instanceof OAuthError) return errorRedirect(asked, err)
      throw err
    }
  }
}
export default oauthRoutes

/**
 * The only route whose body is a form, and must be one. The form comes from another site, without the cookie that binds
 * the flow to the browser: the browser is sent on with the same fields, and brings the cookie then.
 */
const formPost: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config }) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, text, done) => {
      const fields = parseForm(text)
      // RFC 6749, section 3.1: no parameter is repeated.
      done(fields ? null : new AuthError('validation_failed', { message: 'body has a repeated field' }), fields)
    }
  )

  app.route({
    method: 'POST',
    url: '/callback',
    bodyLimit: FORM_BYTES,
    config: { access: 'public' },
    schema: {
      operationId: 'authCallbackForm',
      tags,
      summary: 'Ritorno dal provider con un modulo (form_post)',
      consumes: ['application/x-www-form-urlencoded'],
      body: CallbackQuery,
      response: { 303: Type.Null() }
    },
    handler: async ({ body }, reply) => {
      const url = new URL(callbackAddress(config))
      for (const [name, value] of Object.entries(body)) {
        const isKnown = Object.hasOwn(CallbackQuery.properties, name)
        if (isKnown && typeof value === 'string') url.searchParams.set(name, value)
      }
      return await reply.redirect(url.href, 303)
    }
  })
}

function readAuthorizeRequest (query: Static<typeof AuthorizeQuery>): AuthorizeRequest {
  const { provider, redirect_to, scopes, code_challenge, code_challenge_method } = query
  const parameters = Object.entries(query).filter(([name, value]) => (
    PASSED_ON.includes(name) && typeof value === 'string' && value !== '' && value.length <= LONGEST_PARAMETER
  ))
  return {
    provider,
    redirect_to,
    scopes,
    code_challenge,
    code_challenge_method,
    parameters: Object.fromEntries(parameters)
  }
}

function answerUnavailable (err: unknown): never {
  throw err instanceof OAuthError ? new AuthError('unexpected_failure', { status: 503, message: err.message }) : err
}
