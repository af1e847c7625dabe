import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ErrorBody, FieldError } from '#schemas/common.ts'
import { describeFields, ShapedError } from '#src/lib/errors.ts'
import { normalizeClientIp } from './connections.ts'
import { databaseProblem, isUnavailable, NO_SPACE } from '#src/database/problems.ts'
import { requestLog } from './logging.ts'
import { fieldErrors } from './validation-messages.ts'

declare module 'fastify' {
  interface FastifyError {
    /** The invalid fields, for a 400. */
    dettagli?: FieldError[]
    /** Additional body fields for errors that have their own shape in the contract. */
    body?: Record<string, unknown>
    /** Whether the request changed no data, and a retry may succeed. */
    transient?: boolean
  }
  interface FastifyRequest {
    /** Whether the request failed without changing data, and a retry may succeed. */
    failedTransiently: boolean
    /** The `codice` of the error response. */
    errorCode: string | undefined
  }
}

interface Problem {
  status: number
  codice: string
  error: string
  dettagli?: FieldError[]
  body?: Record<string, unknown>
}

const INTERNAL: Problem = { status: 500, codice: 'ERRORE_INTERNO', error: 'Errore interno del server' }

/** Errors of Fastify and its plugins, mapped to the error codes of this API. */
const FRAMEWORK: Readonly<Record<string, Problem>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: {
    status: 400,
    codice: 'JSON_NON_VALIDO',
    error: 'Il corpo della richiesta non è JSON valido'
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: { status: 400, codice: 'JSON_NON_VALIDO', error: 'Il corpo della richiesta è vuoto' },
  FST_ERR_CTP_BODY_TOO_LARGE: {
    status: 413,
    codice: 'CORPO_TROPPO_GRANDE',
    error: 'Il corpo della richiesta è troppo grande'
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    codice: 'TIPO_NON_SUPPORTATO',
    error: 'Content-Type non supportato: serve application/json'
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    status: 400,
    codice: 'RICHIESTA_NON_VALIDA',
    error: 'Content-Length non corrisponde al corpo'
  },
  FST_ERR_BAD_URL: { status: 400, codice: 'URL_NON_VALIDO', error: 'Indirizzo non valido' },
  FST_ERR_MAX_PARAM_LENGTH: { status: 414, codice: 'URL_NON_VALIDO', error: 'Indirizzo troppo lungo' }
}

const CLIENT_ERRORS: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'Intestazioni della richiesta troppo grandi'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'La richiesta non è arrivata in tempo']
}

/** Headers for responses that bypass `security.ts`. */
const BARE_HEADERS = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff'
}

/**
 * Turns every error into a response: `{error, status, codice, requestId}`, plus `dettagli` on a 400, and the fields of
 * a `ShapedError`. For a 5xx it logs the cause, and the response has a fixed text.
 */
export default fp(async function errors (app) {
  app.decorateRequest('failedTransiently', false)
  app.decorateRequest('errorCode', undefined)
  app.setErrorHandler(renderError)
}, { name: 'errors' })

/**
 * Responds to requests that the router rejects before hooks run. It sets the client IP and headers, writes the log
 * line, and counts the request for the rate limit.
 */
export function renderFrameworkError (
  err: FastifyError, request: FastifyRequest, reply: FastifyReply, render = renderError
): void {
  normalizeClientIp(request)
  const refuse = (problem: FastifyError) => {
    render(problem, request, reply.headers({ ...BARE_HEADERS, 'x-request-id': request.id }))
    requestLog.requestCompleted(null, request, reply)
  }
  request.server.countBare(request, reply).then(() => refuse(err), refuse)
}

export function renderError (err: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const problem = prepareErrorReply(err, request, reply)
  const { status, codice, error, dettagli, body } = problem
  const fields = dettagli ?? wholeBody(problem)
  const response: ErrorBody = {
    error,
    status,
    codice,
    requestId: request.id,
    ...fields && { dettagli: fields },
    ...body
  }
  // A failed stream may already have set its own content type.
  return reply.type('application/json; charset=utf-8').send(response)
}

/** Logs an error and sets the status and headers. Scopes that write their own error body also call it. */
export function prepareErrorReply (err: FastifyError, request: FastifyRequest, reply: FastifyReply): Problem {
  // JavaScript can throw any value, also null.
  const problem = err instanceof Error ? problemOf(err, request) : INTERNAL
  if (problem.status >= 500) logFailure(request.log, err, problem)
  request.errorCode = problem.codice
  request.failedTransiently = err instanceof Error && err.transient === true
  if (problem.status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '5')
  if (problem.status === 401) challenge(request, reply)
  // A failed response must not have the `ETag` or `Location` of a successful one.
  if (problem.status >= 500) reply.removeHeader('etag').removeHeader('location')
  // The failed response may have set an encoding. A request that was rejected early ran no hook that sets its id.
  reply.code(problem.status).removeHeader('content-encoding')
    .headers({ 'cache-control': 'no-store', 'x-request-id': request.id })
  return problem
}

/** Adds `WWW-Authenticate` to a 401. It tells the client whether a token was rejected (RFC 6750, section 3). */
export function challenge ({ refusal }: FastifyRequest, reply: FastifyReply): void {
  const error = refusal === 'no_authorization' ? '' : ', error="invalid_token"'
  reply.header('www-authenticate', `Bearer realm="Locanda"${error}`)
}

/** Fastify does not see requests that the HTTP parser rejects, so the same body is written to the socket. */
export function renderClientError (err: NodeJS.ErrnoException, socket: Socket) {
  if (err.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return socket.destroy()
  const [status, reason, error] = CLIENT_ERRORS[err.code ?? ''] ?? [400, 'Bad Request', 'Richiesta HTTP non valida']
  const problem = { status, codice: 'RICHIESTA_NON_VALIDA', error }
  const dettagli = wholeBody(problem)
  const body = JSON.stringify({
    ...problem,
    requestId: randomUUID(),
    ...dettagli && { dettagli }
  } satisfies ErrorBody)
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...BARE_HEADERS,
    'cache-control': 'no-store',
    connection: 'close'
  }
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n${body}`
  )
}

/** Every 400 has `dettagli`. Their field name is empty when the whole request is invalid. */
function wholeBody ({ status, error }: Problem): FieldError[] | undefined {
  return status === 400 ? [{ campo: '', messaggio: error }] : undefined
}

function problemOf (err: FastifyError, request: FastifyRequest): Problem {
  if (err.validation) {
    const dettagli = fieldErrors(request, err)
    return {
      status: 400,
      codice: 'RICHIESTA_NON_VALIDA',
      error: `Richiesta non valida: ${describeFields(dettagli)}`,
      dettagli
    }
  }
  const framework = FRAMEWORK[err.code]
  if (framework) return framework
  const database = databaseProblem(err)
  // PostgreSQL shuts down when it cannot write its WAL, so an unavailable database may mean a full disk.
  if (database) return isUnavailable(err) && request.server.isDiskFullReported(err) ? NO_SPACE : database
  const status = err.statusCode ?? 500
  // Errors outside the error catalogue keep their status, but not their message, because it may reveal details.
  if (!isOurs(err)) {
    return status >= 400 && status < 500
      ? { status, codice: 'RICHIESTA_NON_VALIDA', error: 'Richiesta non valida' }
      : INTERNAL
  }
  const { code: codice, message: error, dettagli, body } = err
  return { status, codice, error, ...(dettagli ? { dettagli } : {}), ...(body ? { body } : {}) }
}

function isOurs (err: FastifyError): boolean {
  return err instanceof ShapedError || (err.name === 'FastifyError' && !err.code.startsWith('FST_'))
}

function logFailure (log: FastifyBaseLogger, err: FastifyError, { status, codice }: Problem) {
  if (status === 503 || status === 507) log.warn({ codice }, 'request refused')
  else log.error({ err }, 'request failed')
}
