import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { factors } from '#drizzle/tables/identity.ts'
import {
  RecoveryCodes,
  RecoveryCodesBody,
  RecoveryStatus,
  RecoveryVerifyBody,
  RemovedFactor
} from '#schemas/auth/factor-requests.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { listFactors, type FactorRow, type User } from '../people/find-users.ts'
import { notify } from '../sign-in/notices.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { getSignedIn } from '../sign-in/sessions.ts'
import { codeTries } from './limits.ts'
import { METHODS } from './methods.ts'
import { requireProof } from './proof.ts'
import { raiseSession } from './raise-session.ts'
import { CODES, countCodes, isUnused, issueCodes, useCode } from './recovery-codes.ts'
import { ofType, realFactors, removeFactor } from './store.ts'

const tags = ['Provider di identità']
const URL = '/factors/recovery-codes'
const TYPE = 'recovery_code' as const
const USUAL_NAME = 'Recovery codes'

/** Single-use codes for whoever has lost their app. A person has one set of them, beside another factor. */
const recoveryRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  const { db, audit, identity: { signer, waitForListeners } } = app
  const judgeCode = codeTries(app, { config })

  app.route({
    method: 'GET',
    url: URL,
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authRecoveryCodes',
      tags,
      summary: 'Quanti codici di recupero restano',
      response: { 200: RecoveryStatus }
    },
    handler: async ({ principal }) => {
      const { id } = requireCodes(await listFactors(db, principal!.userId!))
      return { id, type: TYPE, ...await countCodes(db, id) }
    }
  })

  app.route({
    method: 'POST',
    url: URL,
    config: { access: 'user' },
    schema: {
      operationId: 'authGenerateRecoveryCodes',
      tags,
      summary: 'Dieci codici di recupero, mostrati solo ora',
      body: RecoveryCodesBody,
      response: { 200: RecoveryCodes }
    },
    handler: async (request) => {
      const friendly_name = request.body.friendly_name?.trim() || USUAL_NAME
      return await withSecondFactor(request, async (tx, user) => {
        if (realFactors(user.factors).length === 0) throw new AuthError('mfa_recovery_codes_sole_factor')
        if (ofType(user.factors, TYPE)) throw new AuthError('mfa_verified_factor_exists')
        if (user.factors.some((each) => each.friendly_name === friendly_name)) {
          throw new AuthError('mfa_factor_name_conflict')
        }
        const [factor] = await tx.insert(factors)
          .values({ user_id: user.id, factor_type: TYPE, status: 'verified', friendly_name }).returning()
        return await issue(tx, request, user, factor!)
      })
    }
  })

  app.route({
    method: 'POST',
    url: `${URL}/regenerate`,
    config: { access: 'user' },
    schema: {
      operationId: 'authRegenerateRecoveryCodes',
      tags,
      summary: 'Altri dieci codici di recupero al posto dei precedenti, mostrati solo ora',
      body: EmptyBody,
      response: { 200: RecoveryCodes }
    },
    handler: async (request) =>
      await withSecondFactor(request, (tx, user) => issue(tx, request, user, requireCodes(user.factors)))
  })

  app.route({
    method: 'DELETE',
    url: URL,
    config: { access: 'user' },
    schema: {
      operationId: 'authRemoveRecoveryCodes',
      tags,
      summary: 'Elimina i codici di recupero',
      response: { 200: RemovedFactor }
    },
    handler: async (request) => {
      const removed = await withSecondFactor(request, async (tx, user) => {
        const { id } = requireCodes(user.factors)
        await removeFactor(tx, { id })
        await notify(app, tx, user, 'factor_removed')
        await audit.append(tx, {
          ...authorOf(request), action: 'fattore_rimosso', object: `factor:${id}`, details: { type: TYPE }
        })
        return { id }
      })
      await waitForListeners()
      return removed
    }
  })

  app.route({
    method: 'POST',
    url: `${URL}/verify`,
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authVerifyRecoveryCode',
      tags,
      summary: 'Conferma l’accesso con un codice di recupero, che vale una volta',
      body: RecoveryVerifyBody,
      response: { 200: Ref(AuthSession) }
    },
    handler: async (request, reply) => {
      const { principal, body: { code } } = request
      const { userId, sessionId } = principal!
      const factor = requireCodes(await listFactors(db, userId!))
      const isRight = await isUnused(db, keys, factor.id, code)
      await judgeCode(request, reply, { purpose: 'recovery-code', factorId: factor.id, isRight })
      const signedIn = await db.transaction(async (tx) => {
        const { session } = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
        if (!await useCode(tx, keys, factor.id, code)) throw new AuthError('mfa_verification_failed')
        const raised = await raiseSession(tx, session, factor)
        await audit.append(tx, {
          ...authorOf(request),
          action: 'accesso',
          object: `session:${raised.session.id}`,
          details: { method: METHODS[TYPE] }
        })
        return raised
      })
      await waitForListeners()
      return await sessionAnswer(signer, signedIn.user, signedIn.session)
    }
  })

  /** Changes codes in a session in which a factor was proven. @throws AuthError insufficient_aal */
  async function withSecondFactor<T> (
    { principal }: FastifyRequest,
    change: (tx: Transaction, user: User) => Promise<T>
  ): Promise<T> {
    const { userId, sessionId } = principal!
    const done = await db.transaction(async (tx) => {
      const signedIn = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
      if (signedIn.session.factor_id === null) throw new AuthError('insufficient_aal')
      requireProof(signedIn, config)
      return await change(tx, signedIn.user)
    })
    app.mail.deliver()
    return done
  }

  async function issue (tx: Transaction, request: FastifyRequest, user: User, { id, friendly_name }: FactorRow) {
    const codes = await issueCodes(tx, keys, id)
    await notify(app, tx, user, 'recovery_codes')
    await audit.append(tx, { ...authorOf(request), action: 'codici_recupero', object: `factor:${id}` })
    return { id, type: TYPE, ...(friendly_name === null ? {} : { friendly_name }), total: CODES, codes } as const
  }
}
export default recoveryRoutes

/** @throws AuthError mfa_factor_not_found */
function requireCodes (all: readonly FactorRow[]): FactorRow {
  const found = ofType(all, TYPE)
  if (!found) throw new AuthError('mfa_factor_not_found')
  return found
}
