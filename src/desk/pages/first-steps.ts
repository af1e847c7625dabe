import type { FeatureFlag } from '#schemas/setting.ts'
import type { Booking } from '#schemas/booking.ts'
import type { EstablishmentRecord } from '#schemas/establishment-record.ts'
import type { EstablishmentAccount } from '#schemas/police-account.ts'
import { UNIT_KINDS, type Unit } from '#schemas/unit.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { Day } from '#src/lib/time.ts'
import { actionForm, formFor, ON_TODAY } from './desk-form.ts'
import { buttonLink, chip, doneNotice, NOTHING } from './desk-layout.ts'
import { isAdministrator, type Desk } from './desk-page.ts'
import type { Attempt, DeskField, FieldShape } from './field-types.ts'
import { valuesOf } from './form-values.ts'
import { counted } from './missing-words.ts'
import { accountState, SETTINGS } from './screens/account-state.ts'
import { accountForm, houseFields } from './screens/establishment-screen.ts'
import { establishmentTexts } from './texts/establishment-texts.ts'
import { firstStepTexts } from './texts/first-step-texts.ts'
import { unitTexts } from './texts/unit-texts.ts'

/** The path of the forms of the first steps. */
export const START = '/oggi/inizio'
/** The feature flag that is off when an administrator has dismissed the first steps. */
export const DISMISSED = 'primi_passi'
export const STEPS = ['struttura', 'unita', 'polizia', 'prenotazione'] as const
export type Step = typeof STEPS[number]

/** The fields that create several units at once. */
export const SEVERAL_UNITS: readonly FieldShape[] = [
  { name: 'quante', as: 'integer', isRequired: true },
  { name: 'tipo', type: 'select', isRequired: true },
  { name: 'ospiti_massimi', as: 'integer', isRequired: true }
]

interface FirstSteps {
  isDone: Readonly<Record<Step, boolean>>
  house: EstablishmentRecord
  etag: string | undefined
  account: EstablishmentAccount
  units: readonly Unit[]
}

/** Reads the state of the steps. Undefined when all steps are done or dismissed, and for operators. */
async function findFirstSteps (desk: Desk): Promise<FirstSteps | undefined> {
  if (!await isAdministrator(desk)) return undefined
  const { body: flags } = await desk.call<FeatureFlag[]>({ method: 'GET', url: '/api/settings/features' })
  if (flags.some(({ key, enabled }) => key === DISMISSED && !enabled)) return undefined
  const [{ body: { data: house }, etag }, { body: { data: account } }, { body: { data: units } }, bookings] =
    await Promise.all([
      desk.call<{ data: EstablishmentRecord }>({ method: 'GET', url: '/api/v1/strutture/1' }),
      desk.call<{ data: EstablishmentAccount }>({ method: 'GET', url: '/api/v1/strutture/1/polizia' }),
      desk.call<{ data: Unit[] }>({ method: 'GET', url: '/api/v1/unita' }),
      desk.call<{ data: Booking[] }>({ method: 'GET', url: '/api/v1/prenotazioni?limit=1&conteggio=false' })
    ])
  const isDone = {
    struttura: house.nome !== null,
    unita: units.length > 0,
    polizia: account.ultima_prova?.riuscita === true,
    prenotazione: bookings.body.data.length > 0
  }
  return STEPS.every((step) => isDone[step]) ? undefined : { isDone, house, etag, account, units }
}

interface Shown {
  today: Day
  /** The step that a person has chosen. By default the first one that is not done. */
  step?: Step | undefined
  /** The refused form of the units. */
  units?: Attempt
}

/** The first steps of an installation, with the next one open. Undefined for a person who does not need them. */
export async function firstSteps (desk: Desk, shown: Shown): Promise<Html | undefined> {
  const found = await findFirstSteps(desk)
  if (found === undefined) return undefined
  const texts = firstStepTexts[desk.language]
  const open = shown.step ?? STEPS.find((step) => !found.isDone[step])
  const contents: Readonly<Record<Step, Html>> = {
    struttura: houseForm(desk, found),
    unita: unitsForm(desk, found, shown.units),
    polizia: await policeForms(desk, found),
    prenotazione: html`<p>${texts.prenotazioneText}</p>${
      buttonLink(`/prenotazioni/nuova?giorno=${shown.today}`, desk.texts.newBooking, { isMain: true })}`
  }
  return html`${doneNotice(desk, { collegata: 'connected' }, establishmentTexts[desk.language])}<section
  aria-labelledby="inizio"><h2 id="inizio">${texts.title}</h2>
<p>${texts.intro}</p>
${STEPS.map((step, at) => html`<details class="guest step" name="passi" id="passo-${step}"${
  step === open ? html` open` : NOTHING}><summary><b>${at + 1}</b><h3>${texts[step]}</h3>${
  found.isDone[step] ? chip(texts.done, 'ok') : NOTHING}</summary>
${contents[step]}${skipLink(desk, found, at)}</details>
`)}${actionForm(desk, { action: `${START}/chiudi`, button: texts.dismiss })}</section>
`
}

/** The link that opens the next step. */
function skipLink ({ language }: Desk, { isDone }: FirstSteps, at: number): Html {
  const next = STEPS[at + 1]
  return next === undefined || isDone[STEPS[at]!]
    ? NOTHING
    : html`<p>${buttonLink(`/oggi?passo=${next}#passo-${next}`, firstStepTexts[language].skip)}</p>`
}

function houseForm (desk: Desk, { house, etag }: FirstSteps): Html {
  const texts = firstStepTexts[desk.language]
  const fields = houseFields(desk).filter(({ name }) => name !== 'codice_regionale')
  return html`<p>${texts.strutturaText}</p>
${formFor(desk, {
  action: `${SETTINGS}/strutture/1`,
  button: texts.save,
  fields,
  attempt: { values: valuesOf(fields, house), etag },
  hidden: ON_TODAY
})}`
}

function unitsForm (desk: Desk, { units }: FirstSteps, attempt?: Attempt): Html {
  const texts = firstStepTexts[desk.language]
  const kinds = unitTexts[desk.language]
  const parts: Readonly<Record<string, Omit<DeskField, 'name'>>> = {
    quante: { label: texts.howMany },
    tipo: { label: kinds.tipo, options: UNIT_KINDS.map((value) => ({ value, label: kinds[value] })) },
    ospiti_massimi: { label: kinds.ospiti_massimi, hint: texts.eachUnit }
  }
  return html`<p>${texts.unitaText}</p>
${units.length === 0
  ? NOTHING
  : html`<p>${counted(units.length, texts.unitsOne, texts.unitsMany)} ${
    buttonLink(`${SETTINGS}#unita`, texts.change)}</p>`}
${formFor(desk, {
  action: `${START}/unita`,
  button: texts.add,
  fields: SEVERAL_UNITS.map((field) => ({ ...field, ...parts[field.name]! })),
  attempt: attempt ?? { values: { quante: '1', tipo: 'camera', ospiti_massimi: '2' } },
  prefix: 'unita-'
})}`
}

async function policeForms (desk: Desk, { account }: FirstSteps): Promise<Html> {
  const texts = firstStepTexts[desk.language]
  return html`<p>${account.origine === 'sandbox' ? texts.sandboxText : texts.poliziaText}</p>
${accountState(desk, account)}
${await accountForm(desk, 1, account, { hidden: ON_TODAY })}
${account.configurato
  ? actionForm(desk, {
    action: `${SETTINGS}/strutture/1/prova`, button: texts.check, hidden: ON_TODAY, isMain: true
  })
  : NOTHING}`
}
