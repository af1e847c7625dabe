import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { realFactors } from '../factors/store.ts'
import { refusalOf, type Ask } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { RECOVERY, showProof } from './proof-view.ts'
import { described, OPEN, PageQuery } from './route.ts'
import { ACCOUNT, Elsewhere, NO_FACTOR, PASSWORD, SECOND_FACTOR, type Visitor } from './visitors.ts'

/** What a proof leads to, by the word in the address. */
const NEXT: ReadonlyMap<string, string> = new Map([['password', PASSWORD]])

/** Proving the second factor: with the code of an app, with a recovery code. */
const secondFactorPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, options) => {
  const { config, ask, visitors } = options

  app.route({
    method: 'GET',
    url: SECOND_FACTOR,
    config: OPEN,
    schema: described('getVerifica', 'La pagina del secondo fattore', { querystring: PageQuery }),
    handler: async (request, reply) => {
      const visitor = await visitors.require(request, ['proof'])
      if (realFactors(visitor.user.factors).length === 0) throw new Elsewhere(`${ACCOUNT}?esito=${NO_FACTOR}`)
      return showProof(request, reply, visitor, config, { dopo: request.query.dopo })
    }
  })

  app.route({
    method: 'POST',
    url: SECOND_FACTOR,
    config: OPEN,
    schema: described('postVerifica', 'Prova il secondo fattore con un’app', { body: Fields(['id', 'code', 'dopo']) }),
    handler: async (request, reply) => {
      const { id = '', code = '', dopo } = request.body
      const visitor = await visitors.require(request, ['proof'])
      try {
        const tokens = await proveApp(ask, request, visitor, { id, code })
        return await afterProof(request, reply, options, await visitors.begin(request, reply, tokens), dopo)
      } catch (err) {
        return showProof(request, reply, visitor, config, { dopo, refused: refusalOf(err), id })
      }
    }
  })

  app.route({
    method: 'POST',
    url: RECOVERY,
    config: OPEN,
    schema: described('postRecupero', 'Prova il secondo fattore con un codice', { body: Fields(['code', 'dopo']) }),
    handler: async (request, reply) => {
      const { code = '', dopo } = request.body
      const visitor = await visitors.require(request, ['proof'])
      try {
        const url = '/auth/v1/factors/recovery-codes/verify'
        const asked = { method: 'POST', url, token: visitor.token, payload: { code: code.trim() } } as const
        const tokens = await ask<AuthSession>(request, asked)
        return await afterProof(request, reply, options, await visitors.begin(request, reply, tokens), dopo)
      } catch (err) {
        return showProof(request, reply, visitor, config, { dopo, refused: refusalOf(err) })
      }
    }
  })
}
export default secondFactorPages

/** Proves an app: a challenge, and its code. @throws Refused */
export async function proveApp (
  ask: Ask,
  request: FastifyRequest,
  { token }: Visitor,
  { id, code }: { id: string, code: string }
): Promise<AuthSession> {
  const url = `/auth/v1/factors/${encodeURIComponent(id)}`
  const challenge = await ask<{ id: string }>(request, {
    method: 'POST', url: `${url}/challenge`, token, payload: {}
  })
  return await ask<AuthSession>(request, {
    method: 'POST', url: `${url}/verify`, token, payload: { challenge_id: challenge.id, code: code.trim() || '-' }
  })
}

/** Leads on to one of our own pages, or to where the person has come from. */
export async function afterProof (
  request: FastifyRequest,
  reply: FastifyReply,
  { goOn }: PageOptions,
  visitor: Visitor,
  word = ''
): Promise<FastifyReply> {
  const next = NEXT.get(word)
  return next === undefined ? await goOn(request, reply, visitor) : await reply.redirect(next, 303)
}
