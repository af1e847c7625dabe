import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Job, JobList } from '#schemas/job.ts'
import { lastBackup } from '#src/backup/index.ts'
import type { Config } from '#src/config/config.ts'
import { html, type Html } from '#src/lib/html.ts'
import { actionForm, submitForm } from '../desk-form.ts'
import { alarm, buttonLink, chip, doneNotice, refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, fill, instantText, openAdministration, type Desk } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { counted } from '../missing-words.ts'
import { dataTexts } from '../texts/data-texts.ts'
import { SETTINGS } from './account-state.ts'

export const DATA = `${SETTINGS}/dati`
const BACKUP = `${DATA}/copia`
const MEBIBYTE = 1024 * 1024

/** How long data are kept, and the state of the backups, with a button that starts one. */
const dataScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get(DATA, deskPage('getPaginaDati', 'Quanto si conservano i dati, e le copie di sicurezza'),
    async (request, reply) => await show(await openAdministration(request, reply)))

  app.post(BACKUP, deskPost('postPaginaCopia', 'Fa adesso una copia di sicurezza'), async (request, reply) =>
    await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'POST', url: '/api/v1/jobs/backup/avvia', payload: {} }),
      redirectTo: `${DATA}?esito=avviata#copie`,
      showAgain: show
    }))
}
export default dataScreen

async function show (desk: Desk, attempt?: Attempt): Promise<FastifyReply> {
  const texts = dataTexts[desk.language]
  const { config } = desk.request.server.identity
  return showDesk(desk, {
    title: texts.title,
    isFaulty: attempt !== undefined,
    actions: buttonLink(SETTINGS, texts.back),
    content: html`${doneNotice(desk, { avviata: 'started' }, texts)}${refusalAlarm(desk, attempt?.refusal)}
<section aria-labelledby="copie"><h2 id="copie">${texts.backups}</h2>
${await backupState(desk, config)}</section>
<section aria-labelledby="conservazione"><h2 id="conservazione">${texts.retention}</h2>
${retention(desk, config)}</section>`
  })
}

async function backupState (desk: Desk, { BACKUP_DIR: folder }: Config): Promise<Html> {
  const texts = dataTexts[desk.language]
  const { body: { data } } = await desk.call<JobList>({ method: 'GET', url: '/api/v1/jobs' })
  const job = data.find(({ nome }) => nome === 'backup')
  if (folder === undefined || job === undefined) return html`${alarm(texts.none)}<p>${texts.noneText}</p>`
  // The disk of the folder may not be mounted.
  const last = await lastBackup(folder).catch(() => undefined)
  const file = last === undefined || last.age === Infinity
    ? html`<span class="act-now">${last === undefined ? texts.unreadable : texts.noFile}</span>`
    : html`${instantText(desk, new Date(Date.now() - last.age).toISOString())}, ${
      (last.size / MEBIBYTE).toLocaleString(desk.language, { maximumFractionDigits: 1 })} MiB`
  return html`<table><tbody>
${row(texts.lastBackup, file)}${row(texts.folder, html`<code>${folder}</code>`)}${
  row(texts.lastRun, outcome(desk, job))}${
  row(texts.nextRun, html`${instantText(desk, job.prossimo_avvio)}`)}</tbody></table>
<p class="hint">${texts.keys}</p>
${actionForm(desk, { action: BACKUP, button: texts.startNow })}`
}

function outcome (desk: Desk, { in_corso: isRunning, ultimo_avvio: at, esito, errore }: Job): Html {
  const texts = dataTexts[desk.language]
  if (isRunning) return chip(texts.running)
  if (at === null || esito === null) return html`${texts.never}`
  return html`${instantText(desk, at)} ${chip(texts[esito], esito === 'riuscito' ? 'ok' : 'need')} ${errore ?? ''}`
}

function retention ({ language }: Desk, config: Config): Html {
  const texts = dataTexts[language]
  const { IMAGE_RETENTION_DAYS: images, ERASE_AFTER_DAYS: records } = config
  const days = (count: number) => counted(count, texts.dayOne, texts.dayMany)
  return html`<p class="hint">${texts.retentionText}</p>
<table><tbody>
${row(texts.images, html`${fill(texts.afterReceipt, days(images))} <code>IMAGE_RETENTION_DAYS</code>`)}${
  row(texts.scans, html`${fill(texts.afterSaving, days(Math.max(1, images)))} <code>IMAGE_RETENTION_DAYS</code>`)}${
  row(texts.records, html`${fill(texts.afterSubmission, days(records))} <code>ERASE_AFTER_DAYS</code>`)}${
  row(texts.bookings, html`${texts.untilDeleted}`)}${
  row(texts.events, html`${days(30)}`)}${
  row(texts.copies, html`${texts.copiesKept}`)}</tbody></table>
`
}

function row (name: string, value: Html): Html {
  return html`<tr><th scope="row">${name}</th><td>${value}</td></tr>\n`
}
