import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { FactorChallenge, FactorParams, FactorVerifyBody } from '#schemas/auth/factor-requests.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { network } from '#src/lib/addresses.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Database } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { notify } from '../sign-in/notices.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { getSignedIn } from '../sign-in/sessions.ts'
import { parseUuid } from '../uuid.ts'
import { beginChallenge, checkChallenge, endChallenge } from './challenges.ts'
import { codeTries } from './limits.ts'
import { METHODS } from './methods.ts'
import { requireProof } from './proof.ts'
import { raiseSession } from './raise-session.ts'
import { unsealSecret } from './secrets.ts'
import { getFactor, takeStep, verifyFactor, type StoredFactor } from './store.ts'
import { matchStep } from './totp.ts'
import { askDevice, checkDevice, type DeviceProof, type Take } from './webauthn/device.ts'
import { relyingParty, type RelyingParty } from './webauthn/relying-party.ts'

const tags = ['Provider di identità']

/** People prove a second factor: the first proof verifies it, every one brings the session to `aal2`. */
const verifyRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  const { db, audit, identity: { signer, waitForListeners } } = app
  const judgeCode = codeTries(app, { config })
  const party = relyingParty(config)

  app.route({
    method: 'POST',
    url: '/factors/:factor_id/challenge',
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authChallengeFactor',
      tags,
      summary: 'Comincia la conferma di un secondo fattore',
      params: FactorParams,
      body: EmptyBody,
      response: { 200: FactorChallenge }
    },
    handler: async (request) => {
      const factor = await getProvable(db, request.principal!.userId!, request.params.factor_id)
      const type = factor.factor_type
      const asked = type === 'webauthn' ? await askDevice(db, requireDevices(party), factor) : undefined
      const challenge = asked?.challenge ?? null
      const { id, expiresAt } = await beginChallenge(db, factor.id, network(request.ip), challenge)
      const expires_at = Math.floor(expiresAt.getTime() / 1000)
      if (asked === undefined) return { id, type, expires_at }
      const credential_options = { publicKey: asked.options }
      return { id, type, expires_at, webauthn: { type: asked.type, credential_options } }
    }
  })

  app.route({
    method: 'POST',
    url: '/factors/:factor_id/verify',
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authVerifyFactor',
      tags,
      summary: 'Conferma un secondo fattore con un codice, o con un dispositivo',
      params: FactorParams,
      body: FactorVerifyBody,
      response: { 200: Ref(AuthSession) }
    },
    handler: async (request, reply) => {
      const { code = '', challenge_id, webauthn } = request.body
      const { userId, sessionId } = request.principal!
      const factor = await getProvable(db, userId!, request.params.factor_id)
      if (code === '' && factor.factor_type === 'totp') {
        throw new AuthError('validation_failed', { message: 'Code needs to be non-empty' })
      }
      const challenge = await checkChallenge(db, factor.id, challenge_id, network(request.ip))
      const take = challenge === null
        ? await proveApp(request, reply, factor, code)
        : await proveDevice(request, reply, factor, challenge, webauthn)
      const signedIn = await db.transaction(async (tx) => {
        const signedIn = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
        const { user, session } = signedIn
        // It may have been removed, or proven by another device, since the proof was checked.
        if ((await getFactor(tx, user.id, factor.id)).status !== factor.status) {
          throw new AuthError('mfa_verification_failed')
        }
        // Whoever knows the password alone cannot make a device of their own the second factor.
        if (factor.status === 'unverified') {
          requireProof(signedIn, config, { message: 'AAL2 required to verify a further factor' })
        }
        await endChallenge(tx, challenge_id)
        // Another request may have taken the same proof meanwhile.
        if (!await take(tx)) throw new AuthError('mfa_verification_failed')
        if (factor.status === 'unverified') await verifyFactor(tx, factor)
        const raised = await raiseSession(tx, session, factor)
        const { id, factor_type: type } = factor
        if (factor.status === 'unverified') {
          await notify(app, tx, user, 'factor_added')
          await audit.append(tx, {
            ...authorOf(request), action: 'fattore_confermato', object: `factor:${id}`, details: { type }
          })
        }
        await audit.append(tx, {
          ...authorOf(request),
          action: 'accesso',
          object: `session:${raised.session.id}`,
          details: { method: METHODS[type] }
        })
        return raised
      })
      if (factor.status === 'unverified') app.mail.deliver()
      await waitForListeners()
      return await sessionAnswer(signer, signedIn.user, signedIn.session)
    }
  })

  /** @throws AuthError for a wrong code, and after too many */
  async function proveApp (
    request: FastifyRequest,
    reply: FastifyReply,
    factor: StoredFactor,
    code: string
  ): Promise<Take> {
    const step = matchStep(unsealSecret(keys, factor.id, factor.secret!), code, factor.last_step, Date.now())
    const isRight = step !== undefined
    await judgeCode(request, reply, { purpose: 'second-factor', factorId: factor.id, isRight })
    return (tx) => takeStep(tx, factor, step!)
  }

  /** @throws AuthError for an answer that proves nothing, and after too many */
  async function proveDevice (
    request: FastifyRequest,
    reply: FastifyReply,
    factor: StoredFactor,
    challenge: string,
    proof: DeviceProof | undefined
  ): Promise<Take> {
    const take = await checkDevice(db, requireDevices(party), factor, challenge, proof)
    await judgeCode(request, reply, { purpose: 'device', factorId: factor.id, isRight: take !== undefined })
    return take!
  }
}
export default verifyRoutes

/** @throws AuthError mfa_webauthn_verify_not_enabled */
function requireDevices (party: RelyingParty | undefined): RelyingParty {
  if (party === undefined) throw new AuthError('mfa_webauthn_verify_not_enabled')
  return party
}

/** A person's own factor that is proven with a challenge. @throws AuthError */
async function getProvable (db: Database, userId: string, id: string): Promise<StoredFactor> {
  const factor = await getFactor(db, userId, parseUuid(id, 'factor_id'))
  if (factor.factor_type !== 'recovery_code') return factor
  throw new AuthError('validation_failed', {
    status: 422,
    message: 'Recovery codes have no challenge, use POST /factors/recovery-codes/verify'
  })
}
