import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { IdParams } from '#schemas/common.ts'
import type { BookingDetail } from '#schemas/booking.ts'
import type { Schedina, Segnalazione, Soggiorno } from '#schemas/schedina.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { formFor, submitForm } from '../desk-form.ts'
import { buttonLink, showDesk } from '../desk-layout.ts'
import { dayText, deskPage, deskPost, fill, isAdministrator, openDesk, type Desk } from '../desk-page.ts'
import type { Attempt, FieldShape } from '../field-types.ts'
import { depositTexts } from '../texts/deposit-texts.ts'
import { policeTexts } from '../texts/police-texts.ts'
import { POLICE } from './police-screen.ts'

const PAGE = `${POLICE}/pec/:id`
const FILE = '/api/alloggiati/file'
const FIELDS: readonly FieldShape[] = [
  { name: 'protocollo', isRequired: true, isWide: true },
  { name: 'motivo', type: 'textarea', isRequired: true, isWide: true }
]

/** The guests of a booking as schedine, and the errors of the police rules. */
interface Prepared { schedine: Schedina[], soggiorno: Soggiorno, errors: Segnalazione[] }

/** The file for certified mail when the service no longer accepts an arrival, and the record of its use. */
const depositScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get(PAGE, deskPage('getPaginaPec', 'Comunica una prenotazione con il file per la PEC', {
    params: IdParams
  }), async (request, reply) => await show(await openDesk(request, reply), request.params.id, { values: {} }))

  app.get(`${PAGE}/file`, deskFile('getPaginaFilePec', 'Il file per la PEC di una prenotazione', {
    type: 'text/plain', params: IdParams
  }), async (request, reply) => {
    const desk = await openDesk(request, reply)
    return await sendFile(desk, { method: 'POST', url: FILE, payload: await bodyOf(desk, request.params.id) })
  })

  app.post(PAGE, deskPost('postPaginaPec', 'Annota che il file per la PEC è stato mandato', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    const guests = await bodyOf(await openDesk(request, reply), id)
    return await submitForm<{ data: { id: number } }>(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'POST', url: '/api/v1/invii/deposito', payload: { ...payload, ...guests } }),
      redirectTo: ({ body: { data } }) => `${POLICE}/invii/${data.id}`,
      showAgain: (desk, attempt) => show(desk, id, attempt)
    })
  })
}
export default depositScreen

async function prepare (desk: Desk, id: number): Promise<Prepared> {
  return (await desk.call<Prepared>({
    method: 'POST', url: `/api/v1/prenotazioni/${id}/schedine`, payload: {}
  })).body
}

async function bodyOf (desk: Desk, id: number): Promise<{ ospiti: Schedina[], prenotazione: Soggiorno }> {
  const { schedine, soggiorno } = await prepare(desk, id)
  return { ospiti: schedine, prenotazione: soggiorno }
}

async function show (desk: Desk, id: number, attempt: Attempt): Promise<FastifyReply> {
  const texts = depositTexts[desk.language]
  const [{ body: { data: booking } }, { errors }, isAdmin] = await Promise.all([
    desk.call<{ data: BookingDetail }>({ method: 'GET', url: `/api/v1/prenotazioni/${id}` }),
    prepare(desk, id),
    isAdministrator(desk)
  ])
  // The service refuses an arrival so late, but the file may contain it.
  const broken = errors.filter(({ campo }) => campo !== 'check_in')
  return showDesk(desk, {
    title: fill(texts.title, booking.nome_cognome),
    isFaulty: attempt.refusal !== undefined,
    actions: buttonLink(POLICE, texts.back),
    content: html`<p>${fill(texts.why, dayText(desk, booking.check_in))}</p>
${broken.length > 0 ? missing(desk, id, broken) : steps(desk, id, isAdmin, attempt)}`
  })
}

function missing (desk: Desk, id: number, errors: readonly Segnalazione[]): Html {
  const texts = depositTexts[desk.language]
  const items = errors.map(({ ospite, campo, messaggio }) =>
    html`<li><a href="/prenotazioni/${id}#f-dati-${ospite}-${campo}">${
      fill(texts.guest, ospite + 1)}</a>: ${messaggio}</li>`)
  return html`<div class="alarm" role="alert"><p>${texts.missing}</p><ul>${items}</ul></div>
${buttonLink(`/prenotazioni/${id}`, texts.complete, { isMain: true })}`
}

function steps (desk: Desk, id: number, isAdmin: boolean, attempt: Attempt): Html {
  const texts = depositTexts[desk.language]
  const words: Readonly<Record<string, { label: string, hint: string }>> = {
    protocollo: { label: texts.protocollo, hint: texts.protocolloHint },
    motivo: { label: texts.motivo, hint: texts.motivoHint }
  }
  const form = formFor(desk, {
    action: `${POLICE}/pec/${id}`,
    button: texts.save,
    fields: FIELDS.map((each) => ({ ...each, ...words[each.name]! })),
    attempt
  })
  return html`<h2>1. ${texts.download}</h2><p>${texts.downloadText}</p>
<p>${buttonLink(`${POLICE}/pec/${id}/file`, texts.file)}</p>
<h2>2. ${texts.mail}</h2><p>${texts.mailText}</p>
<h2>3. ${texts.note}</h2>
${isAdmin ? form : html`<p>${policeTexts[desk.language].administrator}</p>`}`
}
