import createError from '@fastify/error'
import type { AUTH_ERROR_CODES } from '#schemas/auth/errors.ts'

/** The errors of the protocol by code: status and text, mostly from Supabase Auth (`internal/api/apierrors`). */
const AUTH_ERRORS = {
  insufficient_aal: [403, 'AAL2 session is required'],
  mfa_challenge_expired: [422, 'MFA challenge has expired, create a new challenge.'],
  mfa_factor_name_conflict: [422, 'A factor with this friendly name already exists for this user'],
  mfa_factor_not_found: [404, 'Factor not found'],
  mfa_ip_address_mismatch: [422, 'Challenge and verify IP addresses mismatch.'],
  mfa_phone_enroll_not_enabled: [422, 'MFA enroll is disabled for Phone'],
  mfa_recovery_codes_locked: [429, 'Too many failed attempts with recovery codes'],
  mfa_recovery_codes_sole_factor: [422, 'Recovery codes cannot be the only factor'],
  mfa_verification_failed: [422, 'Invalid TOTP code entered'],
  mfa_verified_factor_exists: [422, 'A verified factor of this kind already exists, unenroll it to continue'],
  mfa_webauthn_enroll_not_enabled: [422, 'MFA enroll is disabled for WebAuthn'],
  mfa_webauthn_verify_not_enabled: [422, 'MFA verification is disabled for WebAuthn'],
  passkey_disabled: [404, 'Passkeys are disabled'],
  too_many_passkeys: [422, 'Maximum number of passkeys reached'],
  webauthn_challenge_expired: [400, 'Challenge has expired'],
  webauthn_challenge_not_found: [400, 'Challenge not found or already used'],
  webauthn_credential_exists: [422, 'This credential is already registered'],
  webauthn_verification_failed: [400, 'Credential verification failed'],
  too_many_enrolled_mfa_factors: [422, 'Maximum number of verified factors reached, unenroll to continue'],
  bad_code_verifier: [400, 'code challenge does not match previously saved code verifier'],
  bad_json: [400, 'Could not parse request body as JSON'],
  bad_jwt: [403, 'invalid JWT: unable to parse or verify signature'],
  bad_oauth_callback: [400, 'OAuth callback is not valid'],
  bad_oauth_state: [400, 'OAuth state not found or expired'],
  current_password_invalid: [400, 'Current password required when setting new password.'],
  email_address_invalid: [400, 'Email address is invalid'],
  email_conflict_identity_not_deletable: [422, 'Unable to unlink identity due to email conflict'],
  email_exists: [422, 'A user with this email address has already been registered'],
  email_not_confirmed: [400, 'Email not confirmed'],
  email_provider_disabled: [422, 'Emails cannot be sent'],
  feature_disabled: [404, 'OAuth server is disabled'],
  flow_state_expired: [422, 'Flow state has expired'],
  flow_state_not_found: [404, 'Invalid flow state, no valid flow state found'],
  identity_already_exists: [422, 'Identity is already linked to another user'],
  identity_not_found: [422, 'Identity doesn\'t exist'],
  invalid_credentials: [400, 'Invalid login credentials'],
  last_admin: [422, 'The last administrator cannot be removed'],
  no_authorization: [401, 'This endpoint requires a valid Bearer token'],
  not_admin: [403, 'User not allowed'],
  otp_disabled: [422, 'Signups not allowed for otp'],
  otp_expired: [403, 'Token has expired or is invalid'],
  over_email_send_rate_limit: [429, 'Email rate limit exceeded'],
  over_request_rate_limit: [429, 'Request rate limit reached'],
  phone_provider_disabled: [400, 'Unsupported phone provider'],
  provider_email_needs_verification: [422, 'Unverified email with the provider'],
  provider_disabled: [400, 'Unsupported provider: provider is not enabled'],
  reauthentication_needed: [400, 'Password update requires reauthentication'],
  reauthentication_not_valid: [422, 'Nonce has expired or is invalid'],
  refresh_token_already_used: [400, 'Invalid Refresh Token: Already Used'],
  refresh_token_not_found: [400, 'Invalid Refresh Token: Refresh Token Not Found'],
  saml_provider_disabled: [404, 'SAML 2.0 is disabled'],
  same_password: [422, 'New password should be different from the old password.'],
  session_expired: [400, 'Invalid Refresh Token: Session Expired'],
  session_not_found: [403, 'Session from session_id claim in JWT does not exist'],
  signup_disabled: [422, 'Signups not allowed for this instance'],
  anonymous_provider_disabled: [422, 'Anonymous sign-ins are disabled'],
  single_identity_not_deletable: [422, 'User must have at least 1 identity after unlinking'],
  unexpected_failure: [500, 'Unexpected failure, please check server logs for more information'],
  user_already_exists: [422, 'User already registered'],
  user_banned: [403, 'User is banned'],
  user_not_found: [404, 'User not found'],
  validation_failed: [400, 'Invalid request'],
  weak_password: [422, 'Password is too weak'],
  web3_provider_disabled: [422, 'Web3 provider is disabled']
} as const satisfies Record<typeof AUTH_ERROR_CODES[number], readonly [status: number, text: string]>

export type AuthErrorCode = keyof typeof AUTH_ERRORS

/** An error with a Supabase Auth code. `protocol/errors.ts` renders it for the clients. */
export class AuthError extends Error {
  readonly code: AuthErrorCode
  readonly statusCode: number
  readonly reasons: readonly string[] | undefined
  constructor (
    code: AuthErrorCode,
    { message, status, reasons }: { message?: string; status?: number; reasons?: readonly string[] } = {}
  ) {
    super(message ?? AUTH_ERRORS[code][1])
    this.name = 'AuthError'
    this.code = code
    this.statusCode = status ?? AUTH_ERRORS[code][0]
    this.reasons = reasons
  }
}

/** The details of `weak_password` for a printed password. Supabase Auth has no code for one that must be replaced. */
export const PRINTED_PASSWORD = {
  message: 'This password was printed at the first start. Choose another one.', reasons: ['pwned']
}

export function validationFailed (message: string): AuthError {
  return new AuthError('validation_failed', { message })
}

export const EmailGiaRegistrata = createError(
  'EMAIL_GIA_REGISTRATA', 'Esiste già un account con questo indirizzo e-mail', 409
)
export const UtenteNonTrovato = createError('UTENTE_NON_TROVATO', 'Non c’è un operatore con questo id', 404)
export const ProviderNonCollegato = createError(
  'PROVIDER_NON_COLLEGATO', 'All’account non è collegato il provider «%s»', 404
)
export const UnicaIdentita = createError(
  'UNICA_IDENTITA', 'È l’unico modo di accedere a questo account: non può essere scollegato', 409
)
export const ChiaveNonTrovata = createError('CHIAVE_NON_TROVATA', 'Chiave API non trovata', 404)
export const TroppeChiavi = createError(
  'TROPPE_CHIAVI', 'Ci sono già %s chiavi API valide per questo account: revocarne una', 409
)
export const AmministrazioneNonDisponibile = createError(
  'AMMINISTRAZIONE_NON_DISPONIBILE',
  'Il provider di identità esterno non si può amministrare: manca IDP_SERVICE_KEY',
  503
)
export const ProviderNonRaggiungibile = createError(
  'PROVIDER_NON_RAGGIUNGIBILE', 'Provider di identità momentaneamente non raggiungibile: riprovare fra poco', 503
)
export const ScollegamentoNonAmmesso = createError(
  'SCOLLEGAMENTO_NON_AMMESSO', 'Il provider di identità esterno non permette di scollegare un accesso', 403
)
