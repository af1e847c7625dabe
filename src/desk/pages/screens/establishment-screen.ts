import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { IdParams } from '#schemas/common.ts'
import { ESTABLISHMENT_KINDS, type EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { EstablishmentAccount } from '#schemas/police-account.ts'
import { html, type Html } from '#src/lib/html.ts'
import { fieldTable } from '../desk-fields.ts'
import { actionForm, formFor, submitForm } from '../desk-form.ts'
import { buttonLink, doneNotice, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, isAdministrator, openDesk, type Desk } from '../desk-page.ts'
import type { Attempt, DeskField, FieldShape } from '../field-types.ts'
import { valuesOf } from '../form-values.ts'
import { establishmentTexts } from '../texts/establishment-texts.ts'
import { accountState, SETTINGS } from './account-state.ts'

const API = '/api/v1/strutture'
const PAGE = `${SETTINGS}/strutture/:id`
export const NEW_HOUSE = `${SETTINGS}/strutture/nuova`

const pageOf = (id: number) => PAGE.replace(':id', String(id))

/** The refused form of the page. */
interface Refused { house?: Attempt, account?: Attempt, test?: Attempt }

/** An establishment and its police account, which administrators change. */
const establishmentScreen: FastifyPluginAsyncTypebox = async (app) => {
  const params = { params: IdParams }

  app.get(NEW_HOUSE, deskPage('getPaginaNuovaStruttura', 'Il modulo di una nuova struttura'), async (request, reply) =>
    await showNew(await openDesk(request, reply), { values: {} }))

  app.post(NEW_HOUSE, deskPost('postPaginaNuovaStruttura', 'Crea una struttura'), async (request, reply) =>
    await submitForm<{ data: EstablishmentRecord }>(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'POST', url: API, payload }),
      redirectTo: ({ body: { data: { id } } }) => `${pageOf(id)}?esito=creato#polizia`,
      showAgain: showNew
    }))

  app.get(PAGE, deskPage('getPaginaStruttura', 'Una struttura', params), async (request, reply) =>
    await show(await openDesk(request, reply), request.params.id))

  app.post(PAGE, deskPost('postPaginaStruttura', 'Modifica una struttura', params), async (request, reply) => {
    const { id } = request.params
    return await submitForm(request, reply, {
      fields: FIELDS,
      call: (payload) => ({ method: 'PUT', url: `${API}/${id}`, payload }),
      redirectTo: `${pageOf(id)}?esito=salvato`,
      showAgain: async (desk, house) => await show(desk, id, { house })
    })
  })

  app.post(`${PAGE}/polizia`, deskPost('postPaginaAccountPolizia', 'Salva l’account della Polizia', params),
    async (request, reply) => {
      const { id } = request.params
      return await submitForm(request, reply, {
        fields: ACCOUNT_FIELDS,
        call: (payload) => ({ method: 'PUT', url: `${API}/${id}/polizia`, payload: withoutEmpty(payload) }),
        redirectTo: `${pageOf(id)}?esito=salvato#polizia`,
        showAgain: async (desk, account) => await show(desk, id, { account: withoutSecrets(account) })
      })
    })

  app.post(`${PAGE}/prova`, deskPost('postPaginaProvaStruttura', 'Prova l’account di una struttura', params),
    async (request, reply) => {
      const { id } = request.params
      return await submitForm(request, reply, {
        fields: [],
        call: () => ({ method: 'POST', url: `${API}/${id}/polizia/prova`, payload: {} }),
        redirectTo: `${pageOf(id)}?esito=collegata#polizia`,
        showAgain: async (desk, test) => await show(desk, id, { test })
      })
    })
}
export default establishmentScreen

/** Removes empty texts, which the route refuses because such an account could not log in. */
function withoutEmpty (payload: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== '' && value !== null))
}

/** A page never contains a typed password or key. */
function withoutSecrets (attempt: Attempt): Attempt {
  return { ...attempt, values: { ...attempt.values, password: '', wskey: '' } }
}

async function showNew (desk: Desk, attempt: Attempt): Promise<FastifyReply> {
  const texts = establishmentTexts[desk.language]
  return showDesk(desk, {
    title: texts.newHouse,
    isFaulty: attempt.refusal !== undefined,
    actions: buttonLink(SETTINGS, texts.back),
    content: await isAdministrator(desk)
      ? formFor(desk, { action: NEW_HOUSE, button: texts.create, fields: houseFields(desk), attempt })
      : html`<p class="hint">${texts.administrator}</p>`
  })
}

async function show (desk: Desk, id: number, { house, account, test }: Refused = {}): Promise<FastifyReply> {
  const texts = establishmentTexts[desk.language]
  const [{ body, etag }, { body: { data: current } }, isAdmin] = await Promise.all([
    desk.call<{ data: EstablishmentRecord }>({ method: 'GET', url: `${API}/${id}` }),
    desk.call<{ data: EstablishmentAccount }>({ method: 'GET', url: `${API}/${id}/polizia` }),
    isAdministrator(desk)
  ])
  const fields = houseFields(desk)
  const attempt = house ?? { values: valuesOf(FIELDS, body), etag }
  return showDesk(desk, {
    title: body.data.nome ?? texts.house,
    isFaulty: [house, account, test].some((each) => each !== undefined),
    actions: buttonLink(SETTINGS, texts.back),
    content: html`${doneNotice(desk, { collegata: 'connected' }, texts)}${
      refusalAlarm(desk, test?.refusal)}${isAdmin
      ? formFor(desk, { action: pageOf(id), button: texts.save, fields, attempt })
      : html`<p class="hint">${texts.administrator}</p>\n${fieldTable(fields, attempt.values, desk)}`}
<section aria-labelledby="polizia"><h2 id="polizia">${texts.police}</h2>
${accountState(desk, current)}
${isAdmin && current.configurato ? actionForm(desk, { action: `${pageOf(id)}/prova`, button: texts.check }) : NOTHING}
${isAdmin ? await accountForm(desk, id, current, { attempt: account }) : NOTHING}</section>`
  })
}

/** The form of an account. The account of the first establishment may come from the environment or the sandbox. */
export async function accountForm (
  desk: Desk, id: number, { origine, utente, categoria, di_struttura }: EstablishmentAccount,
  { attempt, hidden = {} }: { attempt?: Attempt | undefined, hidden?: Readonly<Record<string, string>> } = {}
): Promise<Html> {
  if (id === 1 && origine !== null && origine !== 'struttura') return NOTHING
  const texts: Readonly<Record<string, string>> = establishmentTexts[desk.language]
  const { body: { data: houses } } = await desk.call<{ data: EstablishmentRecord[] }>({ method: 'GET', url: API })
  const others = houses.filter((house) => house.id !== id)
    .map((house) => ({ value: String(house.id), label: house.nome ?? `${texts.house!} ${house.id}` }))
  const more: Readonly<Record<string, Partial<DeskField>>> = {
    wskey: { hint: texts.wskeyHint! },
    categoria: { options: [{ value: 'appartamenti', label: texts.appartamenti! }], none: texts.singola! },
    di_struttura: { options: others, none: texts.own!, hint: texts.di_strutturaHint! }
  }
  const isOwn = origine === 'struttura'
  const stored = isOwn
    ? { utente: utente ?? '', ...categoria === 'appartamenti' && { categoria } }
    : { di_struttura: di_struttura === null ? '' : String(di_struttura) }
  return html`<details${attempt === undefined ? NOTHING : html` open`}><summary>${
    isOwn ? texts.changeAccount! : texts.setAccount!}</summary>
${formFor(desk, {
  action: `${pageOf(id)}/polizia`,
  button: texts.saveAccount!,
  fields: ACCOUNT_FIELDS.map((field) => ({ ...field, label: texts[field.name]!, ...more[field.name] })),
  attempt: attempt ?? { values: stored },
  hidden,
  prefix: 'account-'
})}</details>`
}

/** The fields of an establishment, in the person's language. */
export function houseFields ({ language }: Desk): DeskField[] {
  const texts: Readonly<Record<string, string>> = establishmentTexts[language]
  return FIELDS.map((field) => ({
    ...field,
    label: texts[field.name]!,
    ...field.name === 'comune' && { hint: texts.comuneHint! },
    ...field.name === 'tipo' && { options: ESTABLISHMENT_KINDS.map((value) => ({ value, label: texts[value]! })) }
  }))
}

const FIELDS: readonly FieldShape[] = [
  { name: 'nome', isRequired: true },
  { name: 'tipo', type: 'select' },
  { name: 'indirizzo', isWide: true },
  { name: 'comune' },
  { name: 'cin' },
  { name: 'codice_regionale' }
]

const ACCOUNT_FIELDS: readonly FieldShape[] = [
  { name: 'utente' },
  { name: 'password', type: 'password', autocomplete: 'new-password' },
  { name: 'wskey', type: 'password', autocomplete: 'new-password' },
  { name: 'categoria', type: 'select' },
  { name: 'di_struttura', type: 'select', as: 'integer', isWide: true }
]
