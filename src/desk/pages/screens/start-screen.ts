import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Day } from '#src/lib/time.ts'
import { attemptAfter, headersOf, submitForm } from '../desk-form.ts'
import { refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPost, fill, openDesk, Refusal, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt, Values } from '../field-types.ts'
import { DISMISSED, firstSteps, SEVERAL_UNITS, START } from '../first-steps.ts'
import { readPayload } from '../form-values.ts'
import { firstStepTexts } from '../texts/first-step-texts.ts'
import { unitTexts } from '../texts/unit-texts.ts'

const UNITS = '/api/v1/unita'
/** Maximum units of one form. */
const MAX_UNITS = 50

/** The forms of the first steps that no other screen has: several units at once, and the dismissal of the steps. */
const startScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const show = async (desk: Desk, attempt: Attempt) => await showRefused(desk, attempt, clock.today())

  app.post(`${START}/unita`, deskPost('postPaginaPiuUnita', 'Crea alcune unità'), async (request, reply) => {
    const desk = await openDesk(request, reply)
    try {
      await addUnits(desk, request.body)
      return await reply.redirect('/oggi?esito=creato', 303)
    } catch (err) {
      return await show(desk, attemptAfter(err, request, reply))
    }
  })

  app.post(`${START}/chiudi`, deskPost('postPaginaFinePrimiPassi', 'Non mostra più i primi passi'),
    async (request, reply) => await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'POST', url: '/api/settings/features', payload: { key: DISMISSED, enabled: false } }),
      redirectTo: '/oggi',
      showAgain: show
    }))
}
export default startScreen

/**
 * Creates units with the name of their kind and a number. The idempotency key of each unit stops a double submit.
 * @throws Refusal for an invalid number of units, or when the API refuses a unit
 */
async function addUnits (desk: Desk, values: Values): Promise<void> {
  const { quante: count, ...unit } = readPayload(SEVERAL_UNITS, values)
  if (typeof count !== 'number' || count < 1 || count > MAX_UNITS) {
    const messaggio = fill(firstStepTexts[desk.language].countFault, MAX_UNITS)
    throw new Refusal({
      error: messaggio,
      status: 400,
      codice: 'VALIDAZIONE',
      requestId: desk.request.id,
      dettagli: [{ campo: 'quante', messaggio }]
    })
  }
  const names: Readonly<Record<string, string>> = unitTexts[desk.language]
  const name = names[values.tipo ?? ''] ?? ''
  const { body: { data: present } } = await desk.call<{ data: object[] }>({ method: 'GET', url: UNITS })
  const { 'idempotency-key': key = '' } = headersOf(values)
  for (let n = 1; n <= count; n++) {
    const at = present.length + n
    const payload = { ...unit, nome: `${name} ${at}`, ordine: at }
    await desk.call({ method: 'POST', url: UNITS, payload, headers: { 'idempotency-key': `${key}-${n}` } })
  }
}

/** Shows the first steps with the refused form of the units. After a refused dismissal, shows only the message. */
async function showRefused (desk: Desk, attempt: Attempt, today: Day): Promise<FastifyReply> {
  const { title, unita } = firstStepTexts[desk.language]
  const isOfUnits = attempt.values.quante !== undefined
  const steps = isOfUnits ? await firstSteps(desk, { today, step: 'unita', units: attempt }) : undefined
  return showDesk(desk, {
    title: isOfUnits ? unita : title, isFaulty: true, content: steps ?? refusalAlarm(desk, attempt.refusal)
  })
}
