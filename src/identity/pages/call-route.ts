import type { FastifyReply, FastifyRequest, LightMyRequestResponse } from 'fastify'
import type { TextKey } from './page-texts.ts'

/** The error response of a route, which a page explains to the person. */
export class Refused extends Error {
  readonly status: number
  readonly code: string
  readonly reasons: readonly string[]
  /** Seconds to wait before a retry. */
  readonly retryAfter: number
  constructor (status: number, code: string, reasons: readonly string[] = [], retryAfter = 0) {
    super(code)
    this.status = status
    this.code = code
    this.reasons = reasons
    this.retryAfter = retryAfter
  }
}

export function refusalOf (err: unknown): Refused {
  if (err instanceof Refused) return err
  throw err
}

export interface RouteCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  url: string
  token?: string
  /** JSON, or the bytes of a file form. */
  payload?: object
  headers?: Readonly<Record<string, string>>
}

/** Calls a route like `callRoute`, and returns every response, also a refusal. */
export async function injectRoute (
  request: FastifyRequest, { method, url, token, payload, headers }: RouteCall
): Promise<LightMyRequestResponse> {
  const { 'user-agent': agent, cookie } = request.headers
  return await request.server.inject({
    method,
    url,
    remoteAddress: request.ip,
    headers: {
      ...(agent === undefined ? {} : { 'user-agent': agent }),
      // The protocol recognizes the browser of the sign-up by a cookie.
      ...(cookie === undefined ? {} : { cookie }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers
    },
    ...(payload === undefined ? {} : { payload })
  })
}

interface ErrorResponse { error_code?: string, codice?: string, weak_password?: { reasons: string[] } }

/**
 * Calls a route of this server for the person, in process. The pages use the same routes as every other client, so the
 * same checks, rate limits, audit log and second-factor rules apply.
 * @param reply the reply that gets the cookies of the route's response
 * @returns the JSON of the response
 * @throws Refused
 */
export async function callRoute<T = unknown> (
  request: FastifyRequest, call: RouteCall, reply?: FastifyReply
): Promise<T> {
  const response = await injectRoute(request, call)
  const { statusCode, headers: { 'retry-after': retryAfter = 0, 'set-cookie': cookies } } = response
  const body: unknown = response.body === '' ? {} : response.json()
  if (statusCode < 400) {
    if (cookies !== undefined) reply?.header('set-cookie', cookies)
    return body as T
  }
  const { error_code, codice = '', weak_password } = body as ErrorResponse
  throw new Refused(statusCode, error_code ?? codice, weak_password?.reasons, Number(retryAfter))
}

const WORDS: ReadonlyMap<string, TextKey> = new Map(Object.entries({
  invalid_credentials: 'wrongCredentials',
  email_not_confirmed: 'notConfirmed',
  user_banned: 'banned',
  otp_expired: 'linkOver',
  email_provider_disabled: 'noMail',
  same_password: 'samePassword',
  current_password_invalid: 'wrongCurrent',
  reauthentication_needed: 'signInAgain',
  mfa_verification_failed: 'wrongCode',
  mfa_challenge_expired: 'wrongCode',
  mfa_factor_not_found: 'wrongCode',
  mfa_factor_name_conflict: 'nameTaken',
  too_many_enrolled_mfa_factors: 'tooManyFactors',
  too_many_passkeys: 'tooManyPasskeys',
  single_identity_not_deletable: 'lastIdentity',
  email_conflict_identity_not_deletable: 'lastIdentity',
  identity_already_exists: 'identityTaken',
  flow_state_not_found: 'providerFailed',
  flow_state_expired: 'providerFailed',
  bad_code_verifier: 'providerFailed',
  webauthn_verification_failed: 'deviceFailed',
  webauthn_challenge_expired: 'deviceFailed',
  webauthn_challenge_not_found: 'deviceFailed',
  webauthn_credential_exists: 'deviceFailed',
  TROPPE_CHIAVI: 'tooManyKeys',
  ACCOUNT_IN_ATTESA: 'pendingAccount',
  APPLICAZIONE_NON_VALIDA: 'badApp',
  COOKIE_ASSENTI: 'cookiesOff',
  MODULO_ESTRANEO: 'foreignForm',
  METODO_NON_AMMESSO: 'notFound',
  RISORSA_NON_TROVATA: 'notFound'
}))

/** Reasons for a weak password, in the order of precedence. */
const WEAKNESSES: readonly (readonly [string, TextKey])[] = [
  ['length', 'passwordLength'], ['characters', 'passwordCharacters'], ['pwned', 'passwordWeak']
]

/** The key of the text that explains a refusal. @param otherwise the key for codes without a text for users */
export function textKeyFor (
  { status, code, reasons }: Pick<Refused, 'status' | 'code' | 'reasons'>, otherwise: TextKey = 'failed'
): TextKey {
  if (status === 429) return 'tooMany'
  if (status >= 500) return 'unavailable'
  return WEAKNESSES.find(([reason]) => reasons.includes(reason))?.[1] ?? WORDS.get(code) ?? otherwise
}
