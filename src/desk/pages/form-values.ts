import { isDay } from '#src/lib/time.ts'
import { dayText, type Frame } from './desk-page.ts'
import type { FieldShape, Values } from './field-types.ts'

/** The JSON that a route of the API expects. */
export type Payload = Record<string, unknown>

/** The text that a checked box sends. */
export const CHECKED = '1'

/**
 * The fields as JSON. A text that is no number is sent unchanged, so that the route names the error. The route itself
 * treats an empty text as absent or null. A name like `ospiti[0].nome` makes lists and objects.
 */
export function readPayload (fields: readonly FieldShape[], values: Values): Payload {
  const payload: Payload = {}
  for (const field of fields) put(payload, stepsOf(field.name), jsonOf(field, values[field.name]))
  return payload
}

/** Reverses `readPayload`: makes texts of a resource, or of the `data` of a response. */
export function valuesOf (fields: readonly FieldShape[], resource: object): Values {
  const { data = resource } = resource as { data?: unknown }
  return Object.fromEntries(fields.map((field) => [field.name, formText(field, read(data, stepsOf(field.name)))]))
}

/** A value as a person reads it: the label of an option, a day, yes or no. */
export function textOf (
  { options = [], type }: FieldShape, value: string | undefined, frame: Pick<Frame, 'language' | 'texts'>
): string {
  const { texts } = frame
  if (type === 'checkbox') return value === CHECKED ? texts.yes : texts.no
  if (value === undefined || value === '') return texts.empty
  if (type === 'date' && isDay(value)) return dayText(frame, value)
  return options.find((option) => option.value === value)?.label ?? value
}

function jsonOf ({ type, as }: FieldShape, text: string | undefined): unknown {
  if (type === 'checkbox') return text === CHECKED
  if (text === undefined) return undefined
  if (as === undefined) return text
  const number = text.trim().replaceAll(/\s/g, '')
  if (number === '') return null
  if (as === 'integer') return /^-?\d{1,15}$/.test(number) ? Number(number) : text
  // Dots certainly group thousands only if a comma follows.
  const amount = /^\d{1,3}(?:\.\d{3})+,/.test(number) ? number.replaceAll('.', '') : number
  const [, euros, cents = ''] = /^(\d{1,12})(?:[.,](\d{1,2}))?$/.exec(amount) ?? []
  return euros === undefined ? text : Number(euros) * 100 + Number(cents.padEnd(2, '0'))
}

function formText ({ type, as }: FieldShape, value: unknown): string | undefined {
  if (type === 'checkbox') return value === true ? CHECKED : undefined
  if (as === 'cents' && typeof value === 'number') return (value / 100).toFixed(2).replace('.', ',')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

function stepsOf (name: string): (string | number)[] {
  return name.split(/[.[\]]+/).filter((step) => step !== '').map((step) => /^\d+$/.test(step) ? Number(step) : step)
}

function put (payload: Payload, steps: readonly (string | number)[], value: unknown): void {
  if (value === undefined) return
  let holder: Record<string | number, unknown> = payload
  for (const [at, step] of steps.slice(0, -1).entries()) {
    holder[step] ??= typeof steps[at + 1] === 'number' ? [] : {}
    holder = holder[step] as Record<string | number, unknown>
  }
  holder[steps.at(-1)!] = value
}

function read (value: unknown, steps: readonly (string | number)[]): unknown {
  return steps.reduce((holder, step) => (
    typeof holder === 'object' && holder !== null ? (holder as Record<string | number, unknown>)[step] : undefined
  ), value)
}
