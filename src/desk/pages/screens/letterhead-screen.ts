import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply } from 'fastify'
import { OneOf } from '#schemas/common.ts'
import { LOGO_BODY_MAX, LOGO_BYTES_MAX, type Establishment } from '#schemas/establishment.ts'
import type { Language } from '#src/identity/index.ts'
import { html, type Html } from '#src/lib/html.ts'
import { deskFile, sendFile } from '../desk-files.ts'
import { fieldTable } from '../desk-fields.ts'
import { actionForm, formFor, formSecrets, submitForm } from '../desk-form.ts'
import { buttonLink, NOTHING, refusalAlarm, showDesk } from '../desk-layout.ts'
import { languageName } from '../desk-options.ts'
import { deskPage, deskPost, fill, isAdministrator, openDesk, type Desk } from '../desk-page.ts'
import { acceptUploads, uploadedFile } from '../desk-upload.ts'
import type { Attempt, DeskField, FieldShape } from '../field-types.ts'
import { valuesOf } from '../form-values.ts'
import { letterheadTexts } from '../texts/letterhead-texts.ts'
import { SETTINGS } from './account-state.ts'

export const LETTERHEAD = `${SETTINGS}/lettere`
const LOGO = `${LETTERHEAD}/logo`
const API = '/api/v1/struttura'
const LANGUAGES = ['it', 'en', 'de', 'fr'] as const

/** The refused form of the page. */
interface Refused { texts?: Attempt, logo?: Attempt }

/** The texts and the logo of the letters, with a preview in each language. Administrators change them. */
const letterheadScreen: FastifyPluginAsyncTypebox = async (app) => {
  await acceptUploads(app, LOGO_BYTES_MAX)

  app.get(LETTERHEAD, deskPage('getPaginaTestiLettere', 'I testi e il logo delle lettere'), async (request, reply) =>
    await show(await openDesk(request, reply)))

  app.post(LETTERHEAD, deskPost('postPaginaTestiLettere', 'Salva i testi delle lettere'), async (request, reply) =>
    await submitForm(request, reply, {
      fields: ALL,
      call: (payload) => ({ method: 'PUT', url: API, payload: withoutBlankTexts(payload) }),
      redirectTo: `${LETTERHEAD}?esito=salvato`,
      showAgain: async (desk, texts) => await show(desk, { texts })
    }))

  app.get(`${LETTERHEAD}/anteprima`, deskFile('getPaginaAnteprimaLettera', 'L’anteprima di una lettera', {
    type: 'application/pdf', querystring: Type.Object({ lingua: Type.Optional(OneOf(LANGUAGES)) })
  }), async (request, reply) => await sendFile(await openDesk(request, reply), {
    method: 'GET', url: `${API}/anteprima?lingua=${request.query.lingua ?? 'it'}`
  }, { isShown: true }))

  app.get(LOGO, deskFile('getPaginaLogo', 'Il logo delle lettere', { type: 'image/*' }), async (request, reply) =>
    await sendFile(await openDesk(request, reply), { method: 'GET', url: `${API}/logo` }, { isShown: true }))

  app.post(LOGO, { bodyLimit: LOGO_BODY_MAX, ...deskPost('postPaginaLogo', 'Salva il logo delle lettere') },
    async (request, reply) => await submitForm(request, reply, {
      fields: [],
      call: () => ({
        method: 'PUT', url: `${API}/logo`, payload: { base64Image: uploadedFile(request)?.toString('base64') ?? '' }
      }),
      redirectTo: `${LETTERHEAD}?esito=salvato#logo`,
      showAgain: async (desk, logo) => await show(desk, { logo })
    }))

  app.post(`${LOGO}/elimina`, deskPost('postPaginaEliminaLogo', 'Elimina il logo delle lettere'),
    async (request, reply) => await submitForm(request, reply, {
      fields: [],
      call: () => ({ method: 'DELETE', url: `${API}/logo` }),
      redirectTo: `${LETTERHEAD}?esito=eliminato#logo`,
      showAgain: async (desk, logo) => await show(desk, { logo })
    }))
}
export default letterheadScreen

/** Removes blank fields, because a language without its own text uses the general one. */
function withoutBlankTexts (payload: Record<string, unknown>): object {
  const texts = payload.testi as Record<string, Record<string, string>> | undefined
  if (texts === undefined) return payload
  const filled = Object.entries(texts).map(([language, own]) =>
    [language, Object.fromEntries(Object.entries(own).filter(([, text]) => text.trim() !== ''))] as const)
  const some = filled.filter(([, own]) => Object.keys(own).length > 0)
  return { ...payload, testi: some.length === 0 ? null : Object.fromEntries(some) }
}

async function show (desk: Desk, { texts: refused, logo }: Refused = {}): Promise<FastifyReply> {
  const texts = letterheadTexts[desk.language]
  const [{ body, etag }, isAdmin] = await Promise.all([
    desk.call<{ data: Establishment }>({ method: 'GET', url: API }), isAdministrator(desk)
  ])
  const attempt = refused ?? { values: valuesOf(ALL, body), etag }
  const main = labelled(desk)
  const byLanguage = LANGUAGES.map((each) => ofLanguage(desk, each))
  const form = () => formFor(desk, {
    action: LETTERHEAD,
    button: texts.save,
    fields: [...main, ...byLanguage.flat()],
    attempt,
    arrange: (shown) => html`<div class="fields">
${shown.slice(0, main.length)}</div>
<h2>${texts.byLanguage}</h2><p class="hint">${texts.byLanguageHint}</p>
${LANGUAGES.map((each, at) => {
      const start = main.length + at * OWN.length
      const isFaulty = byLanguage[at]!.some(({ name }) => attempt.errors?.has(name))
      return html`<details${isFaulty ? html` open` : NOTHING}><summary>${languageName(desk, each)}</summary>
<div class="fields">${shown.slice(start, start + OWN.length)}</div></details>
`
    })}`
  })
  return showDesk(desk, {
    title: texts.title,
    isFaulty: refused !== undefined || logo !== undefined,
    actions: buttonLink(SETTINGS, texts.back),
    content: html`${previews(desk)}${isAdmin
      ? form()
      : html`<p class="hint">${texts.administrator}</p>\n${fieldTable(main, attempt.values, desk)}`}
<section aria-labelledby="logo"><h2 id="logo">${texts.logo}</h2>
${logoPart(desk, body.data.logo !== null, { isAdmin, refused: logo })}</section>`
  })
}

function previews (desk: Desk): Html {
  const texts = letterheadTexts[desk.language]
  return html`<p class="hint">${texts.previewHint}</p>
<p class="actions">${LANGUAGES.map((each) => html`<a class="button" target="_blank" rel="noopener" href="${
  LETTERHEAD}/anteprima?lingua=${each}">${fill(texts.preview, languageName(desk, each))}</a>
`)}</p>
`
}

interface LogoState { isAdmin: boolean, refused: Attempt | undefined }

function logoPart (desk: Desk, hasLogo: boolean, { isAdmin, refused }: LogoState): Html {
  const texts = letterheadTexts[desk.language]
  const shown = hasLogo ? html`<p><img class="preview" src="${LOGO}" alt="${texts.logo}"></p>` : NOTHING
  if (!isAdmin) return html`${shown}<p class="hint">${hasLogo ? texts.administrator : texts.noLogo}</p>`
  const fault = refused?.errors?.get('base64Image')?.messaggio
  return html`${fault === undefined
    ? refusalAlarm(desk, refused?.refusal)
    : html`<p class="alarm" role="alert">${texts.logo}: ${fault}</p>`}${shown}
<form class="form" enctype="multipart/form-data" method="post" action="${LOGO}">
${formSecrets(desk)}<div class="field"><label for="f-file">${texts.logoFile}</label><input id="f-file" name="file"
type="file" accept="image/png,image/jpeg" required aria-describedby="f-file-hint">
<span class="hint" id="f-file-hint">${texts.logoHint}</span></div>
<div class="actions"><button>${texts.saveLogo}</button></div>
</form>
${hasLogo ? html`<p>${actionForm(desk, { action: `${LOGO}/elimina`, button: texts.removeLogo })}</p>` : NOTHING}`
}

function labelled ({ language }: Desk): DeskField[] {
  const texts: Readonly<Record<string, string>> = letterheadTexts[language]
  return FIELDS.map((field) => {
    const hint = texts[`${field.name}Hint`]
    return { ...field, label: texts[field.name]!, ...hint !== undefined && { hint } }
  })
}

function ofLanguage ({ language }: Desk, code: Language): DeskField[] {
  const texts: Readonly<Record<string, string>> = letterheadTexts[language]
  return OWN.map(({ name, ...field }) => ({ ...field, name: `testi.${code}.${name}`, label: texts[name]! }))
}

const OWN: readonly FieldShape[] = [
  { name: 'motto', isWide: true },
  { name: 'colazione', isWide: true },
  { name: 'regole', type: 'textarea', isWide: true }
]

const FIELDS: readonly FieldShape[] = [
  { name: 'nome' },
  { name: 'firma' },
  { name: 'indirizzo', isWide: true },
  { name: 'luogo' },
  { name: 'cin' },
  { name: 'telefono', type: 'tel' },
  { name: 'email', type: 'email' },
  { name: 'ora_check_in', type: 'time' },
  { name: 'ora_check_out', type: 'time' },
  { name: 'wifi_rete' },
  { name: 'wifi_password' },
  { name: 'colore' },
  ...OWN
]

const ALL: readonly FieldShape[] = [
  ...FIELDS, ...LANGUAGES.flatMap((code) => OWN.map((field) => ({ ...field, name: `testi.${code}.${field.name}` })))
]
