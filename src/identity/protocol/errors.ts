import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { AuthErrorBody } from '#schemas/auth/errors.ts'
import type { Refusal } from '#src/http/auth.ts'
import { databaseProblem } from '#src/database/problems.ts'
import { challenge } from '#src/http/errors.ts'
import { AuthError, PRINTED_PASSWORD, validationFailed, type AuthErrorCode } from '../errors.ts'

/** The first version of the protocol in which clients read the short form of an error. */
const SHORT_SINCE = '2024-01-01'
const VERSION = /^\d{4}-\d{2}-\d{2}$/
const BEARER = /^Bearer \S+$/i

const NO_PERSON = new AuthError('bad_jwt', { message: 'invalid claim: missing sub claim' })

const REFUSALS: Readonly<Record<Refusal, AuthError>> = {
  no_authorization: new AuthError('no_authorization'),
  bad_jwt: new AuthError('bad_jwt'),
  session_not_found: new AuthError('session_not_found'),
  session_expired: new AuthError('session_not_found'),
  user_not_found: new AuthError('user_not_found', {
    status: 403, message: 'User from sub claim in JWT does not exist'
  }),
  user_banned: new AuthError('user_banned')
}

/** Error codes of this API, and the errors of Supabase Auth that replace them, with their own texts. */
const TRANSLATED: Readonly<Record<string, AuthError>> = {
  CORPO_NON_UTF8: new AuthError('bad_json', { message: 'The body must be UTF-8' }),
  // Like `PUT /user` in Supabase Auth.
  SECONDO_FATTORE_RICHIESTO: new AuthError('insufficient_aal', { status: 401 }),
  SECONDO_FATTORE_DA_REGISTRARE: new AuthError('insufficient_aal', {
    message: 'This account must enroll a second factor'
  }),
  PASSWORD_DA_CAMBIARE: new AuthError('weak_password', { status: 403, ...PRINTED_PASSWORD }),
  SECONDO_FATTORE_RECENTE: new AuthError('insufficient_aal', {
    message: 'A second factor verified in the last 15 minutes is required'
  })
}

/** The errors of this API to which a client of the provider can react, with the code that the client reads. */
const API_ERRORS: Readonly<Record<string, AuthErrorCode>> = {
  NON_AUTORIZZATO: 'not_admin',
  AMBITO_INSUFFICIENTE: 'not_admin',
  ACCOUNT_IN_ATTESA: 'not_admin',
  TROPPE_RICHIESTE: 'over_request_rate_limit',
  POSTA_NON_CONFIGURATA: 'email_provider_disabled',
  FST_ERR_CTP_INVALID_JSON_BODY: 'bad_json'
}

/** Codes for unknown paths and methods, which the protocol does not define. */
const UNKNOWN: Readonly<Record<string, string>> = {
  RISORSA_NON_TROVATA: 'Path not found', METODO_NON_AMMESSO: 'Method not allowed'
}

/** Renders an error for the clients of Supabase Auth. Logs an unexpected error, and responds with a fixed text. */
export function renderAuthError (err: FastifyError, request: FastifyRequest, reply: FastifyReply) {
  const error = translate(err, request)
  const { code, statusCode, message, reasons } = error
  if (statusCode === 503) {
    request.log.warn({ code: err.code }, 'request refused')
    if (!reply.hasHeader('retry-after')) reply.header('retry-after', '5')
  } else if (statusCode >= 500) {
    request.log.error({ err }, 'request failed')
  }
  if (statusCode === 401) challenge(request, reply)
  request.errorCode = code
  const version = request.headers['x-supabase-api-version']
  const isShort = typeof version === 'string' && VERSION.test(version) && version >= SHORT_SINCE
  if (isShort) reply.header('x-supabase-api-version', SHORT_SINCE)
  const body: AuthErrorBody = {
    ...(isShort ? { code, message } : { code: statusCode, error_code: code, msg: message }),
    ...(statusCode >= 500 && !isShort ? { error_id: request.id } : {}),
    ...(reasons === undefined ? {} : { weak_password: { reasons: [...reasons] } })
  }
  return reply.code(statusCode).headers({ 'x-sb-error-code': code, 'cache-control': 'no-store' })
    .type('application/json; charset=utf-8').send(body)
}

/** The anonymous key is a valid token, but it belongs to no person, so it gives no access to guarded routes. */
function refusalOf ({ refusal, headers, routeOptions }: FastifyRequest): AuthError {
  if (refusal !== 'no_authorization' || !BEARER.test(headers.authorization ?? '')) return REFUSALS[refusal]
  return routeOptions.config.access === 'admin' ? new AuthError('not_admin') : NO_PERSON
}

function invalid ({ validation, validationContext = 'body' }: FastifyError): AuthError {
  const [first] = validation ?? []
  return validationFailed(`${validationContext}${first?.instancePath ?? ''} ${first?.message ?? ''}`)
}

function translate (err: FastifyError, request: FastifyRequest): AuthError {
  if (err instanceof AuthError) return err
  if (err.code === 'NON_AUTENTICATO') return refusalOf(request)
  if (err.code === 'SERVE_UNA_PERSONA') return NO_PERSON
  const translated = TRANSLATED[err.code]
  if (translated !== undefined) return translated
  const code = API_ERRORS[err.code]
  if (code !== undefined) return new AuthError(code)
  const message = UNKNOWN[err.code]
  if (message !== undefined) return new AuthError('validation_failed', { status: err.statusCode, message })
  if (err.validation) return invalid(err)
  const status = databaseProblem(err)?.status ?? err.statusCode ?? 500
  if (status >= 400 && status < 500) return new AuthError('validation_failed', { status })
  if (err.code === 'MANUTENZIONE') return new AuthError('unexpected_failure', { status: 503, message: err.message })
  // Any other 5xx becomes 500, because a retry is useful only after a 503.
  return new AuthError('unexpected_failure', { status: status === 503 ? 503 : 500 })
}
