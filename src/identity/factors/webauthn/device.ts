import type { Database, Transaction } from '#src/database/connect.ts'
import { AuthError } from '../../errors.ts'
import { getUser } from '../../people/find-users.ts'
import type { StoredFactor } from '../store.ts'
import { askToCreate, askToProve, readCreation, readProof, type Asked } from './ceremonies.ts'
import { addCredential, listOfFactors, noteUse } from './credentials.ts'
import type { RelyingParty } from './relying-party.ts'

/** What is done with a proof, in the transaction that counts on it. False when it has been taken meanwhile. */
export type Take = (tx: Transaction) => Promise<boolean>

/** The answer of a device, as a client sends it. */
export interface DeviceProof { type: string, credential_response: Record<string, unknown> }

/** A device makes its key with the factor's first challenge, and signs with it from then on. */
const kindOf = ({ status }: StoredFactor) => status === 'verified' ? 'request' : 'create'

/** What a device is asked for a factor. */
export async function askDevice (
  db: Database,
  party: RelyingParty,
  factor: StoredFactor
): Promise<Asked & { type: 'create' | 'request' }> {
  const { id, user_id } = factor
  const type = kindOf(factor)
  const asked = type === 'create'
    ? await askToCreate(party, await getUser(db, user_id), await listOfFactors(db, user_id), 'factor')
    : await askToProve(party, await listOfFactors(db, user_id, id), 'factor')
  return { ...asked, type }
}

/**
 * Checks what a device has answered to a challenge. Undefined: nothing is proven.
 * @throws AuthError validation_failed
 */
export async function checkDevice (
  db: Database,
  party: RelyingParty,
  factor: StoredFactor,
  challenge: string,
  proof: DeviceProof | undefined
): Promise<Take | undefined> {
  const { id: factor_id, user_id } = factor
  if (proof?.type !== kindOf(factor)) {
    throw new AuthError('validation_failed', { message: `WebAuthn type must be ${kindOf(factor)}` })
  }
  const { credential_response: answer } = proof
  if (proof.type === 'create') {
    const made = await readCreation(party, answer, challenge, 'factor')
    return made && (async (tx) => {
      await addCredential(tx, { ...made, user_id, factor_id })
      return true
    })
  }
  const [known] = await listOfFactors(db, user_id, factor_id)
  const counter = known && answer.id === known.credential_id
    ? await readProof(party, answer, challenge, known, 'factor')
    : undefined
  return counter === undefined ? undefined : (tx) => noteUse(tx, known!.id, counter)
}
