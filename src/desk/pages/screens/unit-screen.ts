import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { Id, IdParams } from '#schemas/common.ts'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import { BLOCK_REASONS, UNIT_KINDS, type Block, type Unit } from '#schemas/unit.ts'
import { html, type Html } from '#src/lib/html.ts'
import { actionForm, formFor, submitForm } from '../desk-form.ts'
import { buttonLink, emptyState, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { dayText, deskPage, deskPost, openDesk, type Desk, type DeskOptions } from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape, Option } from '../field-types.ts'
import { valuesOf } from '../form-values.ts'
import { unitTexts } from '../texts/unit-texts.ts'
import { SETTINGS } from './account-state.ts'

const API = '/api/v1/unita'
const BLOCKS = '/api/v1/blocchi'
const LIST = `${SETTINGS}?esito=salvato#unita`
const NEW = `${SETTINGS}/unita/nuova`
const PAGE = `${SETTINGS}/unita/:id`

const pageOf = (id: number) => PAGE.replace(':id', String(id))

/** The refused form of a page with several forms. */
interface Refused { unit?: Attempt, block?: Attempt, other?: Attempt }

/** The forms of a unit: new, changed, deleted, moved up in the list, and its blocks. */
const unitScreen: FastifyPluginAsyncTypebox<DeskOptions> = async (app, { clock }) => {
  const show = async (desk: Desk, id: number, refused: Refused = {}) =>
    await showUnit(desk, id, { ...refused, today: clock.today() })

  app.get(NEW, deskPage('getPaginaNuovaUnita', 'Il modulo di una nuova unità'), async (request, reply) =>
    await showNew(await openDesk(request, reply), {
      values: { struttura_id: '1', tipo: 'camera', camere: '1', ospiti_massimi: '2' }
    }))

  app.post(NEW, deskPost('postPaginaNuovaUnita', 'Crea una unità'), async (request, reply) =>
    await submitForm(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'POST', url: API, payload }),
      redirectTo: `${SETTINGS}?esito=creato#unita`,
      showAgain: showNew
    }))

  app.get(PAGE, deskPage('getPaginaUnita', 'Una unità', { params: IdParams }), async (request, reply) =>
    await show(await openDesk(request, reply), request.params.id))

  app.post(PAGE, deskPost('postPaginaModificaUnita', 'Modifica una unità', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'PUT', url: `${API}/${id}`, payload }),
      redirectTo: LIST,
      showAgain: async (desk, unit) => await show(desk, id, { unit })
    })
  })

  app.post(`${PAGE}/elimina`, deskPost('postPaginaEliminaUnita', 'Elimina una unità', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'DELETE', url: `${API}/${id}` }),
      redirectTo: `${SETTINGS}?esito=eliminato#unita`,
      showAgain: async (desk, other) => await show(desk, id, { other })
    })
  })

  app.post(`${PAGE}/su`, deskPost('postPaginaOrdineUnita', 'Sposta una unità prima della precedente', {
    params: IdParams
  }), async (request, reply) => {
    await moveUp(await openDesk(request, reply), request.params.id)
    return await reply.redirect(LIST, 303)
  })

  app.post(`${PAGE}/blocchi`, deskPost('postPaginaBlocco', 'Blocca una unità', {
    params: IdParams
  }), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: BLOCK_FIELDS,
      call: (payload) => ({ method: 'POST', url: BLOCKS, payload: { ...payload, unita_id: id } }),
      redirectTo: `${pageOf(id)}?esito=creato#blocchi`,
      showAgain: async (desk, block) => await show(desk, id, { block })
    })
  })

  app.post(`${PAGE}/blocchi/:blocco/elimina`, deskPost('postPaginaEliminaBlocco', 'Elimina un blocco', {
    params: Type.Object({ id: Id, blocco: Id })
  }), async (request, reply) => {
    const { id, blocco } = request.params
    return await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'DELETE', url: `${BLOCKS}/${blocco}` }),
      redirectTo: `${pageOf(id)}?esito=eliminato#blocchi`,
      showAgain: async (desk, other) => await show(desk, id, { other })
    })
  })
}
export default unitScreen

/** Moves a unit before the previous one in the list, and numbers all units from 1. */
async function moveUp (desk: Desk, id: number): Promise<void> {
  const { body: { data: units } } = await desk.call<{ data: Unit[] }>({ method: 'GET', url: API })
  const at = units.findIndex((unit) => unit.id === id)
  // A unit that was deleted meanwhile gets the refusal of its route.
  if (at < 0) await desk.call({ method: 'GET', url: `${API}/${id}` })
  if (at < 1) return
  units.splice(at - 1, 2, units[at]!, units[at - 1]!)
  for (const [index, unit] of units.entries()) {
    if (unit.ordine === index + 1) continue
    await desk.call({ method: 'PUT', url: `${API}/${unit.id}`, payload: { ordine: index + 1 } })
  }
}

async function showNew (desk: Desk, attempt: Attempt): Promise<FastifyReply> {
  const texts = unitTexts[desk.language]
  return showDesk(desk, {
    title: texts.newUnit,
    isFaulty: attempt.refusal !== undefined,
    actions: buttonLink(SETTINGS, texts.back),
    content: formFor(desk, { action: NEW, button: texts.create, fields: await labelled(desk, true), attempt })
  })
}

async function showUnit (
  desk: Desk, id: number, { unit, block, other, today }: Refused & { today: string }
): Promise<FastifyReply> {
  const texts = unitTexts[desk.language]
  const [{ body }, { body: { data: blocks } }, fields] = await Promise.all([
    desk.call<{ data: Unit }>({ method: 'GET', url: `${API}/${id}` }),
    desk.call<{ data: Block[] }>({ method: 'GET', url: `${BLOCKS}?unita_id=${id}&da=${today}` }),
    labelled(desk)
  ])
  const attempt = unit ?? { values: valuesOf(FIELDS, body) }
  // The text beside the button says how to close the unit instead.
  const isInUse = other?.refusal?.codice === 'UNITA_IN_USO'
  return showDesk(desk, {
    title: body.data.nome,
    isFaulty: [unit, block, other].some((each) => each !== undefined),
    actions: buttonLink(SETTINGS, texts.back),
    content: html`${refusalAlarm(desk, other?.refusal)}${
      formFor(desk, { action: pageOf(id), button: texts.save, fields, attempt })}
<section aria-labelledby="blocchi"><h2 id="blocchi">${texts.blocks}</h2>
<p>${texts.blocksText}</p>
${blocks.length === 0
  ? emptyState(texts.noBlocks)
  : html`<ol class="rows">\n${blocks.map((each) => blockRow(desk, each))}</ol>`}
<h3>${texts.newBlock}</h3>
${formFor(desk, {
  action: `${pageOf(id)}/blocchi`,
  button: texts.block,
  fields: blockFields(desk),
  attempt: block ?? { values: {} },
  isQuiet: true
})}</section>
<details${isInUse ? html` open` : NOTHING}><summary>${texts.remove}</summary><p>${texts.removeText}</p>
${actionForm(desk, { action: `${pageOf(id)}/elimina`, button: texts.removeNow })}</details>`
  })
}

function blockRow (desk: Desk, { id, unita_id: unit, dal, al, motivo, note }: Block): Html {
  const texts = unitTexts[desk.language]
  const days = `${dayText(desk, dal)} – ${dayText(desk, al)}`
  return html`<li><span class="unit">${texts[motivo]}</span>
<span class="who">${days}<small>${note ?? ''}</small></span><span class="chips"></span>
${actionForm(desk, { action: `${pageOf(unit)}/blocchi/${id}/elimina`, button: texts.unblock, about: days })}</li>
`
}

/** The fields with labels. The form asks for the establishment only if there are several. */
async function labelled (desk: Desk, isNew = false): Promise<DeskField[]> {
  const texts: Readonly<Record<string, string>> = unitTexts[desk.language]
  const { body: { data: houses } } = await desk.call<{ data: EstablishmentRecord[] }>({
    method: 'GET', url: '/api/v1/strutture'
  })
  const options: Readonly<Record<string, readonly Option[]>> = {
    tipo: UNIT_KINDS.map((value) => ({ value, label: texts[value]! })),
    struttura_id: houses.map(({ id, nome }) => ({ value: String(id), label: nome ?? `${texts.struttura_id!} ${id}` }))
  }
  return FIELDS.filter(({ name }) => name !== 'struttura_id' || houses.length > 1).map((field) => {
    const { name } = field
    const hint = texts[`${name}Hint`]
    return {
      ...field,
      label: texts[name]!,
      isOptional: field.isRequired !== true,
      ...options[name] && { options: options[name] },
      ...hint !== undefined && { hint },
      // By default a new unit has as many beds as guests.
      ...isNew && name === 'posti_letto' && { isRequired: false, isOptional: true, hint: texts.asGuests! }
    }
  })
}

function blockFields ({ language }: Desk): DeskField[] {
  const texts: Readonly<Record<string, string>> = unitTexts[language]
  return BLOCK_FIELDS.map((field) => ({
    ...field,
    label: texts[field.name]!,
    isOptional: field.isRequired !== true,
    ...field.name === 'al' && { hint: texts.alHint! },
    ...field.name === 'motivo' && { options: BLOCK_REASONS.map((value) => ({ value, label: texts[value]! })) }
  }))
}

const FIELDS: readonly FieldShape[] = [
  { name: 'nome', isRequired: true },
  { name: 'tipo', type: 'select', isRequired: true },
  { name: 'struttura_id', type: 'select', as: 'integer', isRequired: true, isWide: true },
  { name: 'ospiti_massimi', as: 'integer', isRequired: true },
  { name: 'posti_letto', as: 'integer', isRequired: true },
  { name: 'camere', as: 'integer', isRequired: true },
  { name: 'gruppo' },
  { name: 'cin' },
  { name: 'id_appartamento' },
  { name: 'attiva_da', type: 'date' },
  { name: 'attiva_a', type: 'date' }
]

const BLOCK_FIELDS: readonly FieldShape[] = [
  { name: 'dal', type: 'date', isRequired: true },
  { name: 'al', type: 'date', isRequired: true },
  { name: 'motivo', type: 'select', isRequired: true },
  { name: 'note' }
]
