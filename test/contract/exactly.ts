import type { LightMyRequestResponse } from 'fastify'
import type { Test } from 'tap'

/* Machine clients have strict schemas, so a response must have exactly the promised fields. */

/** An expected value: a regular expression for text, a predicate, or the value itself. */
export type Wanted = RegExp | ((value: unknown) => boolean) | string | number | boolean | null | Wanted[] | WantedFields
interface WantedFields { [name: string]: Wanted }

export const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export const anInteger = (value: unknown) => Number.isSafeInteger(value)
export const anyText = (value: unknown) => typeof value === 'string'

/** The common fields of every error, and its additional fields. */
export function anError (status: number, error: Wanted, more: WantedFields = {}): WantedFields {
  return { error, status, codice: /^[A-Z_]+$/, requestId: UUID, ...more }
}

/** Asserts exactly this status and this body. @returns the body */
export function exactly<Body> (t: Test, response: LightMyRequestResponse, status: number, wanted: Wanted): Body {
  t.equal(response.statusCode, status, response.body.slice(0, 500))
  t.match(response.headers['content-type'], /^application\/json/)
  const body = response.json<Body>()
  t.same(differences(body, wanted), [])
  return body
}

/** The paths at which a value differs from the expected one. */
export function differences (value: unknown, wanted: Wanted, path = ''): string[] {
  const differs = [`${path}: ${JSON.stringify(value)}`]
  if (wanted instanceof RegExp) return typeof value === 'string' && wanted.test(value) ? [] : differs
  if (typeof wanted === 'function') return wanted(value) ? [] : differs
  if (typeof wanted !== 'object' || wanted === null) return value === wanted ? [] : differs
  if (typeof value !== 'object' || value === null || Array.isArray(value) !== Array.isArray(wanted)) return differs
  const given = value as Readonly<Record<string, unknown>>
  const fields = wanted as WantedFields
  return [...new Set([...Object.keys(given), ...Object.keys(fields)])].flatMap((name) => {
    const inner = `${path}.${name}`
    if (!(name in fields)) return [`${inner} is too much`]
    return name in given ? differences(given[name], fields[name]!, inner) : [`${inner} is missing`]
  })
}
