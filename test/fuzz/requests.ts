import fc, { type Arbitrary } from 'fast-check'
import type { Described, Json, Resolve, SchemaOf } from './document.ts'
import { fileBody, FORM_TYPE, formBody } from './forms.ts'
import { fitting, hostileBody, hostileParameter, nearly, type Kind } from './values.ts'

export const CALLERS = ['service', 'person', 'key', 'nobody'] as const

/** A request for an operation, without credentials. */
export interface FuzzedRequest {
  operation: Described
  kind: Kind
  caller: typeof CALLERS[number]
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
}

/** Media types of bodies, in order of preference, and the Content-Type to send. */
const BODY_TYPES: Readonly<Record<string, string>> = {
  'application/json': 'application/json',
  'application/x-www-form-urlencoded': 'application/x-www-form-urlencoded',
  '*/*': 'image/png',
  'multipart/form-data': FORM_TYPE
}

/** Generates requests of one kind for an operation. */
export function requests (operation: Described, kind: Kind, resolve: Resolve): Arbitrary<FuzzedRequest> {
  const { parameters = [], requestBody } = operation.operation
  const type = Object.keys(BODY_TYPES).find((each) => requestBody?.content[each] !== undefined)
  const media = type === undefined ? undefined : requestBody!.content[type]
  return fc.record({
    caller: fc.oneof({ weight: 4, arbitrary: fc.constant('service' as const) }, fc.constantFrom(...CALLERS)),
    given: fc.tuple(...parameters.map((each) => parameter(each, kind, resolve))),
    body: media?.schema === undefined ? undeclaredBody(kind) : body(media.schema, kind, resolve, type!),
    headers: headers(kind, type && BODY_TYPES[type])
  }).map(({ given, headers, ...made }) => ({
    ...made, path: pathOf(operation, given), headers: { ...headersOf(given), ...headers }, operation, kind
  }))
}

type Parameter = NonNullable<Described['operation']['parameters']>[number]
interface Given { name: string, in: string, text: string | undefined }

function parameter ({ name, in: place, required, schema, example }: Parameter, kind: Kind, resolve: Resolve) {
  const given = example === undefined ? [] : [fc.constant(example)]
  const right = fc.oneof(...given, fitting(schema, resolve))
    .map((value) => encodeURIComponent(String(value).toWellFormed()))
  const weight = kind === 'nearly' ? 5 : 1
  if (place === 'header') return headerParameter(name, fc.oneof(...given, fitting(schema, resolve)), kind)
  const text = kind === 'valid' ? right : fc.oneof({ weight, arbitrary: right }, hostileParameter)
  const isFixed = required === true || place === 'path'
  return (isFixed ? text : fc.option(text, { nil: undefined, freq: kind === 'hostile' ? 1 : 3 }))
    .map((text): Given => ({ name, in: place, text }))
}

/** Restricts a value to what HTTP clients can send in a header. */
const sendable = (value: unknown) => String(value).replace(/[^\x20-\x7e]/g, '').trim().slice(0, 3000)

/** Hostile values for any request header. */
const STRANGE = fc.constantFrom(
  '', '"', '*', 'W/"', '"a", W/"b" , *', '%00', '-1', 'bytes=9-1', 'bytes=0-0,5-6', 'bytes=-0',
  'bytes=99999999999999999-', 'respond-async, wait=-1', 'respond-async;wait', 'Thu, 99 Foo 0000 25:61:61 GMT',
  'x'.repeat(3000), '\'; drop table x; --'
)

/** Generates a declared header, with valid or hostile values. */
function headerParameter (name: string, right: Arbitrary<unknown>, kind: Kind): Arbitrary<Given> {
  const value = right.map(sendable)
  const text = kind === 'valid' ? value : fc.oneof(value, STRANGE, hostileParameter.map(sendable))
  return fc.option(text, { nil: undefined, freq: 2 }).map((text) => ({ name, in: 'header', text }))
}

function headersOf (given: readonly Given[]): Record<string, string> {
  const pairs = given.filter((each) => each.in === 'header' && each.text !== undefined)
  return Object.fromEntries(pairs.map(({ name, text }) => [name.toLowerCase(), text!]))
}

function pathOf ({ path }: Described, given: Given[]): string {
  const filled = given.filter((each) => each.in === 'path')
    .reduce((url, { name, text = '' }) => url.replace(`{${name}}`, () => text === '' ? '1' : text), path)
  const pairs = given.filter((each) => each.in === 'query' && each.text !== undefined)
    .map(({ name, text }) => `${name}=${text}`)
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`
}

/** Generates the body for an operation that declares none: none, or a hostile one. */
function undeclaredBody (kind: Kind): Arbitrary<string | undefined> {
  return kind === 'hostile' ? fc.option(hostileBody, { nil: undefined }) : fc.constant(undefined)
}

function body (
  schema: SchemaOf, kind: Kind, resolve: Resolve, type: string
): Arbitrary<string | Buffer | undefined> {
  if (type === 'multipart/form-data') return formBody(schema, kind, resolve)
  if (type === '*/*') return fileBody(kind)
  const write = (value: Json) => type === 'application/json' ? JSON.stringify(value) : form(value)
  const examples = (schema.examples ?? []).map((value) => fc.constant(value))
  const right = fc.oneof(...examples, fitting(schema, resolve))
  if (kind === 'valid') return right.map(write)
  return kind === 'nearly' ? nearly(right).map(write) : fc.oneof(hostileBody, nearly(nearly(right)).map(write))
}

function form (value: Json): string {
  const text = (each: unknown) => typeof each === 'string' ? each : String(JSON.stringify(each))
  return Object.entries(value ?? {})
    .map((pair) => pair.map((each) => encodeURIComponent(text(each).toWellFormed())).join('=')).join('&')
}

/** Generates the Content-Type. A hostile request may get an unusual header that HTTP can transfer. */
function headers (kind: Kind, type: string | undefined): Arbitrary<Record<string, string>> {
  const usual: Record<string, string> = type === undefined ? {} : { 'content-type': type }
  if (kind !== 'hostile') return fc.constant(usual)
  const strange = fc.constantFrom<Record<string, string>>(
    {}, {}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json; charset=utf-7' },
    { 'content-type': 'application/xml' }, { 'content-type': 'multipart/form-data; boundary=x' },
    { 'content-type': `application/json${';a=b'.repeat(500)}` }, { 'content-encoding': 'gzip' },
    { 'if-match': 'W/"' }, { 'if-match': '*' }, { 'if-none-match': `${'"a",'.repeat(1000)}"b"` },
    { 'idempotency-key': '"' }, { 'idempotency-key': 'x'.repeat(255) }, { 'idempotency-key': 'a' },
    { 'x-forwarded-for': '::ffff:1.2.3.4, not an address' }, { 'x-request-id': '<script>' },
    { 'x-http-method-override': 'DELETE' }, { accept: 'text/html;q=0.1' }, { 'accept-encoding': 'br;q=9, gzip' },
    { origin: 'null' }, { cookie: 'service_admin_access=granted; a=1; a=2' }, { prefer: 'respond-async, wait=-1' },
    { range: 'bytes=9-1' }, { 'accept-language': 'x'.repeat(3000) }, { apikey: '..' }
  )
  return strange.map((more) => ({ ...usual, ...more }))
}
