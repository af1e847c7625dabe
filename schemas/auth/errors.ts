import { Type, type Static } from '@sinclair/typebox'
import { Closed, OneOf } from '#schemas/common.ts'

/** The error codes of Supabase Auth that this server uses. `src/identity/errors.ts` has statuses and texts. */
export const AUTH_ERROR_CODES = [
  'anonymous_provider_disabled', 'bad_code_verifier', 'bad_json', 'bad_jwt', 'bad_oauth_callback', 'bad_oauth_state',
  'current_password_invalid', 'email_address_invalid', 'email_conflict_identity_not_deletable', 'email_exists',
  'email_not_confirmed', 'email_provider_disabled', 'feature_disabled', 'flow_state_expired', 'flow_state_not_found',
  'identity_already_exists', 'identity_not_found', 'insufficient_aal', 'invalid_credentials', 'last_admin',
  'mfa_challenge_expired', 'mfa_factor_name_conflict', 'mfa_factor_not_found', 'mfa_ip_address_mismatch',
  'mfa_phone_enroll_not_enabled', 'mfa_recovery_codes_locked', 'mfa_recovery_codes_sole_factor',
  'mfa_verification_failed', 'mfa_verified_factor_exists', 'mfa_webauthn_enroll_not_enabled',
  'mfa_webauthn_verify_not_enabled', 'no_authorization', 'not_admin', 'otp_disabled', 'otp_expired',
  'over_email_send_rate_limit', 'over_request_rate_limit', 'passkey_disabled', 'phone_provider_disabled',
  'provider_disabled', 'provider_email_needs_verification', 'reauthentication_needed', 'reauthentication_not_valid',
  'refresh_token_already_used', 'refresh_token_not_found', 'same_password', 'saml_provider_disabled',
  'session_expired', 'session_not_found', 'signup_disabled', 'single_identity_not_deletable',
  'too_many_enrolled_mfa_factors', 'too_many_passkeys', 'unexpected_failure', 'user_already_exists', 'user_banned',
  'user_not_found', 'validation_failed', 'weak_password', 'web3_provider_disabled', 'webauthn_challenge_expired',
  'webauthn_challenge_not_found', 'webauthn_credential_exists', 'webauthn_verification_failed'
] as const

/**
 * The error format of the identity protocol. Clients that send `X-Supabase-Api-Version` read `{code, message}`, others
 * `{code: <status>, error_code, msg}`.
 */
export const AuthErrorBody = Closed(
  {
    code: Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      description: 'Lo status; nella forma breve il codice, uno di quelli di `error_code`'
    }),
    message: Type.Optional(Type.String({ description: 'Il testo, nella forma breve' })),
    error_code: Type.Optional(OneOf(AUTH_ERROR_CODES, { description: 'Il codice, che un programma riconosce' })),
    msg: Type.Optional(Type.String({ description: 'Il testo' })),
    error_id: Type.Optional(Type.String({
      description: 'Con un errore del server: identifica la richiesta nel suo registro'
    })),
    weak_password: Type.Optional(Closed({ reasons: Type.Array(Type.String()) }))
  },
  { $id: 'ErroreAuth', examples: [{ code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }] }
)
export type AuthErrorBody = Static<typeof AuthErrorBody>
