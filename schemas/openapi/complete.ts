import { NOT_EMPTY, UPPER } from '../common.ts'
import { commonCodes, entryOf, isCommon, statusesOf } from '../errors/catalogue.ts'
import { REQUEST_HEADERS } from './headers.ts'
import {
  describeHeaders, hasStatus, HEADER_COMPONENTS, honouredHeaders, honoursIfMatch, protocolOf, sentHeaders,
  type Trait
} from './route-headers.ts'
import { describeStatus } from './statuses.ts'

interface Shape {
  $ref?: string
  type?: unknown
  required?: string[]
  properties?: object
  anyOf?: object[]
  allOf?: Shape[]
}
interface Parameter { in: string, required?: boolean, schema: object, example?: unknown }
interface Media { schema: Shape, example?: unknown }
interface ResponseObject { description: string, content?: Record<string, Media>, headers?: Record<string, object> }
interface Operation {
  operationId: string
  description?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean, content: Record<string, Media> }
  security?: object[]
  responses: Record<string, ResponseObject | { $ref: string }>
  /** The operation's error codes by status. */
  'x-codici'?: Record<string, readonly string[]>
}

const ERROR_BODY = '#/components/schemas/Errore'
const REQUEST_ID = '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'

/** The part of the description that is completed here. */
export interface Description {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Shape>, headers?: object, responses?: Record<string, ResponseObject> }
}

/**
 * Completes the library's description with the routes' settings: request and response headers, the meaning of statuses,
 * access, optional bodies, and formats that tools know.
 */
export function complete (document: Description, traits: ReadonlyMap<string, Trait>): Description {
  for (const operation of Object.values(document.paths).flatMap((methods) => Object.values(methods))) {
    const trait = traits.get(operation.operationId)
    const own = trait === undefined ? new Set<string>() : completeOperation(operation, trait)
    shareErrors(operation.responses, document.components.responses ??= {}, own)
  }
  document.components.headers = HEADER_COMPONENTS
  useCommonTerms(document)
  return document
}

/** @returns the statuses whose errors are described for this operation alone */
function completeOperation (operation: Operation, trait: Trait): Set<string> {
  const { schema, config } = trait
  const codes = codesByStatus(trait)
  if (Object.keys(codes).length > 0) operation['x-codici'] = codes
  operation.description = [schema.description, ...describeUse(trait), ...describeCodes(codes)]
    .filter(Boolean).join('\n\n')
  if (config.access === 'public') operation.security = []
  const headers = honouredHeaders(trait).map((name) => ({ name, in: 'header', ...REQUEST_HEADERS[name] }))
  const parameters = [...operation.parameters ?? [], ...headers]
  if (parameters.length > 0) operation.parameters = parameters.map(withoutPrefill)
  const { requestBody } = operation
  if (requestBody && (acceptsNull(requestBody.content) || (config.bodyOptional && isOptional(requestBody.content)))) {
    delete requestBody.required
  }
  addErrors(operation.responses, trait)
  const ownStatuses = protocolOf(trait) === undefined ? enumerateCodes(operation.responses, trait) : new Set<string>()
  for (const [status, answer] of Object.entries(operation.responses)) {
    if ('$ref' in answer) continue
    const sent = sentHeaders(trait, status)
    const isLocated = sent.some(({ name }) => name === 'Location')
    answer.description = describeStatus(status, answer.description, { isLocated, protocol: protocolOf(trait) })
    answer.headers = describeHeaders(sent)
  }
  return ownStatuses
}

/**
 * Moves the example of an optional parameter into its schema. Swagger UI fills fields with a parameter's example, and
 * would send for example the same `Idempotency-Key` with every request.
 */
function withoutPrefill ({ example, ...parameter }: Parameter): Parameter {
  if (example === undefined) return parameter
  if (parameter.required) return { ...parameter, example }
  return { ...parameter, schema: { ...parameter.schema, examples: [example] } }
}

const CALLERS: Readonly<Record<string, string>> = {
  public: 'Accesso: chiunque, senza credenziali.',
  optional: 'Accesso: operatori e amministratori, anche con una chiave API; chiunque, per ciò che è pubblico.',
  auth: 'Accesso: operatori e amministratori, anche con una chiave API.',
  user: 'Accesso: una persona, con il suo token.',
  admin: 'Accesso: amministratori.',
  cookie: 'Accesso: il cookie degli amministratori.'
}

/** Access types that accept API keys. A route's scope applies only to these. */
const BY_KEY = new Set(['optional', 'auth', 'admin'])

/** Access and cost of an operation, in sentences. */
function describeUse (trait: Trait): string[] {
  const { schema, config } = trait
  const isPaged = 'cursor' in ((schema.querystring as { properties?: object } | undefined)?.properties ?? {})
  return [
    config.access && CALLERS[config.access],
    config.access !== undefined && BY_KEY.has(config.access) &&
      `Una chiave personale deve avere l’ambito «${config.scope}».`,
    config.recentFactor && 'Dove il server lo chiede (`REQUIRE_RECENT_MFA`), una persona deve avere confermato il ' +
      'secondo fattore da meno di 15 minuti: altrimenti la risposta è 403 `SECONDO_FATTORE_RECENTE`.',
    config.idempotent && 'Con `Idempotency-Key` l’operazione si può ripetere senza eseguirla due volte.',
    honoursIfMatch(trait) && 'Con `If-Match` cambia solo la versione che si è letta.',
    isPaged && 'A pagine: `limit` e `cursor`; la pagina seguente è in `Link`.',
    config.heavy && 'È un lavoro pesante, contato a parte con un limite più basso.'
  ].filter((sentence): sentence is string => Boolean(sentence))
}

/** Error codes of routes with `Idempotency-Key`. */
const KEY_CODES: Readonly<Record<string, readonly string[]>> = {
  409: ['IDEMPOTENCY_KEY_IN_CORSO', 'IDEMPOTENCY_KEY_ESEGUITA'], 422: ['IDEMPOTENCY_KEY_RIUSATA']
}

/** A code with several statuses is listed at those that the operation declares. */
function codesByStatus ({ schema: { errorCodes = [], response }, config }: Trait): Record<string, readonly string[]> {
  const byStatus: Record<string, string[]> = {}
  for (const code of new Set(errorCodes)) {
    const statuses = statusesOf(code).filter((status) => status >= 400)
    const declared = statuses.filter((status) => status in (response as object))
    for (const status of declared.length > 0 ? declared : statuses) (byStatus[status] ??= []).push(code)
  }
  if (config.idempotent) {
    for (const [status, list] of Object.entries(KEY_CODES)) (byStatus[status] ??= []).push(...list)
  }
  return byStatus
}

function describeCodes (codes: Record<string, readonly string[]>): string[] {
  const lines = Object.entries(codes).map(([status, list]) =>
    `- ${status}: ${list.map((code) => `[\`${code}\`](/docs/errori#${code})`).join(', ')}`)
  return lines.length > 0 ? [`I suoi errori:\n\n${lines.join('\n')}`] : []
}

const KEY_CODE_LIST = Object.values(KEY_CODES).flat()

/**
 * Restricts `codice` of each error to the codes of the operation and the common ones at that status.
 * @returns the statuses with codes of the operation
 */
function enumerateCodes (responses: Operation['responses'], { schema, config }: Trait): Set<string> {
  const statuses = new Set<string>()
  for (const [status, answer] of Object.entries(responses)) {
    const media = 'content' in answer && answer.content?.['application/json']
    if (!/^[45]/.test(status) || !media) continue
    const isCovered = (each: number) => status === String(each) || status === `${String(each)[0]}XX`
    // A status class covers the statuses that the operation does not describe by themselves.
    const own = [...new Set(schema.errorCodes)].filter((code) => !isCommon(code) && statusesOf(code)
      .some((each) => isCovered(each) && (status === String(each) || !(each in responses))))
    const common = commonCodes(isCovered).filter((code) => config.idempotent || !KEY_CODE_LIST.includes(code))
    const codes = [...own, ...common]
    if (own.length > 0) statuses.add(status)
    if (media.schema.$ref === ERROR_BODY) media.example ??= exampleOf(codes[0]!, isCovered)
    media.schema = { allOf: [media.schema, { type: 'object', properties: { codice: { enum: codes } } }] }
  }
  return statuses
}

function exampleOf (codice: string, isCovered: (status: number) => boolean): object {
  const { statuses, cause } = entryOf(codice)
  return { error: cause, status: statuses.find(isCovered), codice, requestId: REQUEST_ID }
}

/** Errors with the same body schema and headers are described once and referenced. */
function shareErrors (
  responses: Operation['responses'], shared: Record<string, ResponseObject>, own: ReadonlySet<string>
): void {
  for (const [status, answer] of Object.entries(responses)) {
    if ('$ref' in answer || !/^[45]/.test(status) || own.has(status)) continue
    const schema = answer.content?.['application/json']?.schema
    const ref = schema?.$ref ?? schema?.allOf?.[0]?.$ref
    if (!ref) continue
    const name = [ref.split('/').at(-1), ...variantOf(Object.keys(answer.headers ?? {})), status].join('')
    shared[name] ??= answer
    responses[status] = { $ref: `#/components/responses/${name}` }
  }
}

/** Headers of some errors only, and the name suffix of errors that have them. */
const VARIANTS = {
  'Idempotency-Replayed': 'Ripetibile',
  'X-Alloggiati-Mode': 'Alloggiati',
  Location: 'Invio',
  'Content-Range': 'File',
  'Set-Cookie': 'Cookie'
}

function variantOf (headers: readonly string[]): string[] {
  const named = Object.entries(VARIANTS).filter(([header]) => headers.includes(header)).map(([, name]) => name)
  return headers.includes('RateLimit-Limit') ? named : [...named, 'NonContato']
}

/** Adds the errors that follow from a route's properties, described as their status class. */
function addErrors (responses: Operation['responses'], trait: Trait): void {
  const { schema, config } = trait
  const statuses = [
    (schema.body || schema.querystring || schema.params) && 400,
    config.access !== 'public' && 401,
    config.access !== 'public' && 403,
    // The storage protocol reports a missing bucket or file in a 400.
    schema.params && protocolOf(trait) !== 'storage' && 404,
    honoursIfMatch(trait) && 412,
    protocolOf(trait) === 'storage' && hasStatus(trait, '206') && 416,
    config.rateLimit !== false && 429,
    500
  ].filter((status) => typeof status === 'number')
  for (const status of [...statuses, ...Object.keys(codesByStatus(trait))]) {
    responses[status] ??= structuredClone(responses[`${String(status)[0]}XX`]!)
  }
}

/** A missing body is null. */
function acceptsNull (content: Record<string, Media>): boolean {
  return Object.values(content).every(({ schema }) => [schema.type].flat().includes('null'))
}

function isOptional (content: Record<string, Media>): boolean {
  return Object.values(content).every(({ schema }) =>
    schema.type === 'object' && !schema.required?.length && !schema.anyOf)
}

/** Our formats in terms that every tool knows. */
const FORMATS: Readonly<Record<string, object>> = {
  day: { format: 'date' },
  birth: { format: undefined, pattern: String.raw`^\d{4}-\d{2}-\d{2}$` },
  'birth-or-empty': { format: undefined, pattern: String.raw`^(?:\d{4}-\d{2}-\d{2})?$` },
  'day-or-empty': { format: undefined, pattern: String.raw`^(?:\d{4}-\d{2}-\d{2})?$` }
}

/** Names our formats in common terms, and removes our own keywords. */
function useCommonTerms (node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  for (const keyword of [NOT_EMPTY, UPPER]) Reflect.deleteProperty(node, keyword)
  if ('format' in node && typeof node.format === 'string') {
    Object.assign(node, FORMATS[node.format])
    if (node.format === undefined) delete node.format
  }
  for (const inner of Object.values(node)) useCommonTerms(inner)
}
