import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import { Location } from '#schemas/auth/answers.ts'
import { AuthorizeQuery, CallbackQuery } from '#schemas/auth/requests.ts'
import { AuthError } from '../errors.ts'
import { forgetOldFlows } from '../sign-in/flow-states.ts'
import { OAuthProblem } from '../oauth/problems.ts'
import { oauthWays, type Departure, type OAuthWays } from '../oauth/ways.ts'
import type { ProviderOptions } from './routes.ts'

const tags = ['Provider di identità']
const FORM_BYTES = 16 * 1024
const LONGEST_PARAMETER = 200

/** Parameters of an authorization request that clients may add. Those on which its safety rests are not among them. */
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

/** Signing in through another provider, and linking one to an account. */
const oauthRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, options) => {
  const ways = oauthWays(app, options)
  const { begin, finish, explain } = ways

  await app.register(formPost, ways)

  app.addJob({ name: 'old-flows', cron: '17 * * * *', run: () => forgetOldFlows(app.db) })

  app.route({
    method: 'GET',
    url: '/authorize',
    exposeHeadRoute: false,
    config: { access: 'public' },
    schema: {
      operationId: 'authAuthorize',
      tags,
      summary: 'Accede con un altro provider',
      querystring: AuthorizeQuery,
      response: { 302: Type.Null() }
    },
    handler: async (request, reply) => {
      const departure = departureOf(request.query)
      return await reply
        .code(302)
        .header('location', await begin(departure).catch(explained(departure)))
        .send(null)
    }
  })

  app.route({
    method: 'GET',
    url: '/callback',
    // Whoever only looks uses nothing up.
    exposeHeadRoute: false,
    config: { access: 'public' },
    schema: {
      operationId: 'authCallback',
      tags,
      summary: 'Ritorno dal provider',
      querystring: CallbackQuery,
      response: { 302: Type.Null() }
    },
    handler: async (request, reply) =>
      await reply
        .code(302)
        .header('location', await finish(request, request.query))
        .send(null)
  })

  app.route({
    method: 'GET',
    url: '/user/identities/authorize',
    exposeHeadRoute: false,
    config: { access: 'user' },
    schema: {
      operationId: 'authLinkIdentity',
      tags,
      summary: 'Collega un altro provider al proprio account',
      querystring: AuthorizeQuery,
      response: { 200: Location, 302: Type.Null() }
    },
    handler: async (request, reply) => {
      const { principal, query } = request
      const departure = departureOf(query)
      const linking = { userId: principal!.userId!, sessionId: principal!.sessionId! }
      if (query.skip_http_redirect === 'true') return { url: await begin(departure, linking).catch(unavailable) }
      return await reply
        .code(302)
        .header('location', await begin(departure, linking).catch(explained(departure)))
        .send(null)
    }
  })

  /** A browser cannot read an answer: it is led on with the problem. */
  function explained (departure: Departure): (err: unknown) => string {
    return (err) => {
      if (err instanceof OAuthProblem) return explain(departure, err)
      throw err
    }
  }
}
export default oauthRoutes

/** The only place where a form is taken for a body, and nothing else is. */
const formPost: FastifyPluginAsyncTypebox<Pick<OAuthWays, 'finish'>> = async (app, { finish }) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_BYTES },
    (_request, text, done) => {
      const fields = [...new URLSearchParams(text)]
      const isPlain = new Set(fields.map(([name]) => name)).size === fields.length
      // RFC 6749, section 3.1: none is there twice.
      done(
        isPlain ? null : new AuthError('validation_failed', { message: 'body has a repeated field' }),
        Object.fromEntries(fields)
      )
    }
  )

  app.route({
    method: 'POST',
    url: '/callback',
    config: { access: 'public' },
    schema: {
      operationId: 'authCallbackForm',
      tags,
      summary: 'Ritorno dal provider con un modulo (form_post)',
      consumes: ['application/x-www-form-urlencoded'],
      body: CallbackQuery,
      response: { 302: Type.Null() }
    },
    handler: async (request, reply) =>
      await reply
        .code(302)
        .header('location', await finish(request, request.body))
        .send(null)
  })
}

function departureOf (query: Static<typeof AuthorizeQuery>): Departure {
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

function unavailable (err: unknown): never {
  throw err instanceof OAuthProblem ? new AuthError('unexpected_failure', { status: 503, message: err.message }) : err
}
