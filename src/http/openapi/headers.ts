import type { FastifyContextConfig, FastifySchema } from 'fastify'

/** A route as its description is made from it. */
export interface Trait { method: string, schema: FastifySchema, config: FastifyContextConfig }

interface Header { description: string, schema: object, example: unknown }

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Headers that do not follow from what else is known of a route. */
    headers?: {
      /** Which it reads. */
      reads?: readonly RequestHeaderName[]
      /** With which statuses it may send which; in place of what would follow. */
      sends?: Readonly<Partial<Record<ResponseHeader, readonly number[]>>>
    }
  }
}

const text = { type: 'string', maxLength: 8192 }
const count = { type: 'integer', minimum: 0 }

/** Headers of answers; those of every answer are not repeated in each. */
export const RESPONSE_HEADERS = {
  ETag: { description: 'La versione, da rimandare in `If-None-Match` o `If-Match`', schema: text, example: '"3"' },
  Location: {
    description: 'L’indirizzo di ciò che è nato, o dove proseguire', schema: text, example: '/api/v1/invii/1'
  },
  Link: {
    description: 'La pagina seguente, con `rel="next"`; manca sull’ultima', schema: text, example: '<…>; rel="next"'
  },
  'X-Total-Count': {
    description: 'Quanti sono in tutto: con la prima pagina, o se `conteggio=true`', schema: count, example: 42
  },
  'Idempotency-Replayed': {
    description: '`true`: è la risposta già data alla stessa chiave, e non si è fatto nulla di nuovo',
    schema: { type: 'string', enum: ['true'] },
    example: 'true'
  },
  'Preference-Applied': {
    description: 'Si è fatto come chiesto con `Prefer`', schema: text, example: 'respond-async'
  },
  'Retry-After': { description: 'Secondi dopo i quali riprovare', schema: count, example: 5 },
  'WWW-Authenticate': {
    description: 'Come autenticarsi (RFC 6750)', schema: text, example: 'Bearer realm="Locanda"'
  },
  'RateLimit-Limit': { description: 'Richieste ammesse per finestra', schema: count, example: 300 },
  'RateLimit-Remaining': { description: 'Richieste che restano in questa finestra', schema: count, example: 299 },
  'RateLimit-Reset': { description: 'Secondi alla prossima finestra', schema: count, example: 60 },
  'X-Request-Id': {
    description: 'Identifica la richiesta nel registro del server', schema: text, example: 'f516c6bd-…'
  },
  'Content-Disposition': {
    description: 'Il nome con cui salvare il file', schema: text, example: 'attachment; filename=report.pdf'
  },
  'X-PDF-Warnings': {
    description: 'Che cosa non si è potuto stampare così com’è: JSON, un elenco di `{codice, messaggio}`, con ' +
      'i segni fuori dall’ASCII come `\\uXXXX`; oltre 2000 caratteri gli ultimi mancano',
    schema: { ...text, contentMediaType: 'application/json' },
    example: '[{"codice":"VARIABILE_MANCANTE","messaggio":"i dati non hanno \\u00abnome\\u00bb"}]'
  },
  'Content-Range': {
    description: 'Quale parte è, e di quanti byte; in un 416 quanti sono', schema: text, example: 'bytes 0-1023/4096'
  },
  'Accept-Ranges': { description: 'Con `Range` se ne può chiedere una parte', schema: text, example: 'bytes' },
  'Last-Modified': {
    description: 'Quando è cambiato, da rimandare in `If-Modified-Since` o `If-Range`',
    schema: text,
    example: 'Sat, 21 Nov 2026 09:30:00 GMT'
  },
  'Set-Cookie': {
    description: 'Un cookie per questo server, che nessuna pagina può leggere',
    schema: text,
    example: 'locanda_browser=…; Path=/; HttpOnly; SameSite=Lax'
  },
  'X-Alloggiati-Mode': {
    description: '`sandbox`: la Polizia è quella di prova; manca quando è quella vera',
    schema: { type: 'string', enum: ['sandbox'] },
    example: 'sandbox'
  },
  'X-Sb-Error-Code': {
    description: 'Lo stesso codice dell’errore che è nel corpo', schema: text, example: 'invalid_credentials'
  },
  'X-Supabase-Api-Version': {
    description: 'Il corpo ha la forma che questa versione del protocollo vuole', schema: text, example: '2024-01-01'
  }
} as const satisfies Record<string, Header>
export type ResponseHeader = keyof typeof RESPONSE_HEADERS

interface RequestHeader { description: string, schema: object, example: string }

/** Headers of requests that a route honours beside its schema, all of them optional. */
export const REQUEST_HEADERS = {
  'Idempotency-Key': {
    description: 'Una chiave scelta da chi chiama: la stessa richiesta con la stessa chiave non si esegue due volte',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: '7a1c6f0e-invio-1'
  },
  'If-None-Match': {
    description: 'L’`ETag` letto prima: se non è cambiato, la risposta è 304. In un PUT `*`: solo se non c’è ancora',
    schema: text,
    example: '"3"'
  },
  'If-Match': {
    description: 'L’`ETag` letto prima: se nel frattempo è cambiato, la risposta è 412', schema: text, example: '"3"'
  },
  Prefer: {
    description: '`respond-async`: la risposta arriva subito, e l’esito si legge dopo',
    schema: text,
    example: 'respond-async'
  },
  Range: { description: 'Una parte dei byte (RFC 9110, 14.2)', schema: text, example: 'bytes=0-1023' },
  'If-Range': {
    description: 'L’`ETag` o il `Last-Modified` letto prima: se nel frattempo è cambiato, la risposta è il tutto',
    schema: text,
    example: '"0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f"'
  },
  'If-Modified-Since': {
    description: 'Il `Last-Modified` letto prima: se non è cambiato, la risposta è 304; conta senza `If-None-Match`',
    schema: text,
    example: 'Sat, 21 Nov 2026 09:30:00 GMT'
  },
  'Last-Event-ID': {
    description: 'Il `cursor` dell’ultimo evento letto: il flusso comincia dopo', schema: text, example: '7-0d9b7b1e'
  },
  'X-Upsert': {
    description: '`true`: anche al posto di un file che ha già quel nome',
    schema: { type: 'string', enum: ['true', 'false'] },
    example: 'true'
  },
  'X-Metadata': {
    description: 'I metadati di chi carica: un oggetto JSON in Base64; in un modulo è il campo `metadata`',
    schema: text,
    example: 'eyJhdXRvcmUiOiJBbm5hIn0='
  },
  'X-Supabase-Api-Version': {
    description: 'Da `2024-01-01` gli errori hanno la forma breve, `{code, message}`',
    schema: text,
    example: '2024-01-01'
  }
} as const satisfies Record<string, RequestHeader>
type RequestHeaderName = keyof typeof REQUEST_HEADERS

const statusesOf = ({ schema }: Trait) => Object.keys(schema.response as object)
export const hasStatus = (trait: Trait, status: string) => statusesOf(trait).includes(status)
/** What is made has a version from then on; what is changed or deleted has had one. */
export const honoursIfMatch = ({ method, config }: Trait) =>
  config.versioned === true && ['PUT', 'PATCH', 'DELETE'].includes(method)
/** What was deleted has no version any more. */
const isTagged = (trait: Trait) =>
  hasStatus(trait, '304') || (trait.config.versioned === true && trait.method !== 'DELETE')
const isPaged = ({ schema }: Trait) =>
  ['cursor', 'per_page'].some((name) => name in ((schema.querystring as { properties?: object })?.properties ?? {}))
const isFile = ({ schema }: Trait) => {
  const answer = (schema.response as Record<string, { content?: object } | undefined>)['200']
  return Object.keys(answer?.content ?? {}).some((type) => type !== 'application/json')
}
/** A file that is kept, and of which a part can be asked for. */
const isStored = (trait: Trait) => hasStatus(trait, '206')
const isOneOf = (tag: string) => ({ schema }: Trait) => schema.tags?.includes(tag) === true
const makesPdf = (trait: Trait) => trait.config.heavy === true && (isOneOf('PDF')(trait) || isOneOf('Lettere')(trait))
const isIdempotent = ({ config }: Trait) => config.idempotent === true
const isCounted = ({ config }: Trait) => config.rateLimit !== false
/** Whose errors a route answers: those of the provider's protocol, of the storage's, or this API's own. */
export function protocolOf ({ schema }: Trait): Protocol | undefined {
  return PROTOCOLS[(schema.response as Record<string, { $ref?: string } | undefined>)['4xx']?.$ref ?? '']
}
export type Protocol = 'auth' | 'storage'
const PROTOCOLS: Readonly<Record<string, Protocol>> = { 'ErroreAuth#': 'auth', 'ErroreStorage#': 'storage' }
const isOfProvider = (trait: Trait) => protocolOf(trait) === 'auth'

/** Which of them a route honours, by what else is known of it. */
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
  /** It is never missing. */
  always?: boolean
}

/** Which headers come with which answers. */
const SENT: readonly Sent[] = [
  { name: 'ETag', status: /^(?:20[0-6]|304)$/, by: isTagged, always: true },
  { name: 'Location', status: /^(?:201|30[23])$/, always: true },
  { name: 'Preference-Applied', status: /^202$/, by: isIdempotent, always: true },
  { name: 'Link', status: /^200$/, by: isPaged },
  { name: 'X-Total-Count', status: /^200$/, by: isPaged },
  // A refusal that the handler has thrown is kept and told again; who is not let in does not get so far.
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

/** A header of an answer, and whether it is never missing. */
export interface SentHeader { name: ResponseHeader, always: boolean }

/** @param status `200`, or a class of statuses, `4XX` */
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

/** Headers that some answers have always: there they are promised. */
const PROMISED = new Set(SENT.filter(({ always }) => always).map(({ name }) => name))

/** The headers as they are described once for all answers. */
export const HEADER_COMPONENTS = Object.fromEntries(Object.entries(RESPONSE_HEADERS).map(([name, header]) =>
  [name, PROMISED.has(name as ResponseHeader) ? { ...header, required: true } : header]))

/** The headers of one answer: what is promised elsewhere, and may be missing here, has a description of its own. */
export function describeHeaders (sent: readonly SentHeader[]): Record<string, object> {
  return Object.fromEntries(sent.map(({ name, always }) => [
    name, always || !PROMISED.has(name) ? { $ref: `#/components/headers/${name}` } : RESPONSE_HEADERS[name]
  ]))
}
