import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { IdParams } from '#schemas/common.ts'
import { JobParams } from '#schemas/job.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { Clock } from '#src/lib/time.ts'
import { submitForm } from '../desk-form.ts'
import { emptyState, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, fill, instantText, openDesk, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { noticeTexts } from '../texts/notice-texts.ts'
import { findNotices, NOTICES, type Notice } from './find-notices.ts'

/** Avvisi: each problem with its beginning, its consequence, and one button. */
const noticesScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const showAgain = (desk: Desk, attempt: Attempt) => show(desk, clock, attempt)

  app.get(NOTICES, deskPage('getPaginaAvvisi', 'Gli avvisi'), async (request, reply) =>
    await show(await openDesk(request, reply), clock))

  app.post(`${NOTICES}/lavori/:nome`, deskPost('postPaginaLavoro', 'Avvia di nuovo un lavoro', {
    params: JobParams
  }), async (request, reply) => await submitForm(request, reply, {
    fields: [],
    call: () => ({ method: 'POST', url: `/api/v1/jobs/${request.params.nome}/avvia`, payload: {} }),
    redirectTo: NOTICES,
    showAgain
  }))

  app.post(`${NOTICES}/manutenzione`, deskPost('postPaginaFineManutenzione', 'Termina la manutenzione'),
    async (request, reply) => await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'POST', url: '/api/settings/maintenance', payload: { enabled: false } }),
      redirectTo: `${NOTICES}?esito=salvato`,
      showAgain
    }))

  app.post(`${NOTICES}/webhook/:id`, deskPost('postPaginaRiattivaWebhook', 'Riattiva un webhook', {
    params: IdParams
  }), async (request, reply) => await submitForm(request, reply, {
    fields: [],
    call: () => ({ method: 'POST', url: `/api/v1/webhooks/${request.params.id}/riattiva`, payload: {} }),
    redirectTo: `${NOTICES}?esito=salvato`,
    showAgain
  }))
}
export default noticesScreen

async function show (desk: Desk, clock: Clock, { refusal }: Partial<Attempt> = {}): Promise<FastifyReply> {
  const texts = noticeTexts[desk.language]
  const notices = await findNotices(desk, clock)
  const checked = fill(texts.checked, instantText(desk, clock.now().toISOString()))
  return showDesk(desk, {
    title: texts.title,
    isFaulty: refusal !== undefined,
    content: html`${refusalAlarm(desk, refusal)}
${notices.length === 0
  ? emptyState(`${texts.none} ${checked}`)
  : html`<section class="alarms"><ul>${notices.map((each) => noticeItem(desk, each))}</ul></section>
<p class="hint">${checked}</p>`}`
  })
}

function noticeItem (desk: Desk, { title, since, text, action, isAdvice = false }: Notice): Html {
  const when = since === undefined
    ? NOTHING
    : html`<span class="hint">${fill(noticeTexts[desk.language].since, instantText(desk, since))}</span>`
  return html`<li${isAdvice ? html` class="advice"` : NOTHING}>
<div><b>${title}</b> ${when}<p>${text}</p></div>${action}</li>
`
}
