import Bowser from 'bowser'
import type { ApiKey } from '#schemas/api-key.ts'
import type { Passkey } from '#schemas/auth/passkey.ts'
import type { Session } from '#schemas/session.ts'
import { html, type Html } from '#src/lib/html.ts'
import { realFactors } from '../factors/factor-store.ts'
import { languageOfPerson } from '../languages.ts'
import type { IdentityRow, FactorRow, User } from '../people/find-users.ts'
import { ADD_DEVICE, ADD_PASSKEY, deviceForm } from './device-forms.ts'
import { field, form, languageChoice, link, NOTHING, titleOf } from './page-elements.ts'
import { fill, SCOPE_TEXTS, type Language, type Texts } from './page-texts.ts'
import { ACCOUNT, LINK, NEW_KEY } from './page-visitor.ts'

/** The texts, the date format, and whether the page can use devices. */
export interface Wording { texts: Texts, day: (instant: string | Date) => string, hasDevices: boolean }

export function wordingOf (texts: Texts, language: Language, hasDevices: boolean): Wording {
  const tag = language === 'en' ? 'en-GB' : language
  const format = new Intl.DateTimeFormat(tag, { timeZone: 'Europe/Rome', dateStyle: 'long' })
  return { texts, hasDevices, day: (instant) => format.format(new Date(instant)) }
}

export function section (title: string, content: Html, id?: string): Html {
  return html`<section>
<h2${id === undefined ? NOTHING : html` id="${id}"`}>${title}</h2>
${content}</section>
`
}

function list (items: readonly Html[], none: string): Html {
  return items.length === 0 ? html`<p>${none}</p>\n` : html`<ul class="items">\n${items}</ul>\n`
}

function item (name: string, facts: readonly string[], action: Html = NOTHING): Html {
  return html`<li><strong>${name}</strong>${facts.map((fact) => html`<br>${fact}`)}
${action}</li>
`
}

/** Asks for a second click, without scripts, before a destructive or rare action. */
function confirmed (label: string, about: string, action: Html): Html {
  return html`<details><summary>${label}<span class="hidden"> ${about}</span></summary>
${action}</details>
`
}

/** A factor or passkey of the person, with forms to rename and to remove it. */
function ownItem (at: string, id: string, name: string, created_at: string | Date, { texts, day }: Wording): Html {
  const content = field({ name: 'name', id: `name-${id}`, label: texts.nameLabel, autocomplete: 'off', value: name })
  const action = `${at}/rinomina`
  const rename = form({ action, button: texts.rename, content, values: { id }, about: name, isQuiet: true })
  const remove = form({ action: `${at}/rimuovi`, button: texts.removeSure, values: { id }, about: name })
  const actions = html`${confirmed(texts.rename, name, rename)}${confirmed(texts.remove, name, remove)}`
  return item(name, [fill(texts.added, day(created_at))], actions)
}

export function sessionList (all: readonly Session[], { texts, day }: Wording): Html {
  const items = all.map(({ id, created_at, user_agent, ip, current }) => {
    const name = user_agent ? deviceName(user_agent) : texts.unknownDevice
    const facts = [[ip, fill(texts.since, day(created_at))].filter((each) => each !== null).join(', ')]
    return current
      ? item(name, [...facts, `(${texts.thisSession})`])
      : item(name, facts, form({
        action: `${ACCOUNT}/sessioni/chiudi`, button: texts.endSession, values: { id }, isQuiet: true, about: name
      }))
  })
  const others = form({ action: `${ACCOUNT}/sessioni/altre`, button: texts.endOthers, isQuiet: true })
  return section(texts.sessions, html`${list(items, '')}${all.length > 1 ? others : NOTHING}`)
}

export function mailLanguage (user: Pick<User, 'user_metadata'>, { texts }: Wording): Html {
  const content = languageChoice({ name: 'lingua', label: texts.mailLanguage, value: languageOfPerson(user) })
  return form({ action: `${ACCOUNT}/lingua`, button: texts.saveLanguage, content, isQuiet: true })
}

/** @param codesLeft undefined without recovery codes */
export function factorList (all: readonly FactorRow[], codesLeft: number | undefined, wording: Wording): Html {
  const { texts, hasDevices } = wording
  const real = realFactors(all)
  const items = real.map(({ id, friendly_name, factor_type, created_at }) => {
    const kind = factor_type === 'totp' ? texts.app : texts.device
    return ownItem(`${ACCOUNT}/fattori`, id, friendly_name ?? kind, created_at, wording)
  })
  const action = `${ACCOUNT}/codici`
  const codes = codesLeft === undefined
    ? html`<p>${texts.noCodes}</p>
${form({ action, button: texts.newCodes, isQuiet: true })}`
    : html`<p>${fill(texts.codesLeft, codesLeft)}</p>
${confirmed(texts.newCodes, '', form({ action, button: texts.newCodesSure }))}`
  const addApp = form({ action: `${ACCOUNT}/fattori/nuovo`, button: texts.addApp })
  const addDevice = deviceForm({ action: ADD_DEVICE, button: texts.addDevice, values: { id: '' } }, texts)
  return section(texts.factors, html`${list(items, texts.noFactors)}${addApp}${hasDevices ? addDevice : NOTHING}${
    real.length > 0 ? codes : NOTHING}`)
}

export function passkeyList (all: readonly Passkey[], wording: Wording): Html {
  const { texts } = wording
  const items = all.map(({ id, friendly_name: name = texts.passkey, created_at }) => (
    ownItem(ADD_PASSKEY, id, name, created_at, wording)
  ))
  const add = deviceForm({ action: ADD_PASSKEY, button: texts.addPasskey }, texts)
  return section(texts.passkeys, html`${list(items, texts.noPasskeys)}${add}`)
}

/** @param known the providers in the settings of this server */
export function identityList (
  all: readonly IdentityRow[], known: readonly { name: string }[], { texts }: Wording
): Html {
  const others = known.filter(({ name }) => all.every(({ provider }) => provider !== name))
  const items = all.map(({ id, provider, identity_data: { email } }) => {
    const name = provider === 'email' ? texts.ownAddress : provider
    const unlink = form({
      action: `${ACCOUNT}/collegamenti/scollega`, button: texts.unlink, values: { id }, about: name
    })
    const canUnlink = provider !== 'email' && all.length > 1
    const action = canUnlink ? confirmed(texts.unlink, name, unlink) : NOTHING
    return item(name, typeof email === 'string' ? [email] : [], action)
  })
  return section(texts.providers, html`${list(items, '')}${others.map(({ name }) =>
    link(`${LINK}/con/${encodeURIComponent(name)}`, fill(texts.linkWith, titleOf(name))))}`)
}

export function keyList (all: readonly ApiKey[], { texts, day }: Wording): Html {
  const now = new Date().toISOString()
  const active = all.filter(({ revoked_at, expires_at }) => revoked_at === null && expires_at > now)
  const items = active.map(({ id, name, scopes, expires_at, last_used_at }) => {
    const title = name || texts.unnamedKey
    const revoke = form({ action: `${ACCOUNT}/chiavi/revoca`, button: texts.revoke, values: { id }, about: title })
    return item(title, [
      scopes.map((scope) => texts[SCOPE_TEXTS[scope]]).join(', '),
      fill(texts.expires, day(expires_at)),
      ...(last_used_at === null ? [] : [fill(texts.lastUsed, day(last_used_at))])
    ], confirmed(texts.revoke, title, revoke))
  })
  return section(texts.keys, html`${list(items, texts.noKeys)}${link(NEW_KEY, texts.newKey)}`, 'chiavi')
}

/** Maximum characters that are shown of an unknown user agent. */
const SHOWN = 60

/** Browser and system of a non-empty `User-Agent`, with their usual names: `Firefox, Windows`. */
function deviceName (userAgent: string): string {
  const { browser, os } = Bowser.parse(userAgent)
  if (browser.name === undefined || os.name === undefined) {
    return userAgent.length > SHOWN ? `${userAgent.slice(0, SHOWN)}…` : userAgent
  }
  return `${browser.name}, ${os.name}`
}
