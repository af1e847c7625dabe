import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ErrorBody, FieldError } from '#schemas/common.ts'
import { describeFields, ShapedError } from '#src/lib/errors.ts'
import { settleAddress } from './connections.ts'
import { databaseProblem, isUnavailable, NO_SPACE } from '#src/database/problems.ts'
import { requestLog } from './logging.ts'
import { fieldErrors } from './validation-messages.ts'

declare module 'fastify' {
  interface FastifyError {
    /** Fields at fault, of a 400. */
    dettagli?: FieldError[]
    /** Further fields of the body, where the contract gives an error a shape of its own. */
    body?: Record<string, unknown>
    /** Nothing was done, and the same request may succeed later. */
    transient?: boolean
  }
  interface FastifyRequest {
    /** Its failure left nothing behind. */
    failedTransiently: boolean
    /** The machine code of the error that it was answered with. */
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

/** What Fastify and its plugins throw, in the words of this API. */
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

/** For answers that pass by the security headers of `security.ts`. */
const BARE_HEADERS = {
  'content-security-policy': "default-src 'none';frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff'
}

/**
 * The one place that turns an error into an answer: `{error, status, codice, requestId}` plus `dettagli` on a 400.
 * A 5xx is logged with its cause and answered with a fixed text.
 */
export default fp(async function errors (app) {
  app.decorateRequest('failedTransiently', false)
  app.decorateRequest('errorCode', undefined)
  app.setErrorHandler(renderError)
}, { name: 'errors' })

/**
 * What the router refuses meets no hook: its address, its log line and the headers of every answer are set here, and
 * it is counted, so that a burst of it meets the limit.
 */
export function renderFrameworkError (
  err: FastifyError, request: FastifyRequest, reply: FastifyReply, render = renderError
): void {
  settleAddress(request)
  const refuse = (problem: FastifyError) => {
    render(problem, request, reply.headers({ ...BARE_HEADERS, 'x-request-id': request.id }))
    requestLog.requestCompleted(null, request, reply)
  }
  request.server.countBare(request, reply).then(() => refuse(err), refuse)
}

export function renderError (err: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const problem = settleError(err, request, reply)
  const { status, codice, error, dettagli, body } = problem
  const fields = dettagli ?? wholeBody(problem)
  const answer: ErrorBody = { error, status, codice, requestId: request.id, ...fields && { dettagli: fields }, ...body }
  // A stream that failed may have set its own type already.
  return reply.type('application/json; charset=utf-8').send(answer)
}

/** Logs an error, and sets the status and the headers of its answer: for scopes that write the body themselves. */
export function settleError (err: FastifyError, request: FastifyRequest, reply: FastifyReply): Problem {
  // JavaScript throws anything, null too.
  const problem = err instanceof Error ? problemOf(err, request) : INTERNAL
  if (problem.status >= 500) logFailure(request.log, err, problem)
  request.errorCode = problem.codice
  request.failedTransiently = err instanceof Error && err.transient === true
  if (problem.status === 503 && !reply.hasHeader('retry-after')) reply.header('retry-after', '5')
  if (problem.status === 401) challenge(request, reply)
  // They belong to what was done, and an answer that failed does not tell of it.
  if (problem.status >= 500) reply.removeHeader('etag').removeHeader('location')
  // Of the answer that failed. What is refused at once meets no hook that sets the request's id.
  reply.code(problem.status).removeHeader('content-encoding')
    .headers({ 'cache-control': 'no-store', 'x-request-id': request.id })
  return problem
}

/** Says on a 401 how to sign in, and whether a token was refused (RFC 6750, section 3). */
export function challenge ({ refusal }: FastifyRequest, reply: FastifyReply): void {
  const error = refusal === 'no_authorization' ? '' : ', error="invalid_token"'
  reply.header('www-authenticate', `Bearer realm="Locanda"${error}`)
}

/** What the HTTP parser refuses never becomes a request: the same body, written on the bare socket. */
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

/** A 400 says what is wrong in `dettagli`, always; where it is no field, the name is empty. */
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
  // PostgreSQL ends where it cannot write its log.
  if (database) return isUnavailable(err) && request.server.isToldOfDisk(err) ? NO_SPACE : database
  const status = err.statusCode ?? 500
  // Anything not from the catalogue keeps its status but not its words: they may say more than they should.
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
  if (status === 503) log.warn({ codice }, 'request refused')
  else log.error({ err }, 'request failed')
}
