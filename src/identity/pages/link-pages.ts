import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { Location } from '#schemas/auth/answers.ts'
import type { AuthSession } from '#schemas/auth/session.ts'
import { Closed } from '#schemas/common.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html } from '#src/lib/html.ts'
import { Refused } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, form, link } from './parts.ts'
import { newChallenge } from './provider-pages.ts'
import { explain } from './refusals.ts'
import { described, OPEN } from './route.ts'
import { show } from './show.ts'
import { ACCOUNT, LINK } from './visitors.ts'

const RETURN = `${LINK}/ritorno`

const ReturnQuery = Type.Object({
  code: Type.Optional(Type.String({ maxLength: 200 })),
  error_code: Type.Optional(Type.String({ maxLength: 100 }))
})

/** Linking another provider to one's account, and unlinking it: a button links, as with the sign-in. */
const linkPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { config, ask, cookies, visitors }) => {
  const { PUBLIC_URL, OAUTH_PROVIDERS } = config

  app.route({
    method: 'GET',
    url: `${LINK}/con/:provider`,
    config: OPEN,
    schema: described('getCollegaCon', 'Porta al provider da collegare', {
      params: Closed({ provider: Type.String({ maxLength: 60 }) })
    }),
    handler: async (request, reply) => {
      const { provider } = request.params
      if (!OAUTH_PROVIDERS.some(({ name }) => name === provider)) throw new RisorsaNonTrovata()
      const { token } = await visitors.require(request)
      const query = new URLSearchParams({
        provider, redirect_to: `${PUBLIC_URL}${RETURN}`, skip_http_redirect: 'true', ...newChallenge(cookies, reply)
      })
      const asked = { method: 'GET', url: `/auth/v1/user/identities/authorize?${query.toString()}`, token } as const
      return await reply.redirect((await ask<Static<typeof Location>>(request, asked)).url, 303)
    }
  })

  app.route({
    method: 'GET',
    url: RETURN,
    config: OPEN,
    schema: described('getRitornoCollega', 'La pagina a cui porta un provider da collegare', {
      querystring: ReturnQuery
    }),
    handler: async (request, reply) => {
      await visitors.require(request)
      const { code, error_code: reason = '' } = request.query
      return show(request, reply, (texts) => ({
        title: texts.linkTitle,
        isFaulty: code === undefined,
        status: code === undefined ? 400 : 200,
        content: code === undefined
          ? html`${alarm(explain(new Refused(400, reason), texts, 'providerFailed'))}${link(ACCOUNT, texts.back)}`
          : html`<p>${texts.linkText}</p>
${form({ action: RETURN, button: texts.linkNow, values: { code } })}${link(ACCOUNT, texts.back)}`
      }))
    }
  })

  app.route({
    method: 'POST',
    url: RETURN,
    config: OPEN,
    schema: described('postRitornoCollega', 'Collega un altro provider', { body: Fields(['code']) }),
    handler: async (request, reply) => {
      await visitors.require(request)
      const payload = { auth_code: request.body.code ?? '', code_verifier: cookies.verifierOf(request) ?? '' }
      const url = '/auth/v1/token?grant_type=pkce'
      const { access_token: token } = await ask<AuthSession>(request, { method: 'POST', url, payload })
      // The session of the page goes on, at the level that was proven in it.
      await ask(request, { method: 'POST', url: '/auth/v1/logout?scope=local', token, payload: {} })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/collegamenti/scollega`,
    config: OPEN,
    schema: described('postScollega', 'Scollega un accesso', { body: Fields(['id']) }),
    handler: async (request, reply) => {
      const { token } = await visitors.require(request)
      const url = `/auth/v1/user/identities/${encodeURIComponent(request.body.id ?? '')}`
      await ask(request, { method: 'DELETE', url, token })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })
}
export default linkPages
