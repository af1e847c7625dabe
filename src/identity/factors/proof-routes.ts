import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { and, eq, lt, sql } from 'drizzle-orm'
import { FactorChallenge, FactorParams, FactorVerifyBody } from '#schemas/auth/factor-requests.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { factor_challenges as t, factors } from '#drizzle/tables/identity.ts'
import { network } from '#src/lib/addresses.ts'
import type { Database, Executor, Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { getSignedIn, type SignedIn } from '../sign-in/person-sessions.ts'
import { METHODS } from '../session-status.ts'
import { isUuid, parseUuid } from '../uuid.ts'
import { checkAttempt } from './code-attempts.ts'
import { raiseSession, requireProof } from './proof.ts'
import { getFactor, markVerified, takeStep, type StoredFactor } from './factor-store.ts'
import { matchStep, unsealSecret } from './totp.ts'
import { relyingParty, type RelyingParty } from './webauthn/relying-party.ts'
import { getUser } from '../people/find-users.ts'
import {
  creationOptions, requestOptions, readCreation, readProof, type CeremonyOptions
} from './webauthn/ceremonies.ts'
import { addCredential, listOfFactors, noteUse } from './webauthn/credentials.ts'

/** Routes that prove a second factor. The first proof verifies the factor. Each proof raises the session to `aal2`. */
const proofRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/factors/:factor_id/challenge', route(
    { access: 'user', signIn: true }, 'authChallengeFactor', 'Comincia la conferma di un secondo fattore', {
      params: FactorParams, body: EmptyBody, response: { 200: FactorChallenge }
    }
  ), async (request) => await challenge(request, request.params.factor_id))

  app.post('/factors/:factor_id/verify', route(
    { access: 'user', signIn: true },
    'authVerifyFactor', 'Conferma un secondo fattore con un codice, o con un dispositivo', {
      params: FactorParams, body: FactorVerifyBody, response: { 200: Ref(AuthSession) }
    }
  ), async (request, reply) => await verify(request, reply, request.params.factor_id, request.body))
}
export default proofRoutes

async function challenge (request: FastifyRequest, factorId: string): Promise<Static<typeof FactorChallenge>> {
  const { server: app, principal } = request
  const factor = await getProvable(app, principal!.userId!, factorId)
  const type = factor.factor_type
  const asked = type === 'webauthn' ? await askDevice(app.db, requireDevices(app), factor) : undefined
  const { id, expiresAt } = await beginChallenge(app.db, factor.id, network(request.ip), asked?.challenge ?? null)
  const expires_at = Math.floor(expiresAt.getTime() / 1000)
  if (asked === undefined) return { id, type, expires_at }
  const credential_options = { publicKey: asked.options }
  return { id, type, expires_at, webauthn: { type: asked.type, credential_options } }
}

async function verify (
  request: FastifyRequest,
  reply: FastifyReply,
  factorId: string,
  { code = '', challenge_id, webauthn }: Static<typeof FactorVerifyBody>
): Promise<AuthSession> {
  const { server: app, principal } = request
  const { signer, waitForListeners } = app.identity
  const factor = await getProvable(app, principal!.userId!, factorId)
  if (code === '' && factor.factor_type === 'totp') throw validationFailed('Code needs to be non-empty')
  const challenge = await checkChallenge(app.db, factor.id, challenge_id, network(request.ip))
  const take = challenge === null
    ? await proveTotp(request, reply, factor, code)
    : await proveDevice(request, reply, factor, challenge, webauthn)
  const { user, session } = await app.db.transaction(async (tx) => (
    await takeProof(tx, request, factor, async () => {
      await endChallenge(tx, challenge_id)
      return await take(tx)
    })
  ))
  if (factor.status === 'unverified') app.mail.deliver()
  await waitForListeners()
  return await sessionResponse(signer, user, session)
}

async function takeProof (
  tx: Transaction, request: FastifyRequest, factor: StoredFactor, take: () => Promise<boolean>
): Promise<SignedIn> {
  const { server: app } = request
  const signedIn = await getSignedIn(tx, request.principal!)
  const { user, session } = signedIn
  const { id, factor_type: type, status } = factor
  // Since the proof was checked, the factor may have been removed, or verified by another device.
  if ((await getFactor(tx, user.id, id)).status !== status) throw new AuthError('mfa_verification_failed')
  // A stranger who knows only the password must not make their own device the second factor.
  const message = 'AAL2 required to verify a further factor'
  if (status === 'unverified') requireProof(signedIn, app.identity.config, { message })
  if (!await take()) throw new AuthError('mfa_verification_failed')
  if (status === 'unverified') await markVerified(tx, factor)
  const raised = await raiseSession(tx, session, factor)
  if (status === 'unverified') {
    await notify(app, tx, user, 'factor_added')
    await record(tx, request, 'fattore_confermato', `factor:${id}`, { type })
  }
  await record(tx, request, 'accesso', `session:${raised.session.id}`, { method: METHODS[type] })
  return raised
}

async function proveTotp (
  request: FastifyRequest, reply: FastifyReply, factor: StoredFactor, code: string
): Promise<Take> {
  const secret = unsealSecret(request.server.identity.keys, factor.id, factor.secret!)
  const step = matchStep(secret, code, factor.last_step, Date.now())
  await checkAttempt(request, reply, { purpose: 'second-factor', factorId: factor.id, isRight: step !== undefined })
  return (tx) => takeStep(tx, factor, step!)
}

async function proveDevice (
  request: FastifyRequest,
  reply: FastifyReply,
  factor: StoredFactor,
  challenge: string,
  proof: DeviceProof | undefined
): Promise<Take> {
  const { server: app } = request
  const take = await checkDevice(app.db, requireDevices(app), factor, challenge, proof)
  await checkAttempt(request, reply, { purpose: 'device', factorId: factor.id, isRight: take !== undefined })
  return take!
}

function requireDevices ({ identity: { config } }: FastifyInstance): RelyingParty {
  const party = relyingParty(config)
  if (party === undefined) throw new AuthError('mfa_webauthn_verify_not_enabled')
  return party
}

/** Returns a person's factor that can be proven with a challenge. */
async function getProvable ({ db }: FastifyInstance, userId: string, id: string): Promise<StoredFactor> {
  const factor = await getFactor(db, userId, parseUuid(id, 'factor_id'))
  if (factor.factor_type !== 'recovery_code') return factor
  throw new AuthError('validation_failed', {
    status: 422, message: 'Recovery codes have no challenge, use POST /factors/recovery-codes/verify'
  })
}

const LIFETIME_MS = 300_000

interface Challenge { id: string, expiresAt: Date }

/** Starts the proof of a factor. @param network of the client. @param challenge the text that a device must sign */
async function beginChallenge (
  db: Executor, factor_id: string, network: string, challenge: string | null
): Promise<Challenge> {
  const [, [made]] = await Promise.all([
    db.delete(t).where(and(eq(t.factor_id, factor_id), lt(t.created_at, sql`now() - interval '1 hour'`))),
    db.insert(t).values({ factor_id, network, challenge }).returning(),
    db.update(factors).set({ last_challenged_at: new Date() }).where(eq(factors.id, factor_id))
  ])
  return { id: made!.id, expiresAt: new Date(made!.created_at.getTime() + LIFETIME_MS) }
}

/** The challenge that a device had to sign. Null for TOTP. */
async function checkChallenge (db: Executor, factor_id: string, id: string, network: string): Promise<string | null> {
  const [found] = isUuid(id) ? await db.select().from(t).where(and(eq(t.id, id), eq(t.factor_id, factor_id))) : []
  if (!found) throw unknownChallenge()
  if (found.network !== network) throw new AuthError('mfa_ip_address_mismatch')
  if (found.created_at.getTime() + LIFETIME_MS <= Date.now()) throw new AuthError('mfa_challenge_expired')
  return found.challenge
}

async function endChallenge (tx: Transaction, id: string): Promise<void> {
  const ended = await tx.delete(t).where(eq(t.id, id)).returning({ id: t.id })
  if (ended.length === 0) throw unknownChallenge()
}

function unknownChallenge (): AuthError {
  return new AuthError('mfa_factor_not_found', {
    status: 422, message: 'MFA factor with the provided challenge ID not found'
  })
}

/** Records a proof as used. Returns false if another request has used the same proof meanwhile. */
type Take = (tx: Transaction) => Promise<boolean>

interface DeviceProof { type: string, credential_response: Record<string, unknown> }

/** A device creates a key for an unverified factor, and signs with that key for a verified one. */
const kindOf = ({ status }: StoredFactor) => status === 'verified' ? 'request' : 'create'

async function askDevice (
  db: Database, party: RelyingParty, factor: StoredFactor
): Promise<CeremonyOptions & { type: 'create' | 'request' }> {
  const { id, user_id } = factor
  const type = kindOf(factor)
  const asked = type === 'create'
    ? await creationOptions(party, await getUser(db, user_id), await listOfFactors(db, user_id), 'factor')
    : await requestOptions(party, await listOfFactors(db, user_id, id), 'factor')
  return { ...asked, type }
}

/**
 * Checks a device's response to a challenge. Undefined when the response is not a valid proof.
 * @throws AuthError validation_failed
 */
async function checkDevice (
  db: Database, party: RelyingParty, factor: StoredFactor, challenge: string, proof: DeviceProof | undefined
): Promise<Take | undefined> {
  const { id: factor_id, user_id } = factor
  if (proof?.type !== kindOf(factor)) throw validationFailed(`WebAuthn type must be ${kindOf(factor)}`)
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
