import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { validationFailed } from '../../errors.ts'
import type { User } from '../../people/find-users.ts'
import type { CredentialRow, NewCredential } from './credentials.ts'
import type { RelyingParty } from './relying-party.ts'

/* WebAuthn (W3C): what a device is asked, and whether it has answered that. The library is loaded when it is needed. */

const library = () => import('@simplewebauthn/server')

/** What a credential is for: a passkey stands alone, so that its device must know its person, by a PIN or a finger. */
export type Purpose = 'passkey' | 'factor'

/** Options of a browser, and the challenge in them, which is kept. */
export interface Asked { options: object, challenge: string }

/** WebAuthn (§4): no credential id is longer. The index of a database would refuse a much longer one. */
const LONGEST_ID = 1023
const TRANSPORT = /^[a-z0-9-]{1,32}$/i
const MOST_TRANSPORTS = 10

/** Asks for a new credential. @param present the person's credentials: their devices need no second one */
export async function askToCreate (
  { id, name }: RelyingParty, user: Pick<User, 'id' | 'email'>, present: readonly CredentialRow[], purpose: Purpose
): Promise<Asked> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpID: id,
    rpName: name,
    userID: Uint8Array.from(Buffer.from(user.id)),
    userName: user.email,
    userDisplayName: user.email,
    excludeCredentials: present.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
    authenticatorSelection: purpose === 'passkey'
      ? { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }
      : { residentKey: 'discouraged', userVerification: 'preferred' }
  })
  return { options, challenge: options.challenge }
}

/** Asks for a proof. @param allowed the credentials that are asked for; none: any passkey that the device has */
export async function askToProve (
  { id }: RelyingParty, allowed: readonly CredentialRow[], purpose: Purpose
): Promise<Asked> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: id,
    allowCredentials: allowed.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
    userVerification: purpose === 'passkey' ? 'required' : 'preferred'
  })
  return { options, challenge: options.challenge }
}

/**
 * The credential that a device has made; undefined when the answer is not to this challenge, or is none.
 * @throws AuthError validation_failed for a credential id that is longer than any
 */
export async function readCreation (
  { id, origins }: RelyingParty, answer: Record<string, unknown>, challenge: string, purpose: Purpose
): Promise<NewCredential | undefined> {
  const { verifyRegistrationResponse } = await library()
  const made = await verifyRegistrationResponse({
    response: answer as unknown as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origins,
    expectedRPID: id,
    requireUserVerification: purpose === 'passkey'
  // The library throws for every fault of the answer, in words of its own.
  }).catch(() => undefined)
  if (!made?.verified) return undefined
  const { credential } = made.registrationInfo
  // The one that the device attests: it need not be the one beside it that the request's schema bounds.
  if (Buffer.byteLength(credential.id, 'base64url') > LONGEST_ID) {
    throw validationFailed(`Credential id must not be longer than ${LONGEST_ID} bytes`)
  }
  return {
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: readTransports(credential.transports)
  }
}

/** What the client says of ways to the device, which nothing attests. */
function readTransports (said: unknown): string[] {
  if (!Array.isArray(said)) return []
  return said.filter((each) => typeof each === 'string' && TRANSPORT.test(each)).slice(0, MOST_TRANSPORTS)
}

/** The counter that a device has reached with its proof; undefined when it has proven nothing. */
export async function readProof (
  { id, origins }: RelyingParty,
  answer: Record<string, unknown>,
  challenge: string,
  { credential_id, public_key, counter, transports }: CredentialRow,
  purpose: Purpose
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: answer as unknown as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origins,
      expectedRPID: id,
      credential: { id: credential_id, publicKey: Uint8Array.from(public_key), counter, transports },
      requireUserVerification: purpose === 'passkey'
    })
    return verified ? authenticationInfo.newCounter : undefined
  } catch {
    return undefined
  }
}
