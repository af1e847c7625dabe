import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Location } from '#schemas/auth/responses.ts'
import { AuthorizeQuery, CallbackQuery, LinkIdentityQuery } from '#schemas/auth/requests.ts'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import { parseForm } from '#src/lib/urlencoded.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { deleteOldFlows, readChallenge } from '../sign-in/flow-states.ts'
import { allowedRedirect } from '../sign-in/redirects.ts'
import { OAuthError } from '../oauth/errors.ts'
import { callbackAddress } from '../oauth/clients.ts'
import { endFlow, errorRedirect, startFlow, type AuthorizeRequest } from '../oauth/flows.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'
const FORM_BYTES = 16 * 1024
const MAX_PARAMETER_LENGTH = 200

/** The provider name by which front ends request the sign-in pages of this server. */
const OWN_PAGES = 'custom:locanda'

/** Parameters that clients may add to an authorization request. None of them protects the request. */
const PASSED_ON = [
  'prompt', 'login_hint', 'hd', 'domain_hint', 'access_type', 'include_granted_scopes', 'ui_locales', 'acr_values',
  'allow_signup'
]

const oauthRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { config } = app.identity
  await app.register(formPost)
  for (const provider of config.OAUTH_PROVIDERS) {
    if ('issuer' in provider) app.addHealthCheck({ setting: 'OAUTH_PROVIDERS', ...serverOf(provider.issuer) })
  }

  app.addJob({
    name: 'old-flows',
    description: 'Elimina gli accessi rimasti a metà',
    cron: '17 * * * *',
    run: () => deleteOldFlows(app.db)
  })

  app.get('/authorize', {
    exposeHeadRoute: false,
    ...route(
      { access: 'public', headers: { sends: { 'Set-Cookie': [302] } } },
      'authAuthorize', 'Accede con un altro provider', { querystring: AuthorizeQuery, response: { 302: Type.Null() } }
    )
  }, async (request, reply) => {
    const asked = readAuthorizeRequest(request.query)
    return await reply.redirect(await addressFor(reply, asked).catch(redirectError(config, asked)), 302)
  })

  app.get('/callback', {
    // No HEAD, because it would use up the state.
    exposeHeadRoute: false,
    ...route(
      { access: 'public', headers: { sends: { 'Set-Cookie': [302] } } }, 'authCallback', 'Ritorno dal provider', {
        querystring: CallbackQuery, response: { 302: Type.Null() }
      }
    )
  }, async (request, reply) => await reply.redirect(await endFlow(request, reply, request.query), 302))

  app.get('/user/identities/authorize', {
    exposeHeadRoute: false,
    ...route(
      { access: 'user', headers: { sends: { 'Set-Cookie': [200, 302] } } },
      'authLinkIdentity', 'Collega un altro provider al proprio account', {
        querystring: LinkIdentityQuery, response: { 200: Location, 302: Type.Null() }
      }
    )
  }, async (request, reply) => {
    const asked = readAuthorizeRequest(request.query)
    const started = startFlow(reply, asked, linkingOf(request))
    if (request.query.skip_http_redirect === 'true') return { url: await started.catch(answerUnavailable) }
    return await reply.redirect(await started.catch(redirectError(config, asked)), 302)
  })
}
export default oauthRoutes

/**
 * The only route whose body must be a form. The provider's site sends the form, so the browser omits the cookie that
 * binds the flow to it. The response redirects the browser with the same fields, and then the browser sends the cookie.
 */
const formPost: FastifyPluginAsyncTypebox = async (app) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(FORM_TYPE, { parseAs: 'buffer' }, (_request, bytes, done) => {
    const fields = parseForm(bytes)
    // RFC 6749, section 3.1: a parameter must not be repeated.
    done(fields ? null : validationFailed('body has a repeated field'), fields)
  })

  app.post('/callback', {
    bodyLimit: FORM_BYTES,
    ...route({ access: 'public' }, 'authCallbackForm', 'Ritorno dal provider con un modulo (form_post)', {
      consumes: [FORM_TYPE], body: CallbackQuery, response: { 303: Type.Null() }
    })
  }, async ({ body }, reply) => {
    const url = new URL(callbackAddress(app.identity.config))
    for (const [name, value] of Object.entries(body)) {
      const isKnown = Object.hasOwn(CallbackQuery.properties, name)
      if (isKnown && typeof value === 'string') url.searchParams.set(name, value)
    }
    return await reply.redirect(url.href, 303)
  })
}

function linkingOf ({ principal }: FastifyRequest) {
  return { userId: principal!.userId!, sessionId: principal!.sessionId! }
}

async function addressFor (reply: FastifyReply, asked: AuthorizeRequest): Promise<string> {
  const { config, clients } = reply.server.identity
  const isOwn = asked.provider === OWN_PAGES && !clients.has(OWN_PAGES)
  return isOwn ? signInPageFor(config, asked) : await startFlow(reply, asked)
}

function signInPageFor (config: Config, asked: AuthorizeRequest): string {
  const { code_challenge, code_challenge_method } = readChallenge(asked)
  if (code_challenge === null || code_challenge_method === null) {
    throw new OAuthError('invalid_request', 'validation_failed', 'The sign-in page requires PKCE (flowType: pkce)')
  }
  const redirect_to = allowedRedirect(config, asked.redirect_to)
  const query = new URLSearchParams({ redirect_to, code_challenge, code_challenge_method })
  return `${config.PUBLIC_URL}/auth/accedi?${query.toString()}`
}

/** The browser is redirected with the error, because a person cannot read a JSON error. */
function redirectError (config: Config, asked: AuthorizeRequest): (err: unknown) => string {
  return (err) => {
    if (err instanceof OAuthError) return errorRedirect(config, asked, err)
    throw err
  }
}

function readAuthorizeRequest (query: Static<typeof AuthorizeQuery>): AuthorizeRequest {
  const { provider, redirect_to, scopes, code_challenge, code_challenge_method } = query
  const parameters = Object.entries(query).filter(([name, value]) => (
    PASSED_ON.includes(name) && typeof value === 'string' && value !== '' && value.length <= MAX_PARAMETER_LENGTH
  ))
  return {
    provider, redirect_to, scopes, code_challenge, code_challenge_method, parameters: Object.fromEntries(parameters)
  }
}

function answerUnavailable (err: unknown): never {
  throw err instanceof OAuthError ? new AuthError('unexpected_failure', { status: 503, message: err.message }) : err
}
