import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EnrolledFactor, RecoveryCodes } from '#schemas/auth/factor-requests.ts'
import { html } from '#src/lib/html.ts'
import { pendingEnrolment } from '../factors/pending-app.ts'
import { ofType } from '../factors/store.ts'
import { refusalOf, type Refused } from './ask.ts'
import { Fields } from './forms.ts'
import type { PageOptions } from './options.ts'
import { field, form, link, NOTHING } from './parts.ts'
import { explain, settleRefusal } from './refusals.ts'
import { described, OPEN } from './route.ts'
import { proveApp } from './second-factor-pages.ts'
import { show } from './show.ts'
import { ACCOUNT, type Visitor } from './visitors.ts'

const NEW = `${ACCOUNT}/fattori/nuovo`
const CONFIRM = `${ACCOUNT}/fattori/conferma`
const CODES = '/auth/v1/factors/recovery-codes'

type Enrolled = Static<typeof EnrolledFactor>

/**
 * A person's second factors. What is shown this once (the secret of an app, recovery codes) is the answer to the form
 * itself: no address leads there again.
 */
const factorPages: FastifyPluginAsyncTypebox<PageOptions> = async (app, options) => {
  const { db } = app
  const { ask, config, keys, visitors } = options

  app.route({
    method: 'POST',
    url: NEW,
    config: OPEN,
    schema: described('postNuovaApp', 'Comincia la registrazione di un’app', { body: Fields([]) }),
    handler: async (request, reply) => {
      const { token } = await visitors.require(request, ['enrolment'])
      const enrolled = await ask<Enrolled>(request, {
        method: 'POST', url: '/auth/v1/factors', token, payload: { factor_type: 'totp' }
      })
      return showEnrolment(request, reply, { id: enrolled.id, totp: enrolled.totp })
    }
  })

  app.route({
    method: 'POST',
    url: CONFIRM,
    config: OPEN,
    schema: described('postConfermaApp', 'Conferma un’app con il primo codice', {
      body: Fields(['id', 'code', 'secret'])
    }),
    handler: async (request, reply) => {
      const { id = '', code = '', secret = '' } = request.body
      const visitor = await visitors.require(request, ['enrolment'])
      try {
        const tokens = await proveApp(ask, request, visitor, { id, code })
        return await afterFirstProof(request, reply, options, await visitors.begin(request, reply, tokens))
      } catch (err) {
        const refused = refusalOf(err)
        const totp = await pendingEnrolment(db, { config, keys }, visitor.user, { id, secret })
        return showEnrolment(request, reply, { id, totp }, refused)
      }
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/codici`,
    config: OPEN,
    schema: described('postCodici', 'Fa nuovi codici di recupero', { body: Fields([]) }),
    handler: async (request, reply) =>
      showCodes(request, reply, await makeCodes(request, options, await visitors.require(request)))
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/fattori/rimuovi`,
    config: OPEN,
    schema: described('postRimuoviFattore', 'Rimuove un secondo fattore', { body: Fields(['id']) }),
    handler: async (request, reply) => {
      const { id = '' } = request.body
      const { token } = await visitors.require(request)
      // Recovery codes alone are no second factor: they go with the last one.
      const url = `/auth/v1/factors/${encodeURIComponent(id)}?rimuovi_codici=true`
      await ask(request, { method: 'DELETE', url, token })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })

  app.route({
    method: 'POST',
    url: `${ACCOUNT}/fattori/rinomina`,
    config: OPEN,
    schema: described('postRinominaFattore', 'Dà un nome a un secondo fattore', { body: Fields(['id', 'name']) }),
    handler: async (request, reply) => {
      const { id = '', name: friendly_name = '' } = request.body
      const { token } = await visitors.require(request)
      const url = `/auth/v1/factors/${encodeURIComponent(id)}`
      await ask(request, { method: 'PATCH', url, token, payload: { friendly_name } })
      return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
    }
  })
}
export default factorPages

/** After a new factor was proven: the first one brings the codes for the day on which it is lost. */
export async function afterFirstProof (
  request: FastifyRequest,
  reply: FastifyReply,
  options: PageOptions,
  visitor: Visitor
): Promise<FastifyReply> {
  if (ofType(visitor.user.factors, 'recovery_code')) return await reply.redirect(`${ACCOUNT}?esito=fatto`, 303)
  return showCodes(request, reply, await makeCodes(request, options, visitor))
}

async function makeCodes (
  request: FastifyRequest,
  { ask }: PageOptions,
  { token, user: { factors } }: Visitor
): Promise<string[]> {
  const url = ofType(factors, 'recovery_code') ? `${CODES}/regenerate` : CODES
  return (await ask<Static<typeof RecoveryCodes>>(request, { method: 'POST', url, token, payload: {} })).codes
}

/** @param enrolled without `totp` where the form does not bring the secret that was shown */
function showEnrolment (
  request: FastifyRequest,
  reply: FastifyReply,
  { id, totp }: { id: string, totp: Enrolled['totp'] | undefined },
  refused?: Refused
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  return show(request, reply, (texts) => {
    const picture = totp && html`<p>${texts.scan}</p>
<div class="qr" role="img" aria-label="${texts.qrCode}">${{ html: totp.qr_code }}</div>
${link(totp.uri, texts.openAuthenticator)}<p>${texts.orType}<br><code>${
  totp.secret.replace(/.{4}(?=.)/g, '$& ')}</code></p>
`
    const code = field({
      name: 'code',
      label: texts.appCode,
      autocomplete: 'one-time-code',
      isNumeric: true,
      hint: texts.appCodeHint,
      error: refused && explain(refused, texts, 'wrongCode')
    })
    const shown: Record<string, string> = totp ? { secret: totp.secret } : {}
    return {
      title: texts.addAppTitle,
      isFaulty: refused !== undefined,
      content: html`${picture ?? NOTHING}<p>${texts.thenCode}</p>
${form({ action: CONFIRM, button: texts.verify, values: { id, ...shown }, content: code })}${
  totp ? NOTHING : form({ action: NEW, button: texts.startAgain, isQuiet: true })}${link(ACCOUNT, texts.back)}`
    }
  })
}

function showCodes (request: FastifyRequest, reply: FastifyReply, codes: readonly string[]): FastifyReply {
  return show(request, reply, (texts) => ({
    title: texts.codesTitle,
    content: html`<p>${texts.codesText}</p>
<ol class="codes">
${codes.map((code) => html`<li>${code.replace(/.{4}(?=.)/g, '$&-')}</li>\n`)}</ol>
${link('/auth/', texts.codesKept)}`
  }))
}
