import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { FactorChallenge, FactorParams, FactorVerifyBody } from '#schemas/auth/factor-requests.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { network } from '#src/lib/addresses.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { getSignedIn } from '../sign-in/sessions.ts'
import { parseUuid } from '../uuid.ts'
import { beginChallenge, checkChallenge, endChallenge } from './challenges.ts'
import { codeTries } from './limits.ts'
import { raiseSession } from './raise-session.ts'
import { unsealSecret } from './secrets.ts'
import { getFactor, takeStep, type StoredFactor } from './store.ts'
import { matchStep } from './totp.ts'

const tags = ['Provider di identità']

/** People prove a second factor: the first code verifies it, every one brings the session to `aal2`. */
const verifyRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  const { db, audit, identity: { signer, waitForListeners } } = app
  const judgeCode = codeTries(app, { config })

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
      const { id: factorId, factor_type: type } = await getApp(db, request.principal!.userId!, request.params.factor_id)
      const { id, expiresAt } = await beginChallenge(db, factorId, network(request.ip))
      return { id, type, expires_at: Math.floor(expiresAt.getTime() / 1000) }
    }
  })

  app.route({
    method: 'POST',
    url: '/factors/:factor_id/verify',
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authVerifyFactor',
      tags,
      summary: 'Conferma un secondo fattore con un codice',
      params: FactorParams,
      body: FactorVerifyBody,
      response: { 200: Ref(AuthSession) }
    },
    handler: async (request, reply) => {
      const { code = '', challenge_id } = request.body
      const { userId, sessionId } = request.principal!
      const factor = await getApp(db, userId!, request.params.factor_id)
      if (code === '') throw new AuthError('validation_failed', { message: 'Code needs to be non-empty' })
      await checkChallenge(db, factor.id, challenge_id, network(request.ip))
      const secret = unsealSecret(keys, factor.id, factor.secret!)
      const step = matchStep(secret, code, factor.last_step, Date.now())
      await judgeCode(request, reply, {
        purpose: 'second-factor', factorId: factor.id, isRight: step !== undefined
      })
      const signedIn = await db.transaction(async (tx) => {
        const { session } = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
        // Another request may have taken the same code meanwhile.
        if (!await takeStep(tx, factor, step!)) throw new AuthError('mfa_verification_failed')
        await endChallenge(tx, challenge_id)
        const raised = await raiseSession(tx, session, factor)
        if (factor.status === 'unverified') {
          await audit.append(tx, {
            ...authorOf(request), action: 'fattore_confermato', object: `factor:${factor.id}`, details: { type: 'totp' }
          })
        }
        await audit.append(tx, {
          ...authorOf(request), action: 'accesso', object: `session:${session.id}`, details: { method: 'totp' }
        })
        return raised
      })
      await waitForListeners()
      return await sessionAnswer(signer, signedIn.user, signedIn.session)
    }
  })
}
export default verifyRoutes

/** A person's own factor that an app has codes for. @throws AuthError */
async function getApp (db: Database, userId: string, id: string): Promise<StoredFactor> {
  const factor = await getFactor(db, userId, parseUuid(id, 'factor_id'))
  if (factor.factor_type === 'totp') return factor
  throw new AuthError('validation_failed', {
    status: 422,
    message: 'Recovery codes have no challenge, use POST /factors/recovery-codes/verify'
  })
}
