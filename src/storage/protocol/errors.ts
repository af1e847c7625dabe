import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { StorageErrorBody } from '#schemas/storage-protocol.ts'
import type { LinkFault } from '../links.ts'
import { databaseProblem } from '#src/database/problems.ts'
import { challenge } from '#src/http/errors.ts'

interface Kind {
  /** The status in the body. Most errors have HTTP status 400 nevertheless. */
  status: number
  error: string
  message: string
}

/** The errors of the protocol. Those of Supabase Storage have its texts. Clients react to the codes. */
const KINDS = {
  NoSuchBucket: { status: 404, error: 'Bucket not found', message: 'Bucket not found' },
  NoSuchKey: { status: 404, error: 'not_found', message: 'Object not found' },
  NoSuchRoute: { status: 404, error: 'Not Found', message: 'Route not found' },
  InvalidKey: { status: 400, error: 'InvalidKey', message: 'Invalid key' },
  InvalidBucketName: { status: 400, error: 'Invalid Input', message: 'Bucket name invalid' },
  InvalidRequest: { status: 400, error: 'InvalidRequest', message: 'Invalid Request' },
  InvalidMimeType: { status: 415, error: 'invalid_mime_type', message: 'mime type is not supported' },
  InvalidJWT: { status: 400, error: 'InvalidJWT', message: 'Invalid JWT' },
  InvalidSignature: { status: 400, error: 'InvalidSignature', message: 'Invalid signature' },
  InvalidRange: { status: 416, error: 'invalid_range', message: 'invalid range provided' },
  EntityTooLarge: { status: 413, error: 'Payload too large', message: 'The object exceeded the maximum allowed size' },
  KeyAlreadyExists: { status: 409, error: 'Duplicate', message: 'The resource already exists' },
  BucketAlreadyExists: { status: 409, error: 'Duplicate', message: 'The resource already exists' },
  ResourceNotEmpty: {
    status: 409, error: 'ResourceNotEmpty', message: 'The bucket you tried to delete is not empty'
  },
  FeatureNotEnabled: { status: 409, error: 'FeatureNotEnabled', message: 'The feature is not enabled on this server' },
  // The real server's response to a request without a token.
  NoCredentials: { status: 401, error: 'Unauthorized', message: 'Invalid Compact JWS' },
  AccessDenied: { status: 403, error: 'Unauthorized', message: 'Access denied' },
  SlowDown: { status: 429, error: 'SlowDown', message: 'Too many requests, please try again later' },
  Unavailable: { status: 503, error: 'SlowDown', message: 'The service is busy, please try again later' },
  DiskFull: {
    status: 507, error: 'InsufficientStorage', message: 'The disk of the server is full: delete files, then try again'
  },
  InternalError: { status: 500, error: 'Internal', message: 'Internal Server Error' }
} as const satisfies Record<string, Kind>

type StorageErrorCode = keyof typeof KINDS

/** Kinds with another code, because the protocol has no code for them. */
const CODES = {
  NoSuchRoute: 'InvalidRequest', NoCredentials: 'AccessDenied', Unavailable: 'SlowDown', DiskFull: 'InternalError'
} as const satisfies Partial<Record<StorageErrorCode, StorageErrorBody['code']>>

function codeOf (kind: StorageErrorCode): StorageErrorBody['code'] {
  return kind in CODES ? CODES[kind as keyof typeof CODES] : kind as Exclude<StorageErrorCode, keyof typeof CODES>
}

/** Statuses that are also HTTP statuses, because clients need them. All others become 400, like on the real server. */
const HTTP_STATUSES = new Set([401, 403, 416, 429, 500, 503, 507])

export class StorageError extends Error {
  readonly code: StorageErrorCode
  constructor (code: StorageErrorCode, message: string = KINDS[code].message) {
    super(message)
    this.code = code
  }
}

/** The errors of this API to which a client of the protocol can react. */
const API_ERRORS: Readonly<Record<string, StorageErrorCode>> = {
  NON_AUTENTICATO: 'NoCredentials',
  NON_AUTORIZZATO: 'AccessDenied',
  AMBITO_INSUFFICIENTE: 'AccessDenied',
  ACCOUNT_IN_ATTESA: 'AccessDenied',
  SECONDO_FATTORE_RICHIESTO: 'AccessDenied',
  SECONDO_FATTORE_DA_REGISTRARE: 'AccessDenied',
  PASSWORD_DA_CAMBIARE: 'AccessDenied',
  TROPPE_RICHIESTE: 'SlowDown',
  CONTENUTO_TROPPO_GRANDE: 'EntityTooLarge',
  OGGETTO_ESISTENTE: 'KeyAlreadyExists',
  BUCKET_NON_TROVATO: 'NoSuchBucket',
  INTERVALLO_NON_VALIDO: 'InvalidRange',
  ARCHIVIO_PIENO: 'DiskFull',
  FST_ERR_CTP_BODY_TOO_LARGE: 'EntityTooLarge',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'InvalidMimeType',
  FST_REQ_FILE_TOO_LARGE: 'EntityTooLarge'
}

/** Messages of Node and the form parser about a truncated or malformed form. "The needle" is the boundary. */
const BROKEN_BODY =
  /^(?:aborted|Unexpected end of|Multipart: Boundary not found|The needle|Part terminated early|Malformed part)/

/** Renders an error for the clients of Supabase Storage. Logs an unexpected error, and responds with a fixed text. */
export function renderStorageError (err: FastifyError | StorageError, request: FastifyRequest, reply: FastifyReply) {
  const { code, message } = translate(err)
  const { status, error } = KINDS[code]
  if (status === 503 || status === 507) {
    request.log.warn({ code: err.code }, 'request refused')
    if (status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '5')
  } else if (status >= 500) {
    request.log.error({ err }, 'request failed')
  }
  if (status === 401) challenge(request, reply)
  request.errorCode = code
  const body: StorageErrorBody = { statusCode: String(status), error, message, code: codeOf(code) }
  return reply
    .code(HTTP_STATUSES.has(status) ? status : 400)
    .header('cache-control', 'no-store')
    .type('application/json; charset=utf-8')
    .send(body)
}

function translate (err: FastifyError | StorageError): StorageError {
  if (err instanceof StorageError) return err
  const code = API_ERRORS[err.code]
  if (code !== undefined) return new StorageError(code)
  if (err.code === 'MANUTENZIONE') return new StorageError('Unavailable', err.message)
  if (err.validation) return invalid(err)
  if (err.code === 'CORPO_NON_UTF8') return new StorageError('InvalidRequest', 'The body must be UTF-8')
  if (BROKEN_BODY.test(err.message)) return new StorageError('InvalidRequest', 'The body is truncated or malformed')
  const status = databaseProblem(err)?.status ?? err.statusCode ?? 500
  if (status >= 400 && status < 500) return new StorageError('InvalidRequest')
  return new StorageError(status === 503 ? 'Unavailable' : 'InternalError')
}

/** Names the invalid field, but not its value, which may be the token of a link. */
function invalid ({ validation, validationContext = 'body' }: FastifyError): StorageError {
  const [first] = validation ?? []
  return new StorageError('InvalidRequest', `${validationContext}${first?.instancePath ?? ''} ${first?.message ?? ''}`)
}

/** Supabase Storage's errors for links. The texts are fixed, so that they do not repeat the token. */
const FAULTS: Readonly<Record<LinkFault, () => StorageError>> = {
  invalid: () => new StorageError('InvalidJWT', 'signature verification failed'),
  expired: () => new StorageError('InvalidJWT', '"exp" claim timestamp check failed'),
  other: () => new StorageError('InvalidSignature')
}

/** @throws StorageError for a link that is not valid */
export function checkLink<T extends object> (link: T | LinkFault): T {
  if (typeof link === 'string') throw FAULTS[link]()
  return link
}
