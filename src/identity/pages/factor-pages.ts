import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EnrolledFactor, RecoveryCodes } from '#schemas/auth/factor-requests.ts'
import { html } from '#src/lib/html.ts'
import { pendingEnrolment } from '../factors/totp.ts'
import { ofType } from '../factors/factor-store.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { field, form, link, NOTHING, show } from './page-elements.ts'
import { explain, settleRefusal } from './show-error.ts'
import { formPage } from './page-route.ts'
import { proveApp } from './second-factor-pages.ts'
import { ACCOUNT, backToAccount, beginVisit, requireVisitor, type Visitor } from './page-visitor.ts'

const NEW = `${ACCOUNT}/fattori/nuovo`
const CONFIRM = `${ACCOUNT}/fattori/conferma`
const CODES = '/auth/v1/factors/recovery-codes'

type Enrolled = Static<typeof EnrolledFactor>

/**
 * A person's second factors. Secrets that are shown once (app secrets, recovery codes) are in the response to the form,
 * so no URL shows them again.
 */
const factorPages: FastifyPluginAsyncTypebox = async (app) => {
  app.post(NEW, formPage('postNuovaApp', 'Comincia la registrazione di un’app', []), async (request, reply) => {
    const { token } = await requireVisitor(request, ['enrolment'])
    const enrolled = await callRoute<Enrolled>(request, {
      method: 'POST', url: '/auth/v1/factors', token, payload: { factor_type: 'totp' }
    })
    return showEnrolment(request, reply, { id: enrolled.id, totp: enrolled.totp })
  })

  app.post(CONFIRM, formPage(
    'postConfermaApp', 'Conferma un’app con il primo codice', ['id', 'code', 'secret']
  ), async (request, reply) => {
    const { id = '', code = '', secret = '' } = request.body
    const visitor = await requireVisitor(request, ['enrolment'])
    try {
      const tokens = await proveApp(request, visitor, { id, code })
      return await afterFirstProof(request, reply, await beginVisit(request, reply, tokens))
    } catch (err) {
      const refused = refusalOf(err)
      const totp = await pendingEnrolment(app.db, app.identity, visitor.user, { id, secret })
      return showEnrolment(request, reply, { id, totp }, refused)
    }
  })

  app.post(`${ACCOUNT}/codici`, formPage(
    'postCodici', 'Crea nuovi codici di recupero', []
  ), async (request, reply) => showCodes(request, reply, await makeCodes(request, await requireVisitor(request))))
}
export default factorPages

/** The page after the first proof of a factor. For a person without recovery codes it creates and shows them. */
export async function afterFirstProof (
  request: FastifyRequest, reply: FastifyReply, visitor: Visitor
): Promise<FastifyReply> {
  if (ofType(visitor.user.factors, 'recovery_code')) return await backToAccount(reply)
  return showCodes(request, reply, await makeCodes(request, visitor))
}

async function makeCodes (request: FastifyRequest, { token, user: { factors } }: Visitor): Promise<string[]> {
  const url = ofType(factors, 'recovery_code') ? `${CODES}/regenerate` : CODES
  return (await callRoute<Static<typeof RecoveryCodes>>(request, { method: 'POST', url, token, payload: {} })).codes
}

/** Shows a new factor, without `totp` when the form does not contain the secret that was shown. */
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
