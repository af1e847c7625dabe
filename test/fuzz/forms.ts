import fc, { type Arbitrary } from 'fast-check'
import { hostileText } from '#test/identity/attacks/hostile.ts'
import type { Resolve, SchemaOf } from './document.ts'
import { PICTURES } from './pictures.ts'
import { fitting, type Kind } from './values.ts'

/* Bodies other than JSON: multipart forms and raw files. */

const BOUNDARY = 'confine'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

const picture = fc.constantFrom(...PICTURES).map((text) => Buffer.from(text, 'base64'))
const table = fc.array(fc.tuple(fc.constantFrom('Bilocale', '"Bi;locale"', ''), fc.integer()), { maxLength: 4 })
  .map((rows) => Buffer.from(`listingTitle;Q1Payouts\n${rows.map((row) => row.join(';')).join('\n')}`))
const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
  hostileText.map((text) => Buffer.from(text)),
  // A truncated file.
  fc.tuple(picture, fc.integer({ min: 1, max: 300 })).map(([whole, end]) => whole.subarray(0, end))
)

interface Part { name: string, content: Buffer, isFile: boolean }

/** A file with or without the schema's media type. */
function file ({ contentMediaType }: SchemaOf, kind: Kind): Arbitrary<Buffer> {
  const right = contentMediaType === 'text/csv' ? table : picture
  return kind === 'valid' ? right : fc.oneof({ weight: 3, arbitrary: right }, bytes)
}

/** Generates a multipart form for a schema. */
export function formBody (
  { properties = {}, required = [] }: SchemaOf, kind: Kind, resolve: Resolve
): Arbitrary<Buffer> {
  const parts = Object.entries(properties).map(([name, each]) => {
    const isFile = each.contentMediaType !== undefined
    const content = isFile ? file(each, kind) : fitting(each, resolve).map((value) => Buffer.from(String(value)))
    const part = content.map((content): Part | undefined => ({ name, content, isFile }))
    return required.includes(name) ? part : fc.option(part, { nil: undefined })
  })
  const right = fc.tuple(...parts).map((all) => all.filter((part) => part !== undefined))
  if (kind === 'valid') return right.map(write)
  const near = fc.tuple(right, fc.nat(), fc.constantFrom('drop', 'repeat', 'rename', 'turn', 'fill'), hostileText)
    .map(([all, at, change, text]) => all.length === 0 ? all : changed(all, at % all.length, change, text))
  if (kind === 'nearly') return near.map(write)
  return fc.oneof(
    bytes, fc.tuple(near.map(write), fc.nat()).map(([whole, end]) => whole.subarray(0, end % whole.length))
  )
}

/** Generates a raw file. */
export function fileBody (kind: Kind): Arbitrary<Buffer> {
  return file({}, kind)
}

function changed (parts: readonly Part[], at: number, change: string, text: string): Part[] {
  const part = parts[at]!
  const instead: Readonly<Record<string, Part[]>> = {
    drop: [],
    repeat: [part, part],
    rename: [{ ...part, name: text }],
    turn: [{ ...part, isFile: !part.isFile }],
    fill: [{ ...part, content: Buffer.from(text) }]
  }
  return parts.toSpliced(at, 1, ...instead[change]!)
}

function write (parts: readonly Part[]): Buffer {
  return Buffer.concat([
    ...parts.flatMap(({ name, content, isFile }) => [
      Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name.toWellFormed()}"` +
        (isFile ? '; filename="file"\r\nContent-Type: application/octet-stream' : '') + '\r\n\r\n'),
      content,
      Buffer.from('\r\n')
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`)
  ])
}
