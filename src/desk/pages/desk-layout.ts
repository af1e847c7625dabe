import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ErrorBody } from '#schemas/common.ts'
import { html, type Html } from '#src/lib/html.ts'
import { ACCOUNT, fill } from '#src/identity/index.ts'
import { ASSETS, DESK_POLICY } from './desk-assets.ts'
import type { Frame } from './desk-page.ts'
import type { FrameTexts } from './texts/frame-texts.ts'
import { refusalTexts } from './texts/refusal-texts.ts'

export const NOTHING = html``

/** The screens of the navigation bar, in order. The bar leaves out a screen that is not registered. */
export const NAV = [
  ['/oggi', 'today'],
  ['/calendario', 'calendar'],
  ['/prenotazioni', 'bookings'],
  ['/polizia', 'police'],
  ['/scansione', 'scan'],
  ['/lettere', 'letters'],
  ['/report', 'reports'],
  ['/avvisi', 'notices'],
  ['/impostazioni', 'settings']
] as const

const SEARCH = '/ricerca'

/** The notices after a form, by the word in the URL (`?esito=salvato`). */
const NOTICES: Readonly<Record<string, keyof FrameTexts>> = {
  salvato: 'doneSaved', creato: 'doneCreated', eliminato: 'doneDeleted', inviato: 'doneSent'
}

/** One page of the desk. */
interface DeskPage {
  title: string
  /** The content below the title. */
  content: Html
  /** Buttons and links beside the title. */
  actions?: Html
  /** Whether the page uses the whole width, as the calendar does. */
  isWide?: boolean
  /** Puts "Errore" before the title, for screen readers. */
  isFaulty?: boolean
  /** The status of the response, 200 by default. */
  status?: number
  /** Whether the page has no navigation, because its visitor has not signed in. */
  isAlone?: boolean
}

/** Sends a page with the navigation bar, the sandbox warning, and the notice of `?esito=`. */
export function showDesk (frame: Frame, page: DeskPage): FastifyReply {
  const { reply, language, texts } = frame
  const { title, actions = NOTHING, content, isWide = false, isFaulty = false, isAlone = false } = page
  const { status = reply.statusCode } = page
  const body = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="htmx-config" content='{"includeIndicatorCSS":false}'>
<title>${isFaulty ? `${texts.error}: ` : ''}${title} · Locanda</title>
<link rel="stylesheet" href="${ASSETS.css}">
<script src="${ASSETS.htmx}" defer></script>
<script src="${ASSETS.script}" defer></script>
<link rel="icon" href="${ASSETS.icon}" type="image/svg+xml">
</head>
<body>
<a class="skip" href="#main">${texts.skip}</a>
<header>
${modeLine(frame)}${isAlone ? NOTHING : bar(frame)}</header>
<main id="main" tabindex="-1"${isWide ? html` class="wide"` : NOTHING}>
<div class="head"><h1>${title}</h1>${actions}</div>
<p class="alarm" id="offline" role="alert" hidden>${texts.offline}</p>
${doneNotice(frame, NOTICES, texts)}${content}
</main>
</body>
</html>
`.html
  return reply.code(status)
    .headers({
      'cache-control': 'no-store',
      'content-language': language,
      'content-security-policy': DESK_POLICY,
      // The sign-in page leads a person back to the page whose form was submitted after the session ended.
      'referrer-policy': isAlone ? 'no-referrer' : 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      vary: 'accept-language, cookie',
      'x-frame-options': 'DENY'
    })
    .type('text/html; charset=utf-8')
    .send(body)
}

/** The sandbox warning. There is none with `ALLOGGIATI_MODE=production`. */
function modeLine ({ request: { server }, texts }: Frame): Html {
  if (server.identity.config.ALLOGGIATI_MODE === 'production') return NOTHING
  return html`<p class="mode">${texts.sandbox}</p>\n`
}

/** The screens in the navigation bar, in order, without those that are not registered. */
export function barScreens (server: FastifyInstance, texts: FrameTexts): { path: string, name: string }[] {
  return NAV.filter(([path]) => isScreen(server, path)).map(([path, key]) => ({ path, name: texts[key] }))
}

function isScreen (server: FastifyInstance, url: string): boolean {
  return server.hasRoute({ method: 'GET', url })
}

function bar ({ request, texts }: Frame): Html {
  const { server, url } = request
  const [here = ''] = url.split('?', 1)
  const isHere = (path: string) => here === path || here.startsWith(`${path}/`)
  const isSearch = here === SEARCH
  const { q = '' } = request.query as { q?: string }
  const search = html`<form class="search" role="search" method="get" action="${SEARCH}">
<label class="sr" for="q">${texts.search}</label>
<input id="q" name="q" type="search" value="${isSearch ? q : ''}" placeholder="${texts.searchHint}" autocomplete="off"
enterkeyhint="search" hx-get="${SEARCH}" hx-trigger="input changed delay:250ms" hx-select="#trovati"
hx-target="${isSearch ? '#trovati' : '#subito'}" hx-swap="${isSearch ? 'outerHTML' : 'innerHTML'}"
hx-sync="this:replace"><kbd aria-hidden="true">/</kbd>${
  isSearch ? NOTHING : html`<div class="found" id="subito"></div>`}</form>
`
  return html`<div class="bar">
<a class="brand" href="/oggi">Locanda</a>
<nav aria-label="${texts.mainNav}">
${barScreens(server, texts).map(({ path, name }) => html`<a href="${path}"${
  isHere(path) ? html` aria-current="page"` : NOTHING}>${name}</a>
`)}<a href="${ACCOUNT}">${texts.account}</a>
</nav>
${isScreen(server, SEARCH) ? search : NOTHING}</div>
`
}

/** A short message about what the person has just done. A screen reader announces it. */
export function notice (text: string): Html {
  return html`<p class="notice" role="status">${text}</p>\n`
}

/** The notice after a form. `keys` has the key of its text by the word in the URL (`?esito=salvato`). */
export function doneNotice<const K extends string> (
  { request }: Frame, keys: Readonly<Record<string, K>>, texts: Readonly<Record<K, string>>
): Html {
  const { esito = '' } = request.query as { esito?: string }
  return Object.hasOwn(keys, esito) ? notice(texts[keys[esito]!]) : NOTHING
}

/** A message about a problem. A screen reader announces it at once. */
export function alarm (text: string): Html {
  return html`<p class="alarm" role="alert">${text}</p>\n`
}

/** The message of a refusal in the person's language, or in Italian when the desk has no translation. */
export function refusalText ({ language }: Pick<Frame, 'language'>, { codice, error }: Refused): string {
  const translated = Object.hasOwn(refusalTexts, codice) ? refusalTexts[codice] : undefined
  return language === 'it' ? error : translated?.[language] ?? error
}

type Refused = Pick<ErrorBody, 'codice' | 'error'>

/** The message of a refused form without fields. A booking that it names by number is a link. */
export function refusalAlarm (frame: Frame, refusal: ErrorBody | undefined): Html {
  if (refusal === undefined) return NOTHING
  const [before = '', id, after = ''] = refusal.error.split(/prenotazione (\d+)/, 3)
  const words = refusalText(frame, refusal)
  const isTranslated = words !== refusal.error
  const text = id === undefined
    ? html`${words}`
    : isTranslated
      ? html`${words} <a href="/prenotazioni/${id}">${fill(frame.texts.bookingN, id)}</a>`
      : html`${before}<a href="/prenotazioni/${id}">prenotazione ${id}</a>${after}`
  return html`<p class="alarm" role="alert">${text}</p>\n${faultCode(frame, refusal)}`
}

/** A number above a list, with its meaning. It is amber with `isAct`, when a person must act now. */
export function figure (count: number | string, text: string, isAct = false): Html {
  return html`<li${isAct ? html` class="act"` : NOTHING}><b>${count}</b><span>${text}</span></li>\n`
}

/** The state of a row. `ok` is done, `need` must be done now. Without a kind it is neutral. */
export function chip (text: string, kind?: 'ok' | 'need'): Html {
  return html`<i class="chip${kind === undefined ? '' : ` ${kind}`}">${text}</i>`
}

/** A link that looks like a button. A row, or the top of a page, has at most one with `isMain`. */
export function buttonLink (href: string, text: string, { isMain = false, about }: LinkOptions = {}): Html {
  return html`<a class="button${isMain ? ' primary' : ''}" href="${href}">${text}${
    about === undefined ? NOTHING : html`<span class="sr"> ${about}</span>`}</a>`
}

/** The next step at the right edge of a row. `about` tells the links of several rows apart. */
export function nextLink (href: string, text: string, about: string, isMain = false): Html {
  return html`<a class="next${isMain ? ' primary' : ''}" href="${href}">${text}<span class="sr"> ${about}</span></a>`
}

interface LinkOptions {
  isMain?: boolean
  /** Text for screen readers, when several links have the same text. */
  about?: string
}

/** An empty list: says why it is empty, and offers the next step. */
export function emptyState (text: string, next: Html = NOTHING): Html {
  return html`<div class="empty"><p>${text}</p>${next}</div>\n`
}

/** The id of a request that failed with a 5xx, for a person who asks for help. */
export function faultCode (frame: Frame, { status, requestId }: Pick<ErrorBody, 'status' | 'requestId'>): Html {
  return status >= 500 ? requestCode(frame, requestId) : NOTHING
}

/** The id of the request, for a person who asks for help. */
export function requestCode ({ request, texts }: Frame, id = request.id): Html {
  return html`<p class="hint">${fill(texts.requestId, id)}</p>\n`
}
