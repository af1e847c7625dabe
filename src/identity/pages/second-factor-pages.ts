import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { html } from '#src/lib/html.ts'
import { realFactors } from '../factors/store.ts'
import { refusalOf, type Ask, type Refused } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { alarm, field, form, NOTHING } from './parts.ts'
import { explain, settleRefusal } from './refusals.ts'
import { described, OPEN, PageQuery } from './route.ts'
import { show } from './show.ts'
import { ACCOUNT, Elsewhere, PASSWORD, SECOND_FACTOR, type Visitor } from './visitors.ts'

const RECOVERY = `${SECOND_FACTOR}/recupero`

/** What a proof leads to, by the word in the address. */
const NEXT: Readonly<Record<string, string>> = { password: PASSWORD }

/** @property id of the app that was tried; none for a recovery code */
interface Attempt { dopo?: string | undefined, refused?: Refused, id?: string }

/** Proving the second factor: with the code of an app, with a recovery code. */
const secondFactorPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, { ask, visitors }) => {
  app.route({
    method: 'GET',
    url: SECOND_FACTOR,
    config: OPEN,
    schema: described('getVerifica', 'La pagina del secondo fattore', { querystring: PageQuery }),
    handler: async (request, reply) => {
      const visitor = await visitors.require(request, ['proof'])
      if (realFactors(visitor.user.factors).length === 0) throw new Elsewhere(ACCOUNT)
      return showProof(request, reply, visitor, { dopo: request.query.dopo })
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
        await visitors.begin(request, reply, await proveApp(ask, request, visitor, { id, code }))
        return await reply.redirect(nextOf(dopo), 303)
      } catch (err) {
        return showProof(request, reply, visitor, { dopo, refused: refusalOf(err), id })
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
        await visitors.begin(request, reply, await ask<AuthSession>(request, asked))
        return await reply.redirect(nextOf(dopo), 303)
      } catch (err) {
        return showProof(request, reply, visitor, { dopo, refused: refusalOf(err) })
      }
    }
  })

  function showProof (
    request: FastifyRequest,
    reply: FastifyReply,
    { user: { factors } }: Visitor,
    { dopo, refused, id: tried }: Attempt
  ): FastifyReply {
    if (refused) settleRefusal(refused, request, reply)
    return show(request, reply, (texts) => {
      const error = refused && explain(refused, texts, 'wrongCode')
      const apps = factors.filter(({ factor_type, status }) => factor_type === 'totp' && status === 'verified')
      const hasCodes = factors.some(({ factor_type }) => factor_type === 'recovery_code')
      const next: Record<string, string> = dopo === undefined ? {} : { dopo }
      const ofApps = apps.map(({ id, friendly_name }, at) => form({
        action: SECOND_FACTOR,
        button: texts.verify,
        values: { id, ...next },
        content: field({
          name: 'code',
          id: `code-${at}`,
          label: friendly_name === null ? texts.appCode : `${texts.appCode}: ${friendly_name}`,
          autocomplete: 'one-time-code',
          isNumeric: true,
          hint: texts.appCodeHint,
          error: id === tried ? error : undefined
        })
      }))
      const ofCodes = form({
        action: RECOVERY,
        button: texts.useRecoveryCode,
        values: next,
        isQuiet: true,
        content: field({
          name: 'code',
          id: 'recovery-code',
          label: texts.recoveryCode,
          autocomplete: 'off',
          hint: texts.recoveryCodeHint,
          error: tried === undefined ? error : undefined
        })
      })
      return {
        title: texts.secondFactor,
        isFaulty: error !== undefined,
        content: html`${alarm(apps.length === 0 && !hasCodes ? texts.noFactorHere : undefined)}${ofApps}${
          hasCodes ? html`<p>${texts.or}</p>\n${ofCodes}` : NOTHING}${
          form({ action: '/auth/esci', button: texts.signOut, isQuiet: true })}`
      }
    })
  }
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

/** Of our own pages alone. */
function nextOf (word = ''): string {
  return NEXT[word] ?? ACCOUNT
}
