import { hash, randomBytes } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Location } from '#schemas/auth/responses.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { Closed } from '#schemas/common.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html } from '#src/lib/html.ts'
import { redirectSignedIn } from './app-pages.ts'
import { callRoute, Refused } from './call-route.ts'
import { setVerifier, verifierOf } from './page-cookies.ts'
import { alarm, form, link, show } from './page-elements.ts'
import { explain } from './show-error.ts'
import { formPage, page } from './page-route.ts'
import { ACCOUNT, backToAccount, beginVisit, LINK, requireVisitor, SIGN_IN } from './page-visitor.ts'

const SIGN_IN_RETURN = `${SIGN_IN}/ritorno`
const LINK_RETURN = `${LINK}/ritorno`

const ProviderParams = Closed({ provider: Type.String({ maxLength: 60 }) })
const ReturnQuery = Type.Object({
  code: Type.Optional(Type.String({ maxLength: 200 })), error_code: Type.Optional(Type.String({ maxLength: 100 }))
})

/**
 * Sign-in and linking through another provider, as a client with PKCE. The secret is in a cookie of this browser. A
 * button exchanges the code, because a GET must not sign in or change the account.
 */
const providerPages: FastifyPluginAsyncTypebox = async (app) => {
  const { PUBLIC_URL } = app.identity.config

  app.get(`${SIGN_IN}/con/:provider`, page('getAccessoCon', 'Porta al provider con cui accedere', {
    params: ProviderParams
  }), async ({ params: { provider } }, reply) => {
    requireProvider(reply, provider)
    const query = challengeFor(reply, provider, SIGN_IN_RETURN)
    return await reply.redirect(`${PUBLIC_URL}/auth/v1/authorize?${query.toString()}`, 303)
  })

  app.get(SIGN_IN_RETURN, page('getRitorno', 'La pagina a cui porta un provider', {
    querystring: ReturnQuery
  }), async (request, reply) => showSignInReturn(request, reply, request.query.code))

  app.post(SIGN_IN_RETURN, formPage(
    'postRitorno', 'Finisce l’accesso con un provider', ['code']
  ), async (request, reply) => {
    const tokens = await exchange(request, request.body.code)
    return await redirectSignedIn(request, reply, await beginVisit(request, reply, tokens))
  })

  app.get(`${LINK}/con/:provider`, page('getCollegaCon', 'Porta al provider da collegare', {
    params: ProviderParams
  }), async (request, reply) => {
    const { provider } = request.params
    requireProvider(reply, provider)
    const { token } = await requireVisitor(request)
    const query = challengeFor(reply, provider, LINK_RETURN)
    query.set('skip_http_redirect', 'true')
    const routeCall = { method: 'GET', url: `/auth/v1/user/identities/authorize?${query.toString()}`, token } as const
    return await reply.redirect((await callRoute<Static<typeof Location>>(request, routeCall)).url, 303)
  })

  app.get(LINK_RETURN, page('getRitornoCollega', 'La pagina a cui porta un provider da collegare', {
    querystring: ReturnQuery
  }), async (request, reply) => {
    await requireVisitor(request)
    return showLinkReturn(request, reply, request.query)
  })

  app.post(LINK_RETURN, formPage(
    'postRitornoCollega', 'Collega un altro provider', ['code']
  ), async (request, reply) => {
    await requireVisitor(request)
    const { access_token: token } = await exchange(request, request.body.code)
    // Ends the session that the exchange began. The session on the pages continues at its own level.
    await callRoute(request, { method: 'POST', url: '/auth/v1/logout?scope=local', token, payload: {} })
    return await backToAccount(reply)
  })
}
export default providerPages

function requireProvider ({ server: { identity: { config } } }: FastifyReply, provider: string): void {
  if (!config.OAUTH_PROVIDERS.some(({ name }) => name === provider)) throw new RisorsaNonTrovata()
}

/** Parameters for the provider, with the challenge of a new secret. The browser stores the secret. */
function challengeFor (reply: FastifyReply, provider: string, returnTo: string): URLSearchParams {
  const verifier = randomBytes(32).toString('base64url')
  setVerifier(reply, verifier)
  return new URLSearchParams({
    provider,
    redirect_to: `${reply.server.identity.config.PUBLIC_URL}${returnTo}`,
    code_challenge: hash('sha256', verifier, 'base64url'),
    code_challenge_method: 's256'
  })
}

async function exchange (request: FastifyRequest, code = ''): Promise<AuthSession> {
  const payload = { auth_code: code, code_verifier: verifierOf(request) ?? '' }
  return await callRoute<AuthSession>(request, { method: 'POST', url: '/auth/v1/token?grant_type=pkce', payload })
}

function showSignInReturn (request: FastifyRequest, reply: FastifyReply, code: string | undefined): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.continueSignIn,
    isFaulty: code === undefined,
    status: code === undefined ? 400 : 200,
    content: code === undefined
      ? html`${alarm(texts.providerFailed)}${link(SIGN_IN, texts.signIn)}`
      : html`<p>${texts.continueSignInText}</p>
${form({ action: SIGN_IN_RETURN, button: texts.continue, values: { code } })}`
  }))
}

function showLinkReturn (
  request: FastifyRequest, reply: FastifyReply, { code, error_code: reason = '' }: Static<typeof ReturnQuery>
): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.linkTitle,
    isFaulty: code === undefined,
    status: code === undefined ? 400 : 200,
    content: code === undefined
      ? html`${alarm(explain(new Refused(400, reason), texts, 'providerFailed'))}${link(ACCOUNT, texts.back)}`
      : html`<p>${texts.linkText}</p>
${form({ action: LINK_RETURN, button: texts.linkNow, values: { code } })}${link(ACCOUNT, texts.back)}`
  }))
}
