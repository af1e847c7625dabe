import { randomUUID } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { factors } from '#drizzle/tables/identity.ts'
import { AuthFactor, type FactorType } from '#schemas/auth/factor.ts'
import {
  EnrolBody, EnrolledFactor, FactorChange, FactorParams, FactorRemoval, RemovedFactor
} from '#schemas/auth/factor-requests.ts'
import { Ref } from '#schemas/common.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { listFactors, type FactorRow, type User } from '../people/find-users.ts'
import { presentFactor } from '../people/presenters.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { getSessionOwner, getSignedIn } from '../sign-in/person-sessions.ts'
import { parseUuid } from '../uuid.ts'
import {
  getFactor, ofType, realFactors, recordRemoved, removeAbandoned, removeFactor, renameFactor
} from './factor-store.ts'
import { requireProof } from './proof.ts'
import { enrolmentOf, newSecret, sealSecret, defaultIssuer } from './totp.ts'
import { relyingParty } from './webauthn/relying-party.ts'

/** The same limit as Supabase Auth. */
const MAX_FACTORS = 10

const enrolRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.post('/factors', route(
    { access: 'user', signIn: true },
    'authEnrolFactor', 'Registra un secondo fattore, da confermare con il primo codice', {
      body: EnrolBody, response: { 200: EnrolledFactor }
    }
  ), async (request) => await enrol(request, request.body))

  app.delete('/factors/:factor_id', route(
    { access: 'user', signIn: true }, 'authUnenrolFactor', 'Rimuove un secondo fattore', {
      params: FactorParams, querystring: FactorRemoval, response: { 200: RemovedFactor }
    }
  ), async (request) => {
    const id = parseUuid(request.params.factor_id, 'factor_id')
    await unenrol(request, id, request.query.rimuovi_codici)
    app.mail.deliver()
    await app.identity.waitForListeners()
    return { id }
  })

  app.patch('/factors/:factor_id', route(
    { access: 'user' }, 'authRenameFactor', 'Dà un nome a un proprio secondo fattore', {
      params: FactorParams, body: FactorChange, response: { 200: Ref(AuthFactor) }
    }
  ), async (request) => {
    const { params, principal, body: { friendly_name } } = request
    const id = parseUuid(params.factor_id, 'factor_id')
    return presentFactor(await app.db.transaction(async (tx) =>
      await renameFactor(tx, request, await getSessionOwner(tx, principal!), id, friendly_name)))
  })
}
export default enrolRoutes

async function enrol (
  request: FastifyRequest, { factor_type: type, friendly_name: name, issuer }: Static<typeof EnrolBody>
): Promise<Static<typeof EnrolledFactor>> {
  const { db, identity: { config, keys } } = request.server
  if (type === 'phone') throw new AuthError('mfa_phone_enroll_not_enabled')
  if (type === 'webauthn' && !relyingParty(config)) throw new AuthError('mfa_webauthn_enroll_not_enabled')
  if (type !== 'totp' && type !== 'webauthn') {
    throw validationFailed('factor_type needs to be totp, phone, or webauthn')
  }
  const friendly_name = name?.trim() || null
  const id = randomUUID()
  const secret = type === 'totp' ? newSecret() : undefined
  const user = await db.transaction(async (tx) => {
    const signedIn = await getSignedIn(tx, request.principal!)
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
    await record(tx, request, 'fattore_registrato', `factor:${id}`, { type })
    return user
  })
  const named: { id: string, type: FactorType, friendly_name?: string } = {
    id, type, ...(friendly_name === null ? {} : { friendly_name })
  }
  // A device creates its key at its first challenge, so no secret is shown here.
  if (secret === undefined) return named
  return { ...named, totp: await enrolmentOf(secret, issuer?.trim() || defaultIssuer(config), user.email) }
}

async function unenrol (request: FastifyRequest, id: string, withCodes = false): Promise<void> {
  const { server: app } = request
  const { config } = app.identity
  await app.db.transaction(async (tx) => {
    const signedIn = await getSignedIn(tx, request.principal!)
    const { user } = signedIn
    const factor = await getFactor(tx, user.id, id)
    const { factor_type: type, status } = factor
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
    const removed = [factor, ...(codes ? [codes] : [])]
    for (const each of removed) await removeFactor(tx, each)
    if (status === 'verified') await notify(app, tx, user, 'factor_removed')
    for (const each of removed) await recordRemoved(tx, request, each, { status })
  })
}

/** The recovery codes of a person with only one other factor. Alone, recovery codes are not a second factor. */
function codesOfLast ({ factors }: User): FactorRow | undefined {
  return realFactors(factors).length === 1 ? ofType(factors, 'recovery_code') : undefined
}
