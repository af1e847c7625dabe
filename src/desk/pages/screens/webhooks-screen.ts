import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { IdParams } from '#schemas/common.ts'
import type { Delivery, Webhook, WebhookSecret } from '#schemas/webhook.ts'
import { html, type Html } from '#src/lib/html.ts'
import { actionForm, formFor, submitForm } from '../desk-form.ts'
import { buttonLink, chip, doneNotice, emptyState, refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, instantText, openAdministration, type Desk } from '../desk-page.ts'
import type { Attempt, FieldShape } from '../field-types.ts'
import { webhookTexts } from '../texts/webhook-texts.ts'
import { SETTINGS } from './account-state.ts'

export const WEBHOOKS = `${SETTINGS}/webhook`
const API = '/api/v1/webhooks'
const NEW = `${WEBHOOKS}/nuovo`
const PAGE = `${WEBHOOKS}/:id`
const DELIVERIES = 10
const FIELDS: readonly FieldShape[] = [{ name: 'url' }, { name: 'descrizione' }]

const pageOf = (id: number) => PAGE.replace(':id', String(id))

/** The webhooks, with the outcome of their last deliveries. Only administrators see them. */
const webhooksScreen: FastifyPluginAsyncTypebox = async (app) => {
  const params = { params: IdParams }

  app.get(WEBHOOKS, deskPage('getPaginaWebhook', 'I webhook'), async (request, reply) =>
    await showAll(await openAdministration(request, reply)))

  app.post(NEW, deskPost('postPaginaNuovoWebhook', 'Crea un webhook'), async (request, reply) =>
    await submitForm<{ data: Webhook }>(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'POST', url: API, payload }),
      redirectTo: ({ body: { data: { id } } }) => `${pageOf(id)}?esito=creato`,
      showAgain: showAll
    }))

  app.get(PAGE, deskPage('getPaginaUnWebhook', 'Un webhook con le sue consegne', params), async (request, reply) =>
    await show(await openAdministration(request, reply), request.params.id))

  app.post(`${PAGE}/prova`, deskPost('postPaginaProvaWebhook', 'Consegna un evento di prova', params),
    async (request, reply) => {
      const { id } = request.params
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({ method: 'POST', url: `${API}/${id}/prova`, payload: {} }),
        redirectTo: `${pageOf(id)}?esito=provato`,
        showAgain: async (desk, attempt) => await show(desk, id, { attempt })
      })
    })

  // A form, because the audit log records that the secret was shown.
  app.post(`${PAGE}/segreto`, deskPost('postPaginaSegretoWebhook', 'Mostra il segreto di un webhook', params),
    async (request, reply) => {
      const { id } = request.params
      const desk = await openAdministration(request, reply)
      const { body } = await desk.call<WebhookSecret>({ method: 'GET', url: `${API}/${id}/segreto` })
      return await show(desk, id, { secret: body.segreto })
    })

  app.post(`${PAGE}/elimina`, deskPost('postPaginaEliminaWebhook', 'Elimina un webhook', params),
    async (request, reply) => {
      const { id } = request.params
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({ method: 'DELETE', url: `${API}/${id}` }),
        redirectTo: `${WEBHOOKS}?esito=eliminato`,
        showAgain: async (desk, attempt) => await show(desk, id, { attempt })
      })
    })
}
export default webhooksScreen

async function showAll (desk: Desk, attempt: Attempt = { values: {} }): Promise<FastifyReply> {
  const texts = webhookTexts[desk.language]
  const { body: { data } } = await desk.call<{ data: Webhook[] }>({ method: 'GET', url: API })
  const rows = data.map((each) => html`<li><a class="who" href="${pageOf(each.id)}">${
    each.descrizione ?? each.url}<small>${each.url}</small></a><span class="chips">${state(desk, each)}</span></li>\n`)
  return showDesk(desk, {
    title: texts.title,
    isFaulty: attempt.refusal !== undefined,
    actions: buttonLink(SETTINGS, texts.back),
    content: html`<p class="hint">${texts.about}</p>
${rows.length === 0 ? emptyState(texts.none) : html`<ol class="rows assign">${rows}</ol>`}
<section aria-labelledby="nuovo"><h2 id="nuovo">${texts.newOne}</h2>
${formFor(desk, {
  action: NEW,
  button: texts.create,
  fields: [
    { name: 'url', label: texts.url, hint: texts.urlHint, isRequired: true, isWide: true },
    { name: 'descrizione', label: texts.descrizione, isWide: true }
  ],
  attempt
})}</section>`
  })
}

interface Shown { attempt?: Attempt, secret?: string }

async function show (desk: Desk, id: number, { attempt, secret }: Shown = {}): Promise<FastifyReply> {
  const texts = webhookTexts[desk.language]
  const [{ body: { data: hook } }, { body: { data: deliveries } }] = await Promise.all([
    desk.call<{ data: Webhook }>({ method: 'GET', url: `${API}/${id}` }),
    desk.call<{ data: Delivery[] }>({ method: 'GET', url: `${API}/${id}/consegne?limit=${DELIVERIES}` })
  ])
  const page = pageOf(id)
  return showDesk(desk, {
    title: hook.descrizione ?? texts.one,
    isFaulty: attempt !== undefined,
    actions: buttonLink(WEBHOOKS, texts.title),
    content: html`${doneNotice(desk, { provato: 'tested' }, texts)}${refusalAlarm(desk, attempt?.refusal)}
<p><code>${hook.url}</code> ${state(desk, hook)}</p>
<section aria-labelledby="segreto"><h2 id="segreto">${texts.secret}</h2>
${secret === undefined
  ? actionForm(desk, { action: `${page}/segreto`, button: texts.showSecret })
  : html`<p><code>${secret}</code></p><p class="hint">${texts.secretText}</p>`}</section>
<section aria-labelledby="consegne"><h2 id="consegne">${texts.deliveries}</h2>
${deliveries.length === 0 ? html`<p class="hint">${texts.noDeliveries}</p>` : deliveryTable(desk, deliveries)}
<div class="foot">${hook.stato === 'attivo'
  ? actionForm(desk, { action: `${page}/prova`, button: texts.test })
  : buttonLink('/avvisi', texts.reactivate)}${buttonLink(page, texts.refresh)}</div></section>
<section aria-labelledby="elimina"><h2 id="elimina">${texts.removal}</h2>
${actionForm(desk, { action: `${page}/elimina`, button: texts.remove })}</section>`
  })
}

function state ({ language }: Desk, { stato }: Webhook): Html {
  return chip(webhookTexts[language][stato], stato === 'attivo' ? 'ok' : 'need')
}

function deliveryTable (desk: Desk, deliveries: readonly Delivery[]): Html {
  const texts = webhookTexts[desk.language]
  const rows = deliveries.map(({ creata_il: at, tipo, stato, tentativi: [last] }) => html`<tr><td>${
    instantText(desk, at)}</td><td>${tipo}</td><td>${chip(texts[stato], stato === 'consegnata' ? 'ok' : 'need')} ${
    last?.stato_http ?? last?.errore ?? ''}</td></tr>\n`)
  return html`<div class="table" tabindex="0">
<table><thead><tr><th scope="col">${texts.when}</th><th scope="col">${
    texts.event}</th><th scope="col">${texts.outcome}</th></tr></thead><tbody>${rows}</tbody></table></div>
`
}
