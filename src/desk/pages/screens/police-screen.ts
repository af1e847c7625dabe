import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { Day } from '#schemas/common.ts'
import type { PoliceAccount, SuspensionState } from '#schemas/decisions.ts'
import { addDays, type Clock } from '#src/lib/time.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { actionForm, formFor, submitForm } from '../desk-form.ts'
import { alarm, doneNotice, figure, NOTHING, refusalText, showDesk } from '../desk-layout.ts'
import {
  deskPage, deskPost, fill, instantText, isAdministrator, openDesk, shortInstant, type Desk, type DeskOptions
} from '../desk-page.ts'
import type { Attempt, DeskField } from '../field-types.ts'
import { counted } from '../missing-words.ts'
import { policeTexts } from '../texts/police-texts.ts'
import { readPoliceDue, openSection, type PoliceDue } from './police-due.ts'
import { submissionsSection } from './police-days.ts'

export const POLICE = '/polizia'
const CHECK = `${POLICE}/prova`
const SUSPENSION = `${POLICE}/sospensione`
/** The notices of this page's own forms. */
const NOTICES = { collegata: 'connected', sospesi: 'isSuspended', ripresi: 'resumed' } as const

/** The values of the page that no route returns. */
interface Shown {
  /** The last arrival day of the shown submissions. */
  until: string
  /** The refusal of a check of the connection. */
  failure?: string
  /** A refused form of the suspension. */
  attempt?: Attempt
}

/** Polizia: open bookings, submissions by day, receipts, the service and the suspension. */
const policeScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  app.get(POLICE, deskPage('getPaginaPolizia', 'La Polizia: che cosa resta, gli invii e le ricevute', {
    query: { a: Type.Optional(Day) }
  }), async (request, reply) => {
    const { a: until = clock.today() } = request.query
    return await show(await openDesk(request, reply), clock, { until })
  })

  app.post(CHECK, deskPost('postPaginaProvaPolizia', 'Prova la connessione'), async (request, reply) =>
    await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'GET', url: '/api/alloggiati/check' }),
      redirectTo: `${POLICE}?esito=collegata#servizio`,
      showAgain: (desk, { refusal }) => show(desk, clock, {
        until: clock.today(), failure: refusal ? refusalText(desk, refusal) : ''
      })
    }))

  app.post(SUSPENSION, deskPost('postPaginaSospensione', 'Sospende o riprende gli invii'), async (request, reply) =>
    await submitForm<SuspensionState>(request, reply, {
      fields: [reasonField('')],
      call: (payload, { sospeso }) => ({
        method: 'POST', url: '/api/v1/invii/sospensione', payload: { ...payload, sospeso: sospeso === 'si' }
      }),
      redirectTo: ({ body: { sospeso } }) => `${POLICE}?esito=${sospeso ? 'sospesi' : 'ripresi'}`,
      showAgain: (desk, attempt) => show(desk, clock, { until: clock.today(), attempt })
    }))

  app.get(`${POLICE}/ricevute/:giorno`, deskFile('getPaginaRicevuta', 'La ricevuta di un giorno', {
    type: 'application/pdf', params: Type.Object({ giorno: Day })
  }), async (request, reply) => await sendFile(await openDesk(request, reply), {
    method: 'GET', url: `/api/alloggiati/ricevute?data=${request.params.giorno}`
  }))
}
export default policeScreen

async function show (desk: Desk, clock: Clock, shown: Shown): Promise<FastifyReply> {
  const texts = policeTexts[desk.language]
  const [due, submissions, suspension, account, isAdmin] = await Promise.all([
    readPoliceDue(desk, clock),
    submissionsSection(desk, { from: addDays(shown.until, -13), until: shown.until, today: clock.today() }),
    desk.call<SuspensionState>({ method: 'GET', url: '/api/v1/invii/sospensione' }),
    desk.call<PoliceAccount>({ method: 'GET', url: '/api/v1/alloggiati/account' }),
    isAdministrator(desk)
  ])
  const form = suspensionForm(desk, suspension.body, isAdmin, shown.attempt)
  return showDesk(desk, {
    title: texts.title,
    isFaulty: shown.failure !== undefined || shown.attempt !== undefined,
    content: html`${doneNotice(desk, NOTICES, texts)}${suspension.body.sospeso ? form : NOTHING}${figures(desk, due)}
${openSection(desk, clock, due)}${submissions}
<section aria-labelledby="servizio"><h2 id="servizio">${texts.service}</h2>
${shown.failure === undefined ? NOTHING : alarm(shown.failure)}
<p>${account.body.utente === null ? texts.noAccount : fill(texts.account, account.body.utente)}</p>
${actionForm(desk, { action: CHECK, button: texts.check })}
${suspension.body.sospeso ? NOTHING : form}</section>`
  })
}

/** The counts at the top. Only those that need a person now are amber. */
function figures (desk: Desk, { open, undecided, check: { in_attesa: awaited, ...check } }: PoliceDue): Html {
  const texts = policeTexts[desk.language]
  const [first] = open
  const guests = open.reduce((sum, { guests }) => sum + guests, 0)
  const byWhen = first?.isOverdue === true ? texts.overdue : guests === 1 ? texts.by : texts.firstBy
  const deadline = first === undefined ? '' : `, ${fill(byWhen, shortInstant(desk, first.deadline))}`
  return html`<ul class="figures">
${figure(guests, `${counted(guests, texts.toFileOne, texts.toFileMany)}${deadline}`, guests > 0)}${
  figure(undecided.length, counted(undecided.length, texts.toDecideOne, texts.toDecideMany), undecided.length > 0)}${
  figure(awaited.length, counted(awaited.length, texts.awaitedOne, texts.awaitedMany))}${
  figure(`${check.totale_ricevute}/${check.totale_prenotazioni}`, texts.receipted)}</ul>`
}

function reasonField (label: string): DeskField {
  return { name: 'motivo', label, isRequired: true, isWide: true }
}

/** The form that resumes or suspends sending. While sending is suspended, the form shows an alarm. */
function suspensionForm (desk: Desk, state: SuspensionState, isAdmin: boolean, attempt?: Attempt): Html {
  const texts = policeTexts[desk.language]
  const { sospeso, motivo, dal } = state
  const form = isAdmin
    ? formFor(desk, {
      action: SUSPENSION,
      button: sospeso ? texts.resume : texts.suspend,
      fields: [{ ...reasonField(texts.reason), ...sospeso && { hint: texts.resumeHint } }],
      attempt: attempt ?? { values: {} },
      hidden: { sospeso: sospeso ? 'no' : 'si' }
    })
    : html`<p>${texts.administrator}</p>`
  if (!sospeso) {
    return html`<details${attempt === undefined ? NOTHING : html` open`}><summary>${texts.suspend}</summary>
<p>${texts.suspendText}</p>${form}</details>`
  }
  const since = fill(texts.suspendedSince, instantText(desk, dal ?? ''))
  return html`<section aria-labelledby="sospensione"><h2 id="sospensione">${texts.suspended}</h2>
${alarm(`${since} ${texts.reason}: ${motivo ?? ''}`)}${form}</section>`
}
