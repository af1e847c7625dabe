import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import { html, type Html } from '#src/lib/html.ts'
import { realFactors } from '../factors/factor-store.ts'
import type { FactorRow } from '../people/find-users.ts'
import { redirectSignedIn } from './app-pages.ts'
import { callRoute, refusalOf, type Refused } from './call-route.ts'
import { asksDevices, deviceForm, PROVE_DEVICE } from './device-forms.ts'
import { alarm, field, form, NOTHING, show } from './page-elements.ts'
import { explain, settleRefusal } from './show-error.ts'
import { formPage, page, PageQuery } from './page-route.ts'
import type { Texts } from './page-texts.ts'
import {
  ACCOUNT, beginVisit, RedirectError, NO_FACTOR, PASSWORD, requireVisitor, SECOND_FACTOR, SIGN_OUT, type Visitor
} from './page-visitor.ts'

const RECOVERY = `${SECOND_FACTOR}/recupero`

/** The page to open after a proof, by the word in the URL. */
const NEXT: ReadonlyMap<string, string> = new Map([['password', PASSWORD]])

const secondFactorPages: FastifyPluginAsyncTypebox = async (app) => {
  app.get(SECOND_FACTOR, page('getVerifica', 'La pagina del secondo fattore', {
    querystring: PageQuery
  }), async (request, reply) => {
    const visitor = await requireVisitor(request, ['proof'])
    if (realFactors(visitor.user.factors).length === 0) throw new RedirectError(`${ACCOUNT}?esito=${NO_FACTOR}`)
    return showProof(request, reply, visitor, { dopo: request.query.dopo })
  })

  app.post(SECOND_FACTOR, formPage(
    'postVerifica', 'Prova il secondo fattore con un’app', ['id', 'code', 'dopo']
  ), async (request, reply) => {
    const { id = '', code = '', dopo } = request.body
    const visitor = await requireVisitor(request, ['proof'])
    try {
      const tokens = await proveApp(request, visitor, { id, code })
      return await afterProof(request, reply, await beginVisit(request, reply, tokens), dopo)
    } catch (err) {
      return showProof(request, reply, visitor, { dopo, refused: refusalOf(err), id })
    }
  })

  app.post(RECOVERY, formPage(
    'postRecupero', 'Prova il secondo fattore con un codice', ['code', 'dopo']
  ), async (request, reply) => {
    const { code = '', dopo } = request.body
    const visitor = await requireVisitor(request, ['proof'])
    try {
      const url = '/auth/v1/factors/recovery-codes/verify'
      const routeCall = { method: 'POST', url, token: visitor.token, payload: { code: code.trim() } } as const
      const tokens = await callRoute<AuthSession>(request, routeCall)
      return await afterProof(request, reply, await beginVisit(request, reply, tokens), dopo)
    } catch (err) {
      return showProof(request, reply, visitor, { dopo, refused: refusalOf(err) })
    }
  })
}
export default secondFactorPages

export async function proveApp (
  request: FastifyRequest, { token }: Visitor, { id, code }: { id: string, code: string }
): Promise<AuthSession> {
  const url = `/auth/v1/factors/${encodeURIComponent(id)}`
  const challenge = await callRoute<{ id: string }>(request, {
    method: 'POST', url: `${url}/challenge`, token, payload: {}
  })
  return await callRoute<AuthSession>(request, {
    method: 'POST', url: `${url}/verify`, token, payload: { challenge_id: challenge.id, code: code.trim() || '-' }
  })
}

/** Redirects to a page of this server, or back to the front end. */
export async function afterProof (
  request: FastifyRequest, reply: FastifyReply, visitor: Visitor, word = ''
): Promise<FastifyReply> {
  const next = NEXT.get(word)
  return next === undefined ? await redirectSignedIn(request, reply, visitor) : await reply.redirect(next, 303)
}

interface Attempt {
  dopo?: string | undefined
  refused?: Refused
  /** The factor of the failed attempt. Undefined for a recovery code. */
  id?: string | undefined
}

/** The page for the proof of a second factor, with one form per factor. */
export function showProof (
  request: FastifyRequest, reply: FastifyReply, { user: { factors } }: Visitor, { dopo, refused, id: tried }: Attempt
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  const verified = factors.filter(({ status }) => status === 'verified')
  const apps = verified.filter(({ factor_type }) => factor_type === 'totp')
  const hasDevices = asksDevices(request.server.identity.config)
  const devices = hasDevices ? verified.filter(({ factor_type }) => factor_type === 'webauthn') : []
  const hasCodes = verified.some(({ factor_type }) => factor_type === 'recovery_code')
  const next: Record<string, string> = dopo === undefined ? {} : { dopo }

  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts, 'wrongCode')
    const errorOf = (id: string | undefined) => id === tried ? error : undefined
    const isOfDevice = devices.some(({ id }) => id === tried)
    // Without scripts, the page has no form for a person whose factors are all devices.
    const noForm = alarm(texts.noFactorHere)
    const nothingHere = devices.length === 0 ? noForm : html`<noscript>${noForm}</noscript>`
    return {
      title: texts.secondFactor,
      isFaulty: refused !== undefined,
      content: html`${alarm(isOfDevice ? error : undefined)}${
        apps.map((app, at) => appForm(app, at, next, texts, errorOf(app.id)))}${
        devices.map(({ id, friendly_name }) => deviceForm({
          action: PROVE_DEVICE,
          button: friendly_name === null ? texts.useDevice : `${texts.useDevice}: ${friendly_name}`,
          values: { id, ...next }
        }, texts))}${
        hasCodes ? codeForm(next, texts, errorOf(undefined)) : NOTHING}${
        apps.length > 0 || hasCodes ? NOTHING : nothingHere}${
        form({ action: SIGN_OUT, button: texts.signOut, isQuiet: true })}`
    }
  })
}

function appForm (
  { id, friendly_name }: FactorRow, at: number, next: Record<string, string>, texts: Texts, error: string | undefined
): Html {
  return form({
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
      error
    })
  })
}

function codeForm (next: Record<string, string>, texts: Texts, error: string | undefined): Html {
  return html`<p>${texts.or}</p>
${form({
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
    error
  })
})}`
}
