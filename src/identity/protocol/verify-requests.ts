import type { Static } from '@sinclair/typebox'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import type { VerifyBody } from '#schemas/auth/requests.ts'
import { AuthError } from '../errors.ts'
import { requirePhone } from '../people/phone.ts'
import { requireAddress } from './mail-flows.ts'

const CONFIRMATIONS = ['signup', 'invite'] as const
const RECOVERIES = ['recovery', 'magiclink'] as const
const PHONE_TYPES = ['sms', 'phone_change']

/**
 * The kinds that each type of a request can prove. Supabase Auth keeps one token for the confirmation of an address and
 * one for signing in without a password, so that the types of each pair stand for each other.
 */
const KINDS: ReadonlyMap<string, readonly TokenKind[]> = new Map<string, readonly TokenKind[]>([
  ['signup', CONFIRMATIONS],
  ['invite', CONFIRMATIONS],
  ['magiclink', RECOVERIES],
  ['recovery', RECOVERIES],
  ['email', [...CONFIRMATIONS, ...RECOVERIES]],
  ['email_change', ['email_change_current', 'email_change_new']]
])

/** What somebody proves an address with: the code of a mail that it got, or the link. */
export type Proof = { kinds: readonly TokenKind[] } & ({ link: string } | { address: string, code: string })

/** @throws AuthError validation_failed; otp_expired for a telephone, which never gets a code */
export function proofOf ({ type, token: code, token_hash: link, email, phone }: Static<typeof VerifyBody>): Proof {
  if (Boolean(code) === Boolean(link)) {
    throw new AuthError('validation_failed', { message: 'Verify requires either a token or a token hash' })
  }
  if (link) {
    if (email || phone) {
      throw new AuthError('validation_failed', { message: 'Only the token_hash and type should be provided' })
    }
    return { kinds: kindsOf(type), link }
  }
  if (!email === !phone) {
    throw new AuthError('validation_failed', {
      message: 'Only an email address or phone number should be provided on verify'
    })
  }
  if (phone) {
    requirePhone(phone)
    throw new AuthError('otp_expired')
  }
  if (PHONE_TYPES.includes(type)) throw new AuthError('otp_expired')
  return { kinds: kindsOf(type), address: requireAddress({ email }), code: code! }
}

/** @throws AuthError validation_failed */
export function kindsOf (type: string): readonly TokenKind[] {
  if (type === '') throw new AuthError('validation_failed', { message: 'Verify requires a verification type' })
  const kinds = KINDS.get(type)
  if (!kinds) throw new AuthError('validation_failed', { message: 'Invalid email verification type' })
  return kinds
}
