import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { factors } from '#drizzle/tables/identity.ts'
import type { FactorType } from '#schemas/auth/factor.ts'
import { EnrolBody, EnrolledFactor, FactorParams, FactorRemoval, RemovedFactor } from '#schemas/auth/factor-requests.ts'
import { authorOf } from '#src/services/audit/log.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { listFactors, type FactorRow, type User } from '../people/find-users.ts'
import { notify } from '../sign-in/notices.ts'
import { getSignedIn } from '../sign-in/sessions.ts'
import { parseUuid } from '../uuid.ts'
import { requireProof } from './proof.ts'
import { sealSecret } from './secrets.ts'
import { getFactor, ofType, realFactors, removeAbandoned, removeFactor } from './store.ts'
import { enrolmentOf, newSecret, usualIssuer } from './totp.ts'
import { relyingParty } from './webauthn/relying-party.ts'

const tags = ['Provider di identità']
/** As with Supabase Auth. */
const MAX_FACTORS = 10

/** People enrol second factors for themselves, and remove them. */
const enrolRoutes: FastifyPluginAsyncTypebox<IdentityOptions> = async (app, { config, keys }) => {
  const { db, audit, identity: { waitForListeners } } = app
  const party = relyingParty(config)

  app.route({
    method: 'POST',
    url: '/factors',
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authEnrolFactor',
      tags,
      summary: 'Registra un secondo fattore, da confermare con il primo codice',
      body: EnrolBody,
      response: { 200: EnrolledFactor }
    },
    handler: async (request) => {
      const { factor_type: type } = request.body
      if (type === 'phone') throw new AuthError('mfa_phone_enroll_not_enabled')
      if (type === 'webauthn' && party === undefined) throw new AuthError('mfa_webauthn_enroll_not_enabled')
      if (type !== 'totp' && type !== 'webauthn') {
        throw new AuthError('validation_failed', { message: 'factor_type needs to be totp, phone, or webauthn' })
      }
      const friendly_name = request.body.friendly_name?.trim() || null
      const id = randomUUID()
      const secret = type === 'totp' ? newSecret() : undefined
      const { userId, sessionId } = request.principal!
      const user = await db.transaction(async (tx) => {
        const signedIn = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
        const { user } = signedIn
        await removeAbandoned(tx, user.id)
        const present = await listFactors(tx, user.id)
        if (friendly_name !== null && present.some((each) => each.friendly_name === friendly_name)) {
          throw new AuthError('mfa_factor_name_conflict')
        }
        if (present.length >= MAX_FACTORS) throw new AuthError('too_many_enrolled_mfa_factors')
        requireProof(signedIn, config, { message: 'AAL2 required to enroll a new factor' })
        await tx.insert(factors).values({
          id,
          user_id: user.id,
          factor_type: type,
          status: 'unverified',
          friendly_name,
          secret: secret && sealSecret(keys, id, secret)
        })
        await audit.append(tx, {
          ...authorOf(request), action: 'fattore_registrato', object: `factor:${id}`, details: { type }
        })
        return user
      })
      const named: { id: string, type: FactorType, friendly_name?: string } = {
        id, type, ...(friendly_name === null ? {} : { friendly_name })
      }
      // A device makes its key when it is first challenged.
      if (secret === undefined) return named
      const issuer = request.body.issuer?.trim() || usualIssuer(config)
      return { ...named, totp: await enrolmentOf(secret, issuer, user.email) }
    }
  })

  app.route({
    method: 'DELETE',
    url: '/factors/:factor_id',
    config: { access: 'user', signIn: true },
    schema: {
      operationId: 'authUnenrolFactor',
      tags,
      summary: 'Rimuove un secondo fattore',
      params: FactorParams,
      querystring: FactorRemoval,
      response: { 200: RemovedFactor }
    },
    handler: async (request) => {
      const id = parseUuid(request.params.factor_id, 'factor_id')
      const { userId, sessionId } = request.principal!
      const { rimuovi_codici: withCodes = false } = request.query
      await db.transaction(async (tx) => {
        const signedIn = await getSignedIn(tx, { userId: userId!, sessionId: sessionId! })
        const { user } = signedIn
        const { factor_type: type, status } = await getFactor(tx, user.id, id)
        if (type === 'recovery_code') {
          throw new AuthError('validation_failed', {
            status: 422,
            message: 'Recovery codes cannot be unenrolled with this endpoint, use DELETE /factors/recovery-codes'
          })
        }
        if (status === 'verified') {
          requireProof(signedIn, config, { status: 422, message: 'AAL2 required to unenroll verified factor' })
        }
        const codes = status === 'verified' ? codesOfLast(user) : undefined
        if (codes && !withCodes) throw new AuthError('mfa_recovery_codes_sole_factor')
        const removed = [{ id, type }, ...(codes ? [{ id: codes.id, type: codes.factor_type }] : [])]
        for (const each of removed) await removeFactor(tx, each)
        if (status === 'verified') await notify(app, tx, user, 'factor_removed')
        for (const { id, type } of removed) {
          await audit.append(tx, {
            ...authorOf(request), action: 'fattore_rimosso', object: `factor:${id}`, details: { type, status }
          })
        }
      })
      app.mail.deliver()
      await waitForListeners()
      return { id }
    }
  })
}
export default enrolRoutes

/** The recovery codes of a person with one factor left: they are no second factor by themselves. */
function codesOfLast ({ factors }: User): FactorRow | undefined {
  return realFactors(factors).length === 1 ? ofType(factors, 'recovery_code') : undefined
}
