import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ErrorBody, FieldError } from '#schemas/common.ts'
import { html, type Html } from '#src/lib/html.ts'
import type { RouteCall } from '#src/identity/index.ts'
import { fieldId, fieldsHtml, inWords, PUT } from './desk-fields.ts'
import { NOTHING, refusalAlarm } from './desk-layout.ts'
import { csrfToken, openDesk, Refusal, type Answer, type Desk } from './desk-page.ts'
import type { Attempt, DeskField, FieldShape, Values } from './field-types.ts'
import { readPayload, textOf, valuesOf, type Payload } from './form-values.ts'

/** Retry interval and maximum wait while the first submit of a form is in progress. */
const REPEAT_MS = 250
const MAX_WAIT_MS = 10_000

/** Names of the hidden fields: the CSRF token, the `Idempotency-Key`, and the `ETag` of the shown version. */
const TOKEN = 'modulo'
const KEY = 'chiave'
const VERSION = 'versione'
/** Name of the hidden field that leads back to Oggi. */
const NEXT = 'poi'

/** Hidden field of a form on Oggi that posts to another page's route. */
export const ON_TODAY = { [NEXT]: 'oggi' }

interface FormParts {
  action: string
  button: string
  fields: readonly DeskField[]
  /** The values, and after a refusal the errors. */
  attempt: Attempt
  /** Further hidden values. */
  hidden?: Readonly<Record<string, string>>
  /** The page with the stored values, for a person who discards changes after a conflict. `action` by default. */
  back?: string
  /** Prefix of the ids, when a page has several forms with the same fields. */
  prefix?: string
  /** Arranges the fields, which are one grid by default. */
  arrange?: (fields: readonly Html[]) => Html
  /** Secondary button style, because another action is the best next step. */
  isQuiet?: boolean
}

/**
 * A form that works without scripts. Scripts submit it without a page load. Invalid fields show their errors, with a
 * button for the proposed value. After a conflict it shows both versions.
 */
export function formFor (desk: Desk, parts: FormParts): Html {
  const { action, button, fields, attempt, prefix = '', isQuiet = false } = parts
  const hidden = { ...attempt.values[NEXT] === ON_TODAY[NEXT] && ON_TODAY, ...parts.hidden }
  const { arrange = (all) => html`<div class="fields">\n${all}</div>` } = parts
  const hasProposal = [...attempt.errors?.values() ?? []].some(({ proposta }) => proposta !== undefined)
  // Enter in a field presses the first button of a form, which must not be one that changes a value.
  const first = hasProposal ? html`<button class="sr" tabindex="-1" aria-hidden="true">${button}</button>` : NOTHING
  return html`<form class="form" hx-boost="true" method="post" action="${action}">
${first}${formSecrets(desk, attempt.etag)}${hiddenFields(hidden)}${formSummary(desk, parts)}
${arrange(fieldsHtml(fields, attempt, desk, prefix))}
<div class="actions"><button${isQuiet ? NOTHING : html` class="primary"`}>${button}</button></div>
</form>
`
}

interface ActionParts {
  action: string
  button: string
  hidden?: Readonly<Record<string, string>>
  /** The `ETag` of the version that the action changes. */
  etag?: string | undefined
  /** Text for screen readers, when several buttons have the same text. */
  about?: string
  isMain?: boolean
}

/** A single button that changes something. */
export function actionForm (desk: Desk, { action, button, hidden = {}, etag, about, isMain }: ActionParts): Html {
  return html`<form class="action" hx-boost="true" method="post" action="${action}">
${formSecrets(desk, etag)}${hiddenFields(hidden)}<button${
  isMain === true ? html` class="primary"` : NOTHING}>${button}${
  about === undefined ? NOTHING : html`<span class="sr"> ${about}</span>`}</button>
</form>
`
}

/** The hidden fields of every form: the CSRF token, the key against double submits, and the version. */
export function formSecrets (desk: Desk, etag?: string): Html[] {
  return hiddenFields({
    [TOKEN]: csrfToken(desk), [KEY]: randomUUID(), ...etag === undefined ? {} : { [VERSION]: etag }
  })
}

function hiddenFields (values: Readonly<Record<string, string>>): Html[] {
  return Object.entries(values).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)
}

/** After a conflict both versions, else the links to the invalid fields or the message. */
export function formSummary (desk: Desk, parts: FormParts): Html {
  const { fields, attempt, prefix = '' } = parts
  const { refusal, errors, conflict } = attempt
  if (conflict) return bothVersions(desk, parts, conflict)
  if (refusal === undefined) return NOTHING
  if (errors === undefined || errors.size === 0) return refusalAlarm(desk, refusal)
  const items = [...errors].map(([name, { messaggio }]) => {
    const field = fields.find((each) => each.name === name)
    return field === undefined
      ? html`<li>${name} ${inWords(desk, messaggio, fields)}</li>`
      : html`<li><a href="#${fieldId(field, prefix)}">${field.label}</a> ${
        field.message ?? inWords(desk, messaggio, fields)}</li>`
  })
  return html`<div class="alarm" role="alert"><p>${desk.texts.checkFields}</p><ul>${items}</ul></div>\n`
}

function bothVersions (desk: Desk, { action, back = action, fields, attempt }: FormParts, stored: Values): Html {
  const { texts } = desk
  const { values } = attempt
  const changed = fields.filter(({ name }) => (values[name] ?? '') !== (stored[name] ?? ''))
  const rows = changed.map((field) => html`<tr><th scope="row">${field.label}</th><td>${
    textOf(field, stored[field.name], desk)}</td><td>${textOf(field, values[field.name], desk)}</td></tr>\n`)
  return html`<div class="alarm" role="alert"><p><strong>${texts.changedMeanwhile}.</strong> ${texts.changedText}</p>
<table class="versions"><thead><tr><th scope="col">${texts.field}</th><th scope="col">${
  texts.storedValue}</th><th scope="col">${texts.yourValue}</th></tr></thead>
<tbody>${rows}</tbody></table><p><a href="${back}">${texts.discard}</a></p></div>
`
}

interface Submission<T> {
  fields: readonly FieldShape[]
  /** The route that stores the fields. `payload` has them as JSON, by the types of `fields`. */
  call: (payload: Payload, values: Values) => Omit<RouteCall, 'token'>
  /** The page after the form: a path, or made from the response. Add `?esito=salvato` for a notice. */
  redirectTo: string | ((answer: Answer<T>, desk: Desk) => string)
  /** Shows the page of the form again, with the typed values and the errors. */
  showAgain: (desk: Desk, attempt: Attempt) => FastifyReply | Promise<FastifyReply>
}

/**
 * The handler of a form: calls the route for the person, then redirects. After a refusal it shows the form again. The
 * hidden key stops a double submit. With the hidden version, a change to outdated data returns 412.
 */
export async function submitForm<T = unknown> (
  request: FastifyRequest, reply: FastifyReply, submission: Submission<T>
): Promise<FastifyReply> {
  const desk = await openDesk(request, reply)
  const { fields, redirectTo, showAgain } = submission
  const values = corrected(request.body as Values)
  const call = submission.call(readPayload(fields, values), values)
  try {
    const answer = await afterFirst(() =>
      desk.call<T>({ ...call, headers: { ...headersOf(values), ...call.headers } }))
    const page = typeof redirectTo === 'string' ? redirectTo : redirectTo(answer, desk)
    return await reply.redirect(nextPage(values, page), 303)
  } catch (err) {
    if (!(err instanceof Refusal) || err.body.status === 404) throw err
    const { body } = err
    const attempt = attemptAfter(err, request, reply)
    if (body.status !== 412) return await showAgain(desk, { ...attempt, values })
    const { body: stored, etag } = await desk.call<object>({ method: 'GET', url: call.url })
    return await showAgain(desk, { values, etag, refusal: body, conflict: valuesOf(fields, stored) })
  }
}

/** Repeats a call while the first submit of a form is in progress (double click). Returns the first response. */
async function afterFirst<T> (call: () => Promise<T>): Promise<T> {
  for (let waited = 0; ; waited += REPEAT_MS) {
    try {
      return await call()
    } catch (err) {
      const isUnderWay = err instanceof Refusal && err.body.codice === 'IDEMPOTENCY_KEY_IN_CORSO'
      if (!isUnderWay || waited >= MAX_WAIT_MS) throw err
      await sleep(REPEAT_MS)
    }
  }
}

/** The page after a form, or Oggi if the hidden field names it. Both show the same notice. */
function nextPage ({ [NEXT]: next }: Values, page: string): string {
  return next === ON_TODAY[NEXT] ? `/oggi${new URL(page, 'http://localhost').search}` : page
}

/** The refused form, for a handler that calls routes itself. Sets the status. @throws any other error */
export function attemptAfter (err: unknown, request: FastifyRequest, reply: FastifyReply): Attempt {
  if (!(err instanceof Refusal)) throw err
  const { body } = err
  request.errorCode = body.codice
  reply.code(body.status)
  return refusedAttempt(request.body as Values, body)
}

/** @returns the form's values, with the proposed value if its button was pressed */
function corrected (values: Values): Values {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(values[PUT] ?? '') ?? []
  return name === undefined ? values : { ...values, [name]: value }
}

/** The headers for the route from the hidden fields. */
export function headersOf ({ [KEY]: key, [VERSION]: version }: Values): Record<string, string> {
  return { ...key !== undefined && { 'idempotency-key': key }, ...version !== undefined && { 'if-match': version } }
}

/** The typed values with the errors of a refusal. */
export function refusedAttempt (values: Values, refusal: ErrorBody): Attempt {
  const { [VERSION]: etag } = values
  // In a refusal by the police service, `dettagli` is an object.
  const details = Array.isArray(refusal.dettagli) ? refusal.dettagli : []
  const errors = new Map<string, FieldError>(details
    .filter(({ campo }) => campo !== '')
    .map((each) => [each.campo, each]))
  return { values, refusal, errors, etag }
}
