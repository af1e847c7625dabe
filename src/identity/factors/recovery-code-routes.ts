import { randomInt } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { and, eq, isNull } from 'drizzle-orm'
import { factors, recovery_codes as t } from '#drizzle/tables/identity.ts'
import {
  RecoveryCodes, RecoveryCodesBody, RecoveryStatus, RecoveryVerifyBody, RemovedFactor
} from '#schemas/auth/factor-requests.ts'
import { EmptyBody } from '#schemas/auth/requests.ts'
import { AuthSession } from '#schemas/auth/session.ts'
import { Ref } from '#schemas/common.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { plainCode } from '#src/lib/typed-code.ts'
import { route } from '../provider-route.ts'
import { AuthError } from '../errors.ts'
import { listFactors, type FactorRow, type User } from '../people/find-users.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { getSignedIn } from '../sign-in/person-sessions.ts'
import { METHODS } from '../session-status.ts'
import { checkAttempt } from './code-attempts.ts'
import { raiseSession, requireProof } from './proof.ts'
import { ofType, realFactors, recordRemoved, removeFactor } from './factor-store.ts'

const PATH = '/factors/recovery-codes'
const TYPE = 'recovery_code' as const
const DEFAULT_NAME = 'Recovery codes'

/** Single-use recovery codes for a lost factor. A person has at most one set, in addition to another factor. */
const recoveryCodeRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.get(PATH, route({ access: 'user', signIn: true }, 'authRecoveryCodes', 'Quanti codici di recupero restano', {
    response: { 200: RecoveryStatus }
  }), async ({ principal }) => {
    const { id } = requireCodes(await listFactors(app.db, principal!.userId!))
    return { id, type: TYPE, ...await countCodes(app.db, id) }
  })

  app.post(PATH, route({ access: 'user' }, 'authGenerateRecoveryCodes', 'Dieci codici di recupero, mostrati solo ora', {
    body: RecoveryCodesBody, response: { 200: RecoveryCodes }
  }), async (request) => {
    const friendly_name = request.body.friendly_name?.trim() || DEFAULT_NAME
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
  })

  app.post(`${PATH}/regenerate`, route(
    { access: 'user' },
    'authRegenerateRecoveryCodes', 'Altri dieci codici di recupero al posto dei precedenti, mostrati solo ora', {
      body: EmptyBody, response: { 200: RecoveryCodes }
    }
  ), async (request) =>
    await withSecondFactor(request, (tx, user) => issue(tx, request, user, requireCodes(user.factors))))

  app.delete(PATH, route({ access: 'user' }, 'authRemoveRecoveryCodes', 'Elimina i codici di recupero', {
    response: { 200: RemovedFactor }
  }), async (request) => {
    const removed = await withSecondFactor(request, async (tx, user) => await removeCodes(tx, request, user))
    await app.identity.waitForListeners()
    return removed
  })

  app.post(`${PATH}/verify`, route(
    { access: 'user', signIn: true },
    'authVerifyRecoveryCode', 'Conferma l’accesso con un codice di recupero, che vale una volta', {
      body: RecoveryVerifyBody, response: { 200: Ref(AuthSession) }
    }
  ), async (request, reply) => await proveWithCode(request, reply, request.body.code))
}
export default recoveryCodeRoutes

async function removeCodes (tx: Transaction, request: FastifyRequest, user: User): Promise<{ id: string }> {
  const codes = requireCodes(user.factors)
  await removeFactor(tx, codes)
  await notify(request.server, tx, user, 'factor_removed')
  await recordRemoved(tx, request, codes)
  return { id: codes.id }
}

async function proveWithCode (request: FastifyRequest, reply: FastifyReply, code: string): Promise<AuthSession> {
  const { server: { db, identity: { keys, signer, waitForListeners } }, principal } = request
  const factor = requireCodes(await listFactors(db, principal!.userId!))
  const isRight = await isUnused(db, keys, factor.id, code)
  await checkAttempt(request, reply, { purpose: 'recovery-code', factorId: factor.id, isRight })
  const signedIn = await db.transaction(async (tx) => {
    const { session } = await getSignedIn(tx, principal!)
    if (!await useCode(tx, keys, factor.id, code)) throw new AuthError('mfa_verification_failed')
    const raised = await raiseSession(tx, session, factor)
    await record(tx, request, 'accesso', `session:${raised.session.id}`, { method: METHODS[TYPE] })
    return raised
  })
  await waitForListeners()
  return await sessionResponse(signer, signedIn.user, signedIn.session)
}

/** Changes recovery codes, in a session that has proven a second factor. */
async function withSecondFactor<T> (
  { server: app, principal }: FastifyRequest, change: (tx: Transaction, user: User) => Promise<T>
): Promise<T> {
  const done = await app.db.transaction(async (tx) => {
    const signedIn = await getSignedIn(tx, principal!)
    if (signedIn.session.factor_id === null) throw new AuthError('insufficient_aal')
    requireProof(signedIn, app.identity.config)
    return await change(tx, signedIn.user)
  })
  app.mail.deliver()
  return done
}

async function issue (tx: Transaction, request: FastifyRequest, user: User, { id, friendly_name }: FactorRow) {
  const codes = await issueCodes(tx, request.server.identity.keys, id)
  await notify(request.server, tx, user, 'recovery_codes')
  await record(tx, request, 'codici_recupero', `factor:${id}`)
  return { id, type: TYPE, ...(friendly_name === null ? {} : { friendly_name }), total: CODES, codes } as const
}

function requireCodes (all: readonly FactorRow[]): FactorRow {
  const found = ofType(all, TYPE)
  if (!found) throw new AuthError('mfa_factor_not_found')
  return found
}

const CODES = 10
/** 32 characters without look-alikes, so five bits each. A code has eighty bits. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz023456789'
const LENGTH = 16

/** Issues new codes for a factor and deletes earlier ones. They cannot be shown again: only fingerprints are stored. */
async function issueCodes (tx: Transaction, keys: Keys, factor_id: string): Promise<string[]> {
  const codes = Array.from({ length: CODES }, newCode)
  await tx.delete(t).where(eq(t.factor_id, factor_id))
  await tx.insert(t).values(codes.map((code) => ({ factor_id, fingerprint: fingerprint(keys, factor_id, code) })))
  return codes
}

async function isUnused (db: Executor, keys: Keys, factor_id: string, code: string): Promise<boolean> {
  return (await db.$count(t, unused(keys, factor_id, code))) > 0
}

/** Marks a code as used. @returns false when another request has used it first */
async function useCode (tx: Transaction, keys: Keys, factor_id: string, code: string): Promise<boolean> {
  const used = await tx.update(t).set({ used_at: new Date() }).where(unused(keys, factor_id, code))
    .returning({ factor_id: t.factor_id })
  return used.length > 0
}

export async function countCodes (db: Executor, factor_id: string): Promise<{ total: number, remaining: number }> {
  const rows = await db.select({ used_at: t.used_at }).from(t).where(eq(t.factor_id, factor_id))
  return { total: rows.length, remaining: rows.filter(({ used_at }) => used_at === null).length }
}

function unused (keys: Keys, factor_id: string, code: string) {
  return and(eq(t.factor_id, factor_id), eq(t.fingerprint, fingerprint(keys, factor_id, code)), isNull(t.used_at))
}

/** Ignores letter case, blanks and dashes, because people copy codes by hand. */
function fingerprint (keys: Keys, factor_id: string, code: string): Buffer {
  return keys.fingerprint('recovery-code', factor_id, plainCode(code).toLowerCase())
}

function newCode (): string {
  return Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]!).join('')
}
