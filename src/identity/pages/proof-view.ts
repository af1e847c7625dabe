import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { FactorRow } from '../people/find-users.ts'
import { asksDevices, deviceForm, PROVE_DEVICE } from './devices.ts'
import type { Refused } from './ask.ts'
import { alarm, field, form, NOTHING } from './parts.ts'
import { explain, settleRefusal } from './refusals.ts'
import { show } from './show.ts'
import type { Texts } from './texts.ts'
import { SECOND_FACTOR, SIGN_OUT, type Visitor } from './visitors.ts'

export const RECOVERY = `${SECOND_FACTOR}/recupero`

interface Attempt {
  /** What comes after. */
  dopo?: string | undefined
  refused?: Refused
  /** The factor that was tried; none: a recovery code. */
  id?: string | undefined
}

/** The page on which a second factor is proven, with a form for each. */
export function showProof (
  request: FastifyRequest,
  reply: FastifyReply,
  { user: { factors } }: Visitor,
  config: Config,
  { dopo, refused, id: tried }: Attempt
): FastifyReply {
  if (refused) settleRefusal(refused, request, reply)
  const verified = factors.filter(({ status }) => status === 'verified')
  const apps = verified.filter(({ factor_type }) => factor_type === 'totp')
  const devices = asksDevices(config) ? verified.filter(({ factor_type }) => factor_type === 'webauthn') : []
  const hasCodes = verified.some(({ factor_type }) => factor_type === 'recovery_code')
  const next: Record<string, string> = dopo === undefined ? {} : { dopo }

  return show(request, reply, (texts) => {
    const error = refused && explain(refused, texts, 'wrongCode')
    const errorOf = (id: string | undefined) => id === tried ? error : undefined
    const isOfDevice = devices.some(({ id }) => id === tried)
    // Of a device alone, a page without scripts has nothing to show.
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
  { id, friendly_name }: FactorRow,
  at: number,
  next: Record<string, string>,
  texts: Texts,
  error: string | undefined
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
