import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { PdfParams, type PdfListItem } from '#schemas/pdf.ts'
import { CSV_BYTES_MAX, REPORT_BODY_MAX } from '#schemas/report.ts'
import type { TemplateItem } from '#schemas/template.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { fieldsHtml } from '../desk-fields.ts'
import { actionForm, formSecrets, formSummary, submitForm } from '../desk-form.ts'
import { emptyState, nextLink, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, instantText, openDesk, type Desk } from '../desk-page.ts'
import { acceptUploads, fileForm, uploadedFile, uploadedTitle } from '../desk-upload.ts'
import type { Attempt, DeskField, Values } from '../field-types.ts'
import { reportTexts } from '../texts/report-texts.ts'

const PAGE = '/report'
const LATEST = 20
const CURRENCIES = ['EUR', 'USD', 'GBP', 'CHF']

/** Report: makes the financial report of a CSV file, and shows earlier ones. */
const reportsScreen: FastifyPluginAsyncTypebox = async (app) => {
  await acceptUploads(app, CSV_BYTES_MAX)

  app.get(PAGE, deskPage('getPaginaReport', 'I report finanziari'), async (request, reply) =>
    await show(await openDesk(request, reply), { values: { valuta: 'EUR' } }))

  app.post(PAGE, {
    bodyLimit: REPORT_BODY_MAX, ...deskPost('postPaginaReport', 'Crea il report di un file CSV')
  }, async (request, reply) => {
    const { titolo: typed = '', valuta, decimali, templateId } = request.body as Values
    const titolo = typed.trim() === '' ? uploadedTitle(request) : typed
    const form = await fileForm({ titolo, valuta, decimali, templateId }, uploadedFile(request))
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({
        method: 'POST',
        url: '/api/v1/report/csv',
        payload: form.payload!,
        headers: { ...form.headers, accept: 'application/json' }
      }),
      redirectTo: `${PAGE}?esito=creato#fatti`,
      showAgain: show
    })
  })

  app.get(`${PAGE}/:id`, deskFile('getPaginaPdfReport', 'Il PDF di un report', {
    type: 'application/pdf', params: PdfParams
  }), async (request, reply) => await sendFile(await openDesk(request, reply), {
    method: 'GET', url: `/api/csv-pdf-download/${request.params.id}`
  }, { isShown: true }))

  app.post(`${PAGE}/:id/elimina`, deskPost('postPaginaEliminaReport', 'Elimina un report', {
    params: PdfParams
  }), async (request, reply) => await submitForm(request, reply, {
    fields: [],
    call: () => ({ method: 'DELETE', url: `/api/v1/pdf/${request.params.id}` }),
    redirectTo: `${PAGE}?esito=eliminato`,
    showAgain: show
  }))
}
export default reportsScreen

async function show (desk: Desk, attempt: Attempt): Promise<FastifyReply> {
  const texts = reportTexts[desk.language]
  const { visitor: { caller } } = desk
  const query = new URLSearchParams({ user_id: caller.userId ?? '', limit: String(LATEST) })
  const [{ body: { data: reports } }, { body: { data: templates } }] = await Promise.all([
    desk.call<{ data: PdfListItem[] }>({ method: 'GET', url: `/api/csv-pdf-list?${query}` }),
    desk.call<{ data: TemplateItem[] }>({ method: 'GET', url: '/api/v1/templates' })
  ])
  const list = reports.length === 0
    ? emptyState(texts.none)
    : html`<ol class="rows timed">${reports.map((each) => reportRow(desk, each))}</ol>`
  return showDesk(desk, {
    title: texts.title,
    isFaulty: attempt.refusal !== undefined,
    content: html`<p>${texts.intro}</p>
${uploadForm(desk, attempt, templates)}
<section aria-labelledby="fatti"><h2 id="fatti">${texts.made}</h2>
${list}</section>`
  })
}

/** The browser submits this form itself, even with scripts, because the form has a file. */
function uploadForm (desk: Desk, attempt: Attempt, templates: readonly TemplateItem[]): Html {
  const texts = reportTexts[desk.language]
  const own = templates.filter(({ predefinito }) => !predefinito)
  const isNoText = attempt.errors?.get('file')?.messaggio.includes('UTF-8') ?? false
  const fields: DeskField[] = [
    {
      name: 'file',
      label: texts.file,
      type: 'file',
      isRequired: true,
      isWide: true,
      hint: texts.fileHint,
      ...isNoText && { message: texts.notText },
      attributes: html` accept=".csv,text/csv"`
    },
    { name: 'titolo', label: texts.titolo, hint: texts.titoloHint },
    {
      name: 'valuta',
      label: texts.valuta,
      type: 'select',
      isRequired: true,
      options: CURRENCIES.map((value) => ({ value, label: value }))
    },
    {
      name: 'decimali',
      label: texts.decimali,
      type: 'select',
      hint: texts.decimaliHint,
      options: [{ value: 'virgola', label: texts.virgola }, { value: 'punto', label: texts.punto }]
    },
    ...own.length === 0
      ? []
      : [{
          name: 'templateId',
          label: texts.template,
          type: 'select' as const,
          options: own.map(({ id, nome }) => ({ value: id, label: nome }))
        }]
  ]
  const parts = { action: PAGE, button: texts.make, fields, attempt }
  return html`<form class="form" enctype="multipart/form-data" method="post" action="${PAGE}">
${formSecrets(desk)}${formSummary(desk, parts)}<div class="fields">
${fieldsHtml(fields, attempt, desk)}</div>
<div class="actions"><button class="primary">${texts.make}</button></div>
</form>
`
}

function reportRow (desk: Desk, { id, nome, created_at: at }: PdfListItem): Html {
  const texts = reportTexts[desk.language]
  const made = instantText(desk, at)
  const about = `${nome}, ${made}`
  return html`<li>
<span class="unit">${made}</span>
<a class="who" href="${PAGE}/${id}">${nome}</a>
<span class="chips">${actionForm(desk, { action: `${PAGE}/${id}/elimina`, button: texts.remove, about })}</span>
${nextLink(`${PAGE}/${id}`, texts.open, about)}</li>
`
}
