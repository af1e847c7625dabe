import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { EstablishmentAccount } from '#schemas/police-account.ts'
import type { Unit } from '#schemas/unit.ts'
import { html, type Html } from '#src/lib/html.ts'
import { ACCOUNT } from '#src/identity/index.ts'
import { actionForm, submitForm } from '../desk-form.ts'
import { buttonLink, chip, doneNotice, emptyState, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { deskPage, deskPost, isAdministrator, openDesk, type Desk } from '../desk-page.ts'
import type { Attempt } from '../field-types.ts'
import { guestCount } from '../missing-words.ts'
import { establishmentTexts } from '../texts/establishment-texts.ts'
import { settingsTexts } from '../texts/settings-texts.ts'
import { unitTexts } from '../texts/unit-texts.ts'
import { accountState, SETTINGS } from './account-state.ts'
import { DATA } from './data-screen.ts'
import { NEW_HOUSE } from './establishment-screen.ts'
import { LETTERHEAD } from './letterhead-screen.ts'
import { PEOPLE } from './people-screen.ts'
import { WEBHOOKS } from './webhooks-screen.ts'

const CHECK = `${SETTINGS}/prova`
const UNITS = `${SETTINGS}/unita`

/** Impostazioni: the establishments, the units in the host's order, the police account, and further pages. */
const settingsScreen: FastifyPluginAsyncTypebox = async (app) => {
  app.get(SETTINGS, deskPage('getPaginaImpostazioni', 'Le impostazioni'), async (request, reply) =>
    await show(await openDesk(request, reply)))

  app.post(CHECK, deskPost('postPaginaProvaAccount', 'Prova l’account della Polizia'), async (request, reply) =>
    await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'GET', url: '/api/alloggiati/check' }),
      redirectTo: `${SETTINGS}?esito=collegata#polizia`,
      showAgain: show
    }))
}
export default settingsScreen

async function show (desk: Desk, attempt?: Attempt): Promise<FastifyReply> {
  const texts = settingsTexts[desk.language]
  const [{ body: { data: houses } }, { body: { data: units } }, isAdmin] = await Promise.all([
    desk.call<{ data: EstablishmentRecord[] }>({ method: 'GET', url: '/api/v1/strutture' }),
    desk.call<{ data: Unit[] }>({ method: 'GET', url: '/api/v1/unita' }),
    isAdministrator(desk)
  ])
  const accounts = await Promise.all(houses.map(({ id }) => readAccount(desk, id)))
  return showDesk(desk, {
    title: texts.title,
    isFaulty: attempt !== undefined,
    content: html`${doneNotice(desk, { collegata: 'connected' }, texts)}${refusalAlarm(desk, attempt?.refusal)}
<section aria-labelledby="strutture"><h2 id="strutture">${houses.length > 1 ? texts.houses : texts.house}</h2>
<ol class="rows">
${houses.map((house, at) => houseRow(desk, house, accounts[at]!))}</ol>${
  isAdmin ? html`<div class="foot">${buttonLink(NEW_HOUSE, texts.addHouse)}</div>` : NOTHING}</section>
<section aria-labelledby="unita"><h2 id="unita">${texts.units}</h2>
${unitList(desk, units, houses)}</section>
<section aria-labelledby="polizia"><h2 id="polizia">${texts.police}</h2>
${accountState(desk, accounts[0]!)}
${actionForm(desk, { action: CHECK, button: texts.check })}</section>
<section aria-labelledby="altro"><h2 id="altro">${texts.more}</h2>
<ul class="rows assign">
${link(LETTERHEAD, texts.letterhead, texts.letterheadText)}${link(ACCOUNT, texts.account, texts.accountText)}${
  link(`${ACCOUNT}#chiavi`, texts.keys, texts.keysText)}${
  isAdmin
    ? html`${link(PEOPLE, texts.people, texts.peopleText)}${link(DATA, texts.data, texts.dataText)}${
      link(WEBHOOKS, texts.webhooks, texts.webhooksText)}${administration(desk)}`
    : NOTHING}${
  link('/docs', texts.docs, texts.docsText)}</ul></section>`
  })
}

/** The police account of an establishment. */
async function readAccount (desk: Desk, id: number): Promise<EstablishmentAccount> {
  const url = `/api/v1/strutture/${id}/polizia`
  return (await desk.call<{ data: EstablishmentAccount }>({ method: 'GET', url })).body.data
}

function houseRow ({ language }: Desk, house: EstablishmentRecord, { configurato }: EstablishmentAccount): Html {
  const texts = settingsTexts[language]
  const { id, nome, tipo, indirizzo } = house
  return html`<li><span class="unit">${tipo === null ? NOTHING : establishmentTexts[language][tipo]}</span>
<a class="who" href="${SETTINGS}/strutture/${id}">${nome ?? texts.noName}<small>${
  indirizzo ?? texts.noAddress}</small></a>
<span class="chips">${configurato ? chip(texts.hasAccount, 'ok') : chip(texts.noAccount, 'need')}</span>
${buttonLink(`${SETTINGS}/strutture/${id}`, texts.open, { about: nome ?? texts.house })}</li>
`
}

function unitList (desk: Desk, units: readonly Unit[], houses: readonly EstablishmentRecord[]): Html {
  const texts = settingsTexts[desk.language]
  const add = buttonLink(`${UNITS}/nuova`, texts.addUnit, { isMain: true })
  if (units.length === 0) return emptyState(texts.noUnits, add)
  const names = new Map(houses.map(({ id, nome }) => [id, nome]))
  const rows = units.map((unit, at) => unitRow(desk, unit, {
    isFirst: at === 0, house: houses.length > 1 ? names.get(unit.struttura_id) ?? undefined : undefined
  }))
  return html`<ol class="rows">
${rows}</ol>
<div class="foot">${add}</div>
`
}

function unitRow (desk: Desk, unit: Unit, { isFirst, house }: { isFirst: boolean, house?: string | undefined }): Html {
  const texts = settingsTexts[desk.language]
  const { id, nome, tipo, ospiti_massimi: guests, gruppo } = unit
  const labels = [gruppo, house].filter((each) => typeof each === 'string')
  return html`<li><span class="unit">${unitTexts[desk.language][tipo]}</span>
<a class="who" href="${UNITS}/${id}">${nome}<small>${guestCount(desk, guests)}</small></a>
<span class="chips">${labels.map((each) => chip(each))}</span>
${isFirst
  ? NOTHING
  : actionForm(desk, { action: `${UNITS}/${id}/su`, button: texts.moveUp, about: nome })}</li>
`
}

function link (href: string, name: string, text: string): Html {
  return html`<li><a class="who" href="${href}">${name}<small>${text}</small></a></li>\n`
}

/** A button instead of a link, because the administrators' pages need a cookie of their own. */
function administration ({ language }: Desk): Html {
  const texts = settingsTexts[language]
  return html`<li><span class="who">${texts.administration}<small>${texts.administrationText}</small></span>
<form class="action" method="post" action="${ACCOUNT}/amministrazione"><button>${texts.open}<span class="sr"> ${
  texts.administration}</span></button></form></li>
`
}
