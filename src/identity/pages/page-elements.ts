import { readFileSync } from 'node:fs'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { html, type Html } from '#src/lib/html.ts'
import { htmlPage, pagePolicy } from '#src/lib/html-page.ts'
import { LANGUAGES, type Language } from '../languages.ts'
import { languageOf, TEXTS, type Texts } from './page-texts.ts'

export const NOTHING = html``

const NAMES: Readonly<Record<Language, string>> = { it: 'Italiano', en: 'English', de: 'Deutsch', fr: 'Français' }

/** A single-line input. A screen reader announces the error, which is shown below the input. */
export interface Field {
  name: string
  label: string
  /** Set when a page has two fields with the same name. */
  id?: string
  type?: 'text' | 'email' | 'password'
  autocomplete: string
  hint?: string | undefined
  error?: string | undefined
  value?: string | undefined
  isNumeric?: boolean
}

export function field (
  { name, label, id = name, type = 'text', autocomplete, hint, error, value = '', isNumeric = false }: Field
): Html {
  const described = [...(hint === undefined ? [] : [`${id}-hint`]), ...(error === undefined ? [] : [`${id}-error`])]
  const more = [
    described.length > 0 ? html` aria-describedby="${described.join(' ')}"` : NOTHING,
    error === undefined ? NOTHING : html` aria-invalid="true" autofocus`,
    isNumeric ? html` inputmode="numeric"` : NOTHING
  ]
  return html`<div class="field">
<label for="${id}">${label}</label>
<input id="${id}" name="${name}" type="${type}" value="${value}" autocomplete="${autocomplete}" required${more}>
${hint === undefined ? '' : html`<span class="hint" id="${id}-hint">${hint}</span>\n`}${
  error === undefined ? '' : html`<span class="error" id="${id}-error">${error}</span>\n`}</div>
`
}

export function languageChoice ({ name, label, value }: { name: string, label: string, value: Language }): Html {
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}">
${LANGUAGES.map((each) => html`<option value="${each}" lang="${each}"${
  each === value ? html` selected` : ''}>${NAMES[each]}</option>
`)}</select>
</div>
`
}

/** Optional check boxes, each with its own field. An error is shown above them. */
export function checkBoxes (
  legend: string, options: readonly { name: string, label: string, isChosen: boolean }[], error: string | undefined
): Html {
  return html`<fieldset>
<legend>${legend}</legend>
${alarm(error)}${options.map(({ name, label, isChosen }) => html`<label class="check">
<input type="checkbox" name="${name}" value="1"${isChosen ? html` checked` : ''}> ${label}</label>
`)}</fieldset>
`
}

export function hidden (values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)
}

/**
 * A form that works without scripts.
 * @param about text for screen readers, when several buttons have the same label
 */
export function form (
  { action, button, content = NOTHING, values = {}, isQuiet = false, about }:
  {
    action: string
    button: string
    content?: Html | Html[]
    values?: Readonly<Record<string, string>>
    isQuiet?: boolean
    about?: string
  }
): Html {
  const named = about === undefined ? NOTHING : html`<span class="hidden"> ${about}</span>`
  return html`<form method="post" action="${action}">
${hidden(values)}${content}<button${isQuiet ? html` class="quiet"` : ''}>${button}${named}</button>
</form>
`
}

export function notice (text: string | undefined): Html {
  return text === undefined ? NOTHING : html`<p class="notice" role="status">${text}</p>\n`
}

export function alarm (text: string | undefined): Html {
  return text === undefined ? NOTHING : html`<p class="error" role="alert">${text}</p>\n`
}

export function link (address: string, text: string): Html {
  return html`<p><a href="${address}">${text}</a></p>\n`
}

export function titleOf (name: string): string {
  return name === 'github' ? 'GitHub' : name.charAt(0).toUpperCase() + name.slice(1)
}

/** URL of the script of these pages. It prevents double submits, and asks devices for their responses. */
export const SCRIPT = '/auth/moduli.js'

const STYLE = readFileSync(new URL('style.css', import.meta.url), 'utf8')
const POLICY = pagePolicy(STYLE, ["form-action 'self'", "script-src 'self'", "connect-src 'self'"])

export interface Page {
  title: string
  content: Html
  isFaulty?: boolean
  hasForms?: boolean
  /** The status of the response, 200 by default. */
  status?: number
}

export function show (
  request: FastifyRequest,
  reply: FastifyReply,
  make: (texts: Texts, language: Language) => Page,
  language = languageOf(request)
): FastifyReply {
  const texts = TEXTS[language]
  const { title, content, isFaulty = false, hasForms = true, status = reply.statusCode } = make(texts, language)
  const page = htmlPage({
    language,
    title: isFaulty ? `${texts.error}: ${title}` : title,
    style: STYLE,
    script: hasForms ? SCRIPT : undefined,
    content: html`<header>Locanda</header>
<main>
<h1>${title}</h1>
${content}
</main>`
  })
  return reply.code(status)
    .headers({
      'cache-control': 'no-store',
      'content-language': language,
      'content-security-policy': POLICY,
      'cross-origin-opener-policy': 'same-origin',
      vary: 'accept-language',
      'x-frame-options': 'DENY'
    })
    .type('text/html; charset=utf-8')
    .send(page)
}
