import type { FastifyContextConfig, FastifySchema } from 'fastify'

/** A route as its description is made from it. */
export interface Trait { method: string, schema: FastifySchema, config: FastifyContextConfig }

interface Header { description: string, schema: object, example: unknown }

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
    description: 'L’`ETag` letto prima: se non è cambiato, la risposta è 304', schema: text, example: '"3"'
  },
  'If-Match': {
    description: 'L’`ETag` letto prima: se nel frattempo è cambiato, la risposta è 412', schema: text, example: '"3"'
  },
  Prefer: {
    description: '`respond-async`: la risposta arriva subito, e l’esito si legge dopo',
    schema: text,
    example: 'respond-async'
  },
  Range: { description: 'Una parte dei byte (RFC 9110, 14.2)', schema: text, example: 'bytes=0-1023' }
} as const satisfies Record<string, RequestHeader>
type RequestHeaderName = keyof typeof REQUEST_HEADERS

const statusesOf = ({ schema }: Trait) => Object.keys(schema.response as object)
const hasStatus = (trait: Trait, status: string) => statusesOf(trait).includes(status)
/** What is made has a version from then on; what is changed or deleted has had one. */
export const honoursIfMatch = ({ method, config }: Trait) => config.versioned === true && method !== 'POST'
/** What was deleted has no version any more. */
const isTagged = (trait: Trait) =>
  hasStatus(trait, '304') || (trait.config.versioned === true && trait.method !== 'DELETE')
const isPaged = ({ schema }: Trait) =>
  ['cursor', 'per_page'].some((name) => name in ((schema.querystring as { properties?: object })?.properties ?? {}))
const isFile = ({ schema }: Trait) => {
  const answer = (schema.response as Record<string, { content?: object } | undefined>)['200']
  return Object.keys(answer?.content ?? {}).some((type) => type !== 'application/json')
}
const makesPdf = ({ schema, config }: Trait) =>
  config.heavy === true && schema.tags?.some((tag) => tag === 'PDF' || tag === 'Lettere') === true

/** Which of them a route honours, by what else is known of it. */
const HONOURED: readonly { name: RequestHeaderName, by: (trait: Trait) => boolean }[] = [
  { name: 'Idempotency-Key', by: ({ config }) => config.idempotent === true },
  { name: 'If-None-Match', by: (trait) => hasStatus(trait, '304') },
  { name: 'If-Match', by: honoursIfMatch },
  { name: 'Prefer', by: (trait) => hasStatus(trait, '202') && trait.config.idempotent === true },
  { name: 'Range', by: (trait) => hasStatus(trait, '206') }
]

export function honouredHeaders (trait: Trait): RequestHeaderName[] {
  return HONOURED.filter(({ by }) => by(trait)).map(({ name }) => name)
}

interface Sent { name: ResponseHeader, status: RegExp, by?: (trait: Trait) => boolean }

/** Which headers come with which answers. */
const SENT: readonly Sent[] = [
  { name: 'ETag', status: /^(?:2\d\d|304)$/, by: isTagged },
  { name: 'Location', status: /^(?:201|30[23])$/ },
  { name: 'Location', status: /^202$/, by: ({ config }) => config.idempotent === true },
  { name: 'Preference-Applied', status: /^202$/, by: ({ config }) => config.idempotent === true },
  { name: 'Link', status: /^200$/, by: isPaged },
  { name: 'X-Total-Count', status: /^200$/, by: isPaged },
  { name: 'Idempotency-Replayed', status: /^2/, by: ({ config }) => config.idempotent === true },
  { name: 'X-PDF-Warnings', status: /^2/, by: makesPdf },
  { name: 'Content-Disposition', status: /^20[06]$/, by: isFile },
  { name: 'WWW-Authenticate', status: /^401$/ },
  { name: 'Retry-After', status: /^(?:429|503|5XX)$/ },
  { name: 'RateLimit-Limit', status: /./, by: ({ config }) => config.rateLimit !== false },
  { name: 'RateLimit-Remaining', status: /./, by: ({ config }) => config.rateLimit !== false },
  { name: 'RateLimit-Reset', status: /./, by: ({ config }) => config.rateLimit !== false },
  { name: 'X-Request-Id', status: /./ }
]

export function sentHeaders (trait: Trait, status: string): ResponseHeader[] {
  return SENT.filter((each) => each.status.test(status) && (each.by?.(trait) ?? true)).map(({ name }) => name)
}
