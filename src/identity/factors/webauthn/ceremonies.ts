import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { validationFailed } from '../../errors.ts'
import type { User } from '../../people/find-users.ts'
import type { CredentialRow, NewCredential } from './credentials.ts'
import type { RelyingParty } from './relying-party.ts'

/* WebAuthn (W3C): creates challenges for devices and verifies their responses. The library is loaded on demand. */

const library = () => import('@simplewebauthn/server')

/** The purpose of a credential. A passkey is used alone, so its device must verify the person, e.g. by a PIN. */
export type Purpose = 'passkey' | 'factor'

/** Options for the browser, with their challenge, which the server stores. */
export interface CeremonyOptions { options: object, challenge: string }

/** Maximum length of a credential id (WebAuthn §4). A database index would reject a much longer one. */
const MAX_ID_BYTES = 1023
const TRANSPORT = /^[a-z0-9-]{1,32}$/i
const MAX_TRANSPORTS = 10

/** Options for a new credential. @param present the person's credentials, whose devices must not create a second one */
export async function creationOptions (
  { id, name }: RelyingParty, user: Pick<User, 'id' | 'email'>, present: readonly CredentialRow[], purpose: Purpose
): Promise<CeremonyOptions> {
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

/**
 * Options for an authentication.
 * @param allowed the accepted credentials. Without any, the device offers the site's passkeys
 */
export async function requestOptions (
  { id }: RelyingParty, allowed: readonly CredentialRow[], purpose: Purpose
): Promise<CeremonyOptions> {
  const { generateAuthenticationOptions } = await library()
  const options = await generateAuthenticationOptions({
    rpID: id,
    allowCredentials: allowed.map(({ credential_id, transports }) => ({ id: credential_id, transports })),
    userVerification: purpose === 'passkey' ? 'required' : 'preferred'
  })
  return { options, challenge: options.challenge }
}

/**
 * Verifies a response, and returns the created credential. Undefined when it is invalid or for another challenge.
 * @throws AuthError validation_failed when the credential id is too long
 */
export async function readCreation (
  { id, origins }: RelyingParty, answer: Record<string, unknown>, challenge: string, purpose: Purpose
): Promise<NewCredential | undefined> {
  const { verifyRegistrationResponse } = await library()
  const made = await verifyRegistrationResponse({
    // The library's type requires a valid response, but the library itself validates it.
    response: answer as unknown as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origins,
    expectedRPID: id,
    requireUserVerification: purpose === 'passkey'
  // For an invalid response the library throws its own errors, or returns `verified: false`.
  }).catch(() => undefined)
  if (!made?.verified) return undefined
  const { credential } = made.registrationInfo
  // The attested id. It may differ from the id in the request, which the schema limits.
  if (Buffer.byteLength(credential.id, 'base64url') > MAX_ID_BYTES) {
    throw validationFailed(`Credential id must not be longer than ${MAX_ID_BYTES} bytes`)
  }
  return {
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports: readTransports(credential.transports)
  }
}

/** The transports that the client reports. They are not attested. */
function readTransports (reported: unknown): string[] {
  if (!Array.isArray(reported)) return []
  return reported.filter((each) => typeof each === 'string' && TRANSPORT.test(each)).slice(0, MAX_TRANSPORTS)
}

/** Verifies a proof, and returns the device's counter after it. Undefined when the response is not a valid proof. */
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
      // As above, the library validates the response.
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
