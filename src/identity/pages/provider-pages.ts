import { hash, randomBytes } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { Closed } from '#schemas/common.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html } from '#src/lib/html.ts'
import type { PageCookies } from './cookies.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, form, link } from './parts.ts'
import { described, OPEN } from './route.ts'
import { show } from './show.ts'
import { SIGN_IN } from './visitors.ts'

const RETURN = `${SIGN_IN}/ritorno`

const ReturnQuery = Type.Object({ code: Type.Optional(Type.String({ maxLength: 200 })) })

/**
 * Signing in through another provider, as a client with PKCE: the secret is in a cookie of this browser. A button
 * exchanges the code: the address that a browser comes back to takes nothing by itself.
 */
const providerPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { config, ask, cookies, visitors, goOn }) => {
  const { PUBLIC_URL, OAUTH_PROVIDERS } = config

  app.route({
    method: 'GET',
    url: `${SIGN_IN}/con/:provider`,
    config: OPEN,
    schema: described('getAccessoCon', 'Porta al provider con cui accedere', {
      params: Closed({ provider: Type.String({ maxLength: 60 }) })
    }),
    handler: async ({ params: { provider } }, reply) => {
      if (!OAUTH_PROVIDERS.some(({ name }) => name === provider)) throw new RisorsaNonTrovata()
      const query = new URLSearchParams({
        provider,
        redirect_to: `${PUBLIC_URL}${RETURN}`,
        ...newChallenge(cookies, reply)
      })
      return await reply.redirect(`${PUBLIC_URL}/auth/v1/authorize?${query.toString()}`, 303)
    }
  })

  app.route({
    method: 'GET',
    url: RETURN,
    config: OPEN,
    schema: described('getRitorno', 'La pagina a cui porta un provider', { querystring: ReturnQuery }),
    handler: async (request, reply) => {
      const { code } = request.query
      return show(request, reply, (texts) => ({
        title: texts.continueSignIn,
        isFaulty: code === undefined,
        status: code === undefined ? 400 : 200,
        content: code === undefined
          ? html`${alarm(texts.providerFailed)}${link(SIGN_IN, texts.signIn)}`
          : html`<p>${texts.continueSignInText}</p>
${form({ action: RETURN, button: texts.continue, values: { code } })}`
      }))
    }
  })

  app.route({
    method: 'POST',
    url: RETURN,
    config: OPEN,
    schema: described('postRitorno', 'Finisce l’accesso con un provider', { body: Fields(['code']) }),
    handler: async (request, reply) => {
      const payload = { auth_code: request.body.code ?? '', code_verifier: cookies.verifierOf(request) ?? '' }
      const url = '/auth/v1/token?grant_type=pkce'
      const tokens = await ask<AuthSession>(request, { method: 'POST', url, payload })
      return await goOn(request, reply, await visitors.begin(request, reply, tokens))
    }
  })
}
export default providerPages

/** The challenge of a new secret, which the browser keeps. */
export function newChallenge (cookies: PageCookies, reply: FastifyReply) {
  const verifier = randomBytes(32).toString('base64url')
  cookies.setVerifier(reply, verifier)
  return { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 's256' }
}
