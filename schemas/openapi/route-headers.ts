import type { ErrorCode } from '../errors/catalogue.ts'
import { RESPONSE_HEADERS, type RequestHeaderName, type ResponseHeader } from './headers.ts'
import type { Protocol } from './statuses.ts'

/** Headers that do not follow from a route's other properties. */
export interface RouteHeaders {
  /** Request headers. */
  reads?: readonly RequestHeaderName[]
  /** Response headers by status. They replace the derived ones. */
  sends?: Readonly<Partial<Record<ResponseHeader, readonly number[]>>>
}

/** The schema and settings from which a route is described. */
export interface Trait {
  method: string
  schema: {
    body?: unknown
    querystring?: unknown
    params?: unknown
    response?: unknown
    tags?: readonly string[]
    description?: string
    errorCodes?: readonly ErrorCode[]
  }
  config: {
    access?: string
    scope?: string
    recentFactor?: boolean
    idempotent?: boolean
    versioned?: boolean
    heavy?: boolean
    bodyOptional?: boolean
    rateLimit?: unknown
    headers?: RouteHeaders
  }
}

const statusesOf = ({ schema }: Trait) => Object.keys(schema.response as object)
export const hasStatus = (trait: Trait, status: string) => statusesOf(trait).includes(status)
/** Applies to changes and deletions, because only existing resources have a version. */
export const honoursIfMatch = ({ method, config }: Trait) =>
  config.versioned === true && ['PUT', 'PATCH', 'DELETE'].includes(method)
/** A deleted resource has no version. */
const isTagged = (trait: Trait) =>
  hasStatus(trait, '304') || (trait.config.versioned === true && trait.method !== 'DELETE')
const isPaged = ({ schema }: Trait) =>
  ['cursor', 'per_page'].some((name) => name in ((schema.querystring as { properties?: object })?.properties ?? {}))
const isFile = ({ schema }: Trait) => {
  const answer = (schema.response as Record<string, { content?: object } | undefined>)['200']
  return Object.keys(answer?.content ?? {}).some((type) => !['application/json', 'text/event-stream'].includes(type))
}
/** A stored file, which supports ranges. */
const isStored = (trait: Trait) => hasStatus(trait, '206')
const isOneOf = (tag: string) => ({ schema }: Trait) => schema.tags?.includes(tag) === true
const makesPdf = (trait: Trait) => trait.config.heavy === true && (isOneOf('PDF')(trait) || isOneOf('Lettere')(trait))
const isIdempotent = ({ config }: Trait) => config.idempotent === true
const isCounted = ({ config }: Trait) => config.rateLimit !== false
/** The protocol of a route's errors. Undefined: this API's own. */
export function protocolOf ({ schema }: Trait): Protocol | undefined {
  return PROTOCOLS[(schema.response as Record<string, { $ref?: string } | undefined>)['4xx']?.$ref ?? '']
}
const PROTOCOLS: Readonly<Record<string, Protocol>> = { 'ErroreAuth#': 'auth', 'ErroreStorage#': 'storage' }
const isOfProvider = (trait: Trait) => protocolOf(trait) === 'auth'

/** Request headers that a route honours, by its properties. */
const HONOURED: readonly { name: RequestHeaderName, by: (trait: Trait) => boolean }[] = [
  { name: 'Idempotency-Key', by: isIdempotent },
  { name: 'If-None-Match', by: (trait) => hasStatus(trait, '304') },
  { name: 'If-Match', by: honoursIfMatch },
  { name: 'Prefer', by: (trait) => hasStatus(trait, '202') && isIdempotent(trait) },
  { name: 'Range', by: isStored },
  { name: 'If-Range', by: isStored },
  { name: 'If-Modified-Since', by: isStored },
  { name: 'X-Supabase-Api-Version', by: isOfProvider }
]

export function honouredHeaders (trait: Trait): RequestHeaderName[] {
  const follow = HONOURED.filter(({ by }) => by(trait)).map(({ name }) => name)
  return [...new Set([...follow, ...trait.config.headers?.reads ?? []])]
}

interface Sent {
  name: ResponseHeader
  status: RegExp
  by?: (trait: Trait) => boolean
  /** The header is present in every response. */
  always?: boolean
}

/** Response headers by status and route. */
const SENT: readonly Sent[] = [
  { name: 'ETag', status: /^(?:20[0-6]|304)$/, by: isTagged, always: true },
  { name: 'Location', status: /^(?:201|30[23])$/, always: true },
  { name: 'Preference-Applied', status: /^202$/, by: isIdempotent, always: true },
  { name: 'Link', status: /^200$/, by: isPaged },
  { name: 'X-Total-Count', status: /^200$/, by: isPaged },
  // Errors thrown by the handler are stored and replayed. Unauthorized requests do not reach it.
  { name: 'Idempotency-Replayed', status: /^(?:2\d\d|4(?!01|29)..)$/, by: isIdempotent },
  { name: 'X-PDF-Warnings', status: /^2/, by: makesPdf },
  { name: 'Content-Disposition', status: /^20[06]$/, by: isStored, always: true },
  { name: 'Content-Disposition', status: /^20[06]$/, by: (trait) => isFile(trait) && !isStored(trait) },
  { name: 'Content-Range', status: /^(?:206|416)$/, by: isStored, always: true },
  { name: 'Accept-Ranges', status: /^20[06]$/, by: isStored, always: true },
  { name: 'Last-Modified', status: /^(?:20[06]|304)$/, by: isStored, always: true },
  { name: 'X-Alloggiati-Mode', status: /./, by: isOneOf('Alloggiati Web') },
  { name: 'X-Sb-Error-Code', status: /^[45]/, by: isOfProvider, always: true },
  { name: 'X-Supabase-Api-Version', status: /^[45]/, by: isOfProvider },
  { name: 'WWW-Authenticate', status: /^401$/, always: true },
  { name: 'Retry-After', status: /^(?:429|503)$/, always: true },
  { name: 'Retry-After', status: /^5XX$/ },
  { name: 'RateLimit-Limit', status: /./, by: isCounted },
  { name: 'RateLimit-Remaining', status: /./, by: isCounted },
  { name: 'RateLimit-Reset', status: /./, by: isCounted },
  { name: 'X-Request-Id', status: /./, always: true }
]

/** A response header, and whether it is always present. */
interface SentHeader { name: ResponseHeader, always: boolean }

/** @param status `200`, or a status class, `4XX` */
export function sentHeaders (trait: Trait, status: string): SentHeader[] {
  const own = trait.config.headers?.sends ?? {}
  const follow = SENT.filter(({ name, status: which, by }) =>
    own[name] === undefined && which.test(status) && (by?.(trait) ?? true))
  return [
    ...follow.map(({ name, always = false }) => ({ name, always })),
    ...Object.entries(own).filter(([, statuses]) => statuses.includes(Number(status)))
      .map(([name]) => ({ name: name as ResponseHeader, always: false }))
  ]
}

/** Headers that are always present in some responses, where they are required. */
const PROMISED = new Set(SENT.filter(({ always }) => always).map(({ name }) => name))

/** Headers described once for all responses. */
export const HEADER_COMPONENTS = Object.fromEntries(Object.entries(RESPONSE_HEADERS).map(([name, header]) =>
  [name, PROMISED.has(name as ResponseHeader) ? { ...header, required: true } : header]))

/** The headers of one response. A header required elsewhere, but optional here, gets its own description. */
export function describeHeaders (sent: readonly SentHeader[]): Record<string, object> {
  return Object.fromEntries(sent.map(({ name, always }) => [
    name, always || !PROMISED.has(name) ? { $ref: `#/components/headers/${name}` } : RESPONSE_HEADERS[name]
  ]))
}
