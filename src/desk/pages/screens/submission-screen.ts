import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { IdParams } from '#schemas/common.ts'
import type { InvioDetail } from '#schemas/invio.ts'
import { DECISIONS, isDecidable, isUnderWay, type DecisionName, type State } from '#schemas/submission.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { formFor, submitForm } from '../desk-form.ts'
import { alarm, buttonLink, chip, doneNotice, NOTHING, showDesk } from '../desk-layout.ts'
import { dayText, deskPage, deskPost, fill, instantText, isAdministrator, openDesk, type Desk } from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape } from '../field-types.ts'
import { submissionTexts } from '../texts/submission-texts.ts'
import { POLICE } from './police-screen.ts'

const PAGE = `${POLICE}/invii/:id`

/** The forms of the page. */
type FormName = 'decisione' | 'correzione'

const apiOf = (id: number) => `/api/v1/invii/${id}`
const pageOf = (id: number) => `${POLICE}/invii/${id}`

/** One submission: its outcome, what a person can decide, its guests, receipt and history. */
const submissionScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get(PAGE, deskPage('getPaginaInvio', 'Un invio alla Polizia', { params: IdParams }), async (request, reply) =>
    await show(await openDesk(request, reply), request.params.id))

  app.get(`${PAGE}/ricevuta`, deskFile('getPaginaRicevutaInvio', 'La ricevuta del giorno di un invio', {
    type: 'application/pdf', params: IdParams
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    const { ricevuta_giorno: receipt } = (await find(desk, request.params.id)).data
    if (receipt === null) throw new RisorsaNonTrovata()
    return await sendFile(desk, { method: 'GET', url: `/api/alloggiati/ricevute?data=${receipt.giorno}` })
  })

  app.post(`${PAGE}/decisione`, deskPost('postPaginaDecisione', 'Decide di un invio', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: DECISION_FIELDS,
      call: (payload, { versione = '' }) => ({
        method: 'POST', url: `${apiOf(id)}/decisione`, payload: { ...payload, versione: Number(versione.slice(1, -1)) }
      }),
      redirectTo: `${pageOf(id)}?esito=deciso`,
      showAgain: (desk, attempt) => show(desk, id, { form: 'decisione', attempt })
    })
  })

  app.post(`${PAGE}/correzione`, deskPost('postPaginaCorrezione', 'Annota che è stata chiesta una correzione', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: CORRECTION_FIELDS,
      call: (payload) => ({ method: 'POST', url: `${apiOf(id)}/correzione`, payload }),
      redirectTo: `${pageOf(id)}?esito=annotato`,
      showAgain: (desk, attempt) => show(desk, id, { form: 'correzione', attempt })
    })
  })
}
export default submissionScreen

async function find (desk: Desk, id: number): Promise<{ data: InvioDetail, etag: string | undefined }> {
  const { body: { data }, etag } = await desk.call<{ data: InvioDetail }>({ method: 'GET', url: apiOf(id) })
  return { data, etag }
}

async function show (
  desk: Desk, id: number, refused?: { form: FormName, attempt: Attempt }
): Promise<FastifyReply> {
  const texts = submissionTexts[desk.language]
  const [{ data, etag }, isAdmin] = await Promise.all([find(desk, id), isAdministrator(desk)])
  const { stato, prenotazione_id: booking, ricevuta_giorno: receipt } = data
  // After a refusal the form is about the present version, which the page shows.
  const attemptOf = (form: FormName): Attempt => refused?.form === form
    ? { ...refused.attempt, etag }
    : { values: {}, etag }
  const links = html`${booking === null ? NOTHING : buttonLink(`/prenotazioni/${booking}`, texts.booking)}${
    receipt === null ? NOTHING : buttonLink(`${pageOf(id)}/ricevuta`, texts.receipt)}`
  return showDesk(desk, {
    title: fill(texts.title, data.ricevuta),
    isFaulty: refused !== undefined,
    actions: buttonLink(POLICE, texts.back),
    content: html`${doneNotice(desk, { deciso: 'decided', annotato: 'noted' }, texts)}${
      data.integro ? NOTHING : alarm(texts.altered)}
<p class="chips">${chip(texts[stato], isDecidable(stato) ? 'need' : isQuiet(stato) ? 'ok' : undefined)}${
  chip(dayText(desk, data.data_arrivo))}${chip(fill(texts.deadline, instantText(desk, data.scadenza)))}</p>
<p>${texts[MEANINGS[stato]]}</p>
${data.nota === null ? NOTHING : html`<p class="hint">${texts.motivo}: ${data.nota}</p>`}
<p class="actions">${links}</p>
${decisionSection(desk, data, isAdmin, attemptOf('decisione'))}
${guestTable(desk, data)}
${correctionForm(desk, data, attemptOf('correzione'), refused?.form === 'correzione')}
${history(desk, data)}`
  })
}

type TextKey = keyof typeof submissionTexts['it']

/** The text that explains a state. */
const MEANINGS = {
  pronto: 'isUnderWay',
  preso: 'isUnderWay',
  in_invio: 'isUnderWay',
  acquisito: 'isAcquired',
  parziale: 'isRefused',
  rifiutato: 'isRefused',
  non_inviato: 'isNotSent',
  sconosciuto: 'isUnknown',
  da_verificare: 'isUnknown',
  ricevuto: 'isReceived',
  depositato_altrove: 'isElsewhere',
  annullato: 'isCancelled'
} as const satisfies Record<State, TextKey>

function isQuiet (stato: State): boolean {
  return ['isAcquired', 'isReceived', 'isElsewhere', 'isCancelled'].includes(MEANINGS[stato])
}

const CORRECTION_FIELDS: readonly FieldShape[] = [
  { name: 'motivo', type: 'textarea', isRequired: true, isWide: true },
  { name: 'protocollo', isWide: true }
]
const DECISION_FIELDS: readonly FieldShape[] = [
  { name: 'decisione', type: 'select', isRequired: true, isWide: true },
  ...CORRECTION_FIELDS,
  { name: 'conferma', isRequired: true, isWide: true }
]

const DECISION_TEXTS = {
  reinvia: 'reinvia', acquisito: 'acquis', depositato: 'depositato', annulla: 'annulla'
} as const satisfies Record<DecisionName, TextKey>

/** The form for the decision of a person, with the checks to make first. A waiting submission can only be withdrawn. */
function decisionSection (desk: Desk, data: InvioDetail, isAdmin: boolean, attempt: Attempt): Html {
  const texts = submissionTexts[desk.language]
  const { id, stato, numero_schedine: guests, data_arrivo: day } = data
  const isOpen = isDecidable(stato)
  if (!isOpen && stato !== 'pronto') return NOTHING
  const options = DECISIONS.filter((each) => isOpen || each === 'annulla')
    .map((value) => ({ value, label: texts[DECISION_TEXTS[value]] }))
  const phrase = fill(texts.confermaHint, `${countWithNoun(guests, 'ospite', 'ospiti')} ${day}`)
  const words: Readonly<Record<string, Omit<DeskField, 'name'>>> = {
    decisione: { label: texts.decision, options },
    motivo: { label: texts.motivo, hint: texts.motivoHint },
    protocollo: { label: texts.protocollo, hint: texts.protocolloHint },
    conferma: { label: texts.conferma, hint: phrase }
  }
  const form = formFor(desk, {
    action: `${pageOf(id)}/decisione`,
    button: texts.decide,
    fields: DECISION_FIELDS.map((each) => ({ ...each, ...words[each.name]! })),
    attempt,
    back: pageOf(id)
  })
  const steps = html`<ol><li>${texts.step1}</li><li>${texts.step2}</li><li>${texts.step3}</li></ol>`
  return html`<section aria-labelledby="decisione"><h2 id="decisione">${texts.decision}</h2>
${isOpen ? steps : NOTHING}${isAdmin ? form : html`<p>${texts.administrator}</p>`}</section>`
}

/** The guests of the submission, masked, with the outcome and the service's words. */
function guestTable (desk: Desk, { righe }: InvioDetail): Html {
  const texts = submissionTexts[desk.language]
  const rows = righe.map(({ indice, esito, codice_errore: code, messaggio_soap: message, dettaglio, schedina }) => {
    const who = schedina === null
      ? String(indice + 1)
      : `${indice + 1}. ${schedina.nome} ${schedina.cognome} (${schedina.anno_nascita})`
    const why = [code, message, dettaglio].filter((each) => each !== null && each !== '').join(' · ')
    return html`<tr><th scope="row">${who}</th><td>${texts[esito]}${
      why === '' ? NOTHING : html`<br><span class="hint">${why}</span>`}</td></tr>\n`
  })
  return html`<section aria-labelledby="ospiti"><h2 id="ospiti">${texts.guests}</h2>
<table><thead><tr><th scope="col">${texts.guest}</th><th scope="col">${texts.outcome}</th></tr></thead>
<tbody>${rows}</tbody></table></section>`
}

/** Notes that the Questura was asked to correct an acquired guest. */
function correctionForm (desk: Desk, { id, stato, correzioni }: InvioDetail, attempt: Attempt, isOpen: boolean): Html {
  const texts = submissionTexts[desk.language]
  if (isUnderWay(stato) || isDecidable(stato)) return NOTHING
  const fields = CORRECTION_FIELDS.map((each) => ({
    ...each, label: each.name === 'motivo' ? texts.motivo : texts.protocollo
  }))
  const noted = correzioni.map(({ motivo, protocollo, quando }) =>
    html`<li><time datetime="${quando}">${instantText(desk, quando)}</time>${motivo} ${protocollo ?? ''}</li>\n`)
  return html`<details${isOpen ? html` open` : NOTHING}><summary>${texts.correction}</summary>
<p>${texts.correctionText}</p>${formFor(desk, {
  action: `${pageOf(id)}/correzione`, button: texts.noteCorrection, fields, attempt, prefix: 'c-'
})}</details>
${noted.length === 0 ? NOTHING : html`<ul class="log">${noted}</ul>`}`
}

function history (desk: Desk, { transizioni }: InvioDetail): Html {
  const texts = submissionTexts[desk.language]
  const items = transizioni.toReversed().map(({ a, perche, quando }) =>
    html`<li><time datetime="${quando}">${instantText(desk, quando)}</time>${texts[a]}: ${perche}</li>\n`)
  return html`<section aria-labelledby="storia"><h2 id="storia">${texts.history}</h2>
<ol class="log">${items}</ol></section>`
}
