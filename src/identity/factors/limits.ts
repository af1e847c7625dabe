import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import { authorOf } from '#src/services/audit/log.ts'
import type { Limit } from '#src/services/counters.ts'
import type { Database } from '#src/database/connect.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import { getUser } from '../people/find-users.ts'
import { notify } from '../sign-in/notices.ts'
import { DAY_MS, listSessions } from '../sign-in/sessions.ts'

const HOUR_MS = 3_600_000
/** In a day, for an app: five times what one address may try in an hour. */
const CEILING = 5

/** Each is counted apart: who has used up the one may still use the other. */
const REFUSALS = {
  'second-factor': 'over_request_rate_limit',
  device: 'over_request_rate_limit',
  'recovery-code': 'mfa_recovery_codes_locked'
} as const satisfies Record<string, AuthErrorCode>

const MESSAGES: Readonly<Record<keyof typeof REFUSALS, string>> = {
  'second-factor': 'Invalid TOTP code entered',
  device: 'Credential verification failed',
  'recovery-code': 'Invalid recovery code entered'
}

/** Told once a day, of the fifth wrong code. */
const NOTED: Limit = { name: 'second-factor/noted', max: 4, windowMs: DAY_MS }
const TOLD: Limit = { name: 'second-factor/told', max: 1, windowMs: DAY_MS }

/**
 * Judges the codes that a person tries. Wrong ones are counted and written into the audit log; after too many not even
 * a right one counts. Six digits can be guessed: those of an app are counted per account and address in an hour, and
 * per account in a day, apart for the addresses from which the person has proven a second factor, so that a stranger
 * with the password shuts nobody out there. Recovery codes and devices cannot be guessed: they are counted per
 * session, and open the account whatever others try. The person is told of wrong codes by mail.
 */
export function codeTries (app: FastifyInstance, { config }: Pick<IdentityOptions, 'config'>) {
  const { db, audit } = app
  const max = config.RATE_LIMIT_LOGIN_MAX

  return async function judgeCode (
    request: FastifyRequest,
    reply: FastifyReply,
    { purpose, factorId, isRight }: { purpose: keyof typeof REFUSALS, factorId: string, isRight: boolean }
  ): Promise<void> {
    const userId = request.principal!.userId!
    const by = isRight ? 0 : 1
    const seconds = purpose === 'second-factor'
      ? await countAppCode(userId, network(request.ip), by)
      : await app.countTry({ name: `${purpose}/session`, max, windowMs: HOUR_MS }, [request.principal!.sessionId!], by)
    if (seconds > 0) {
      reply.header('retry-after', seconds)
      throw new AuthError(REFUSALS[purpose])
    }
    if (isRight) return
    const isNoteworthy = await app.countTry(NOTED, [userId]) > 0 && await app.countTry(TOLD, [userId]) === 0
    await db.transaction(async (tx) => {
      if (isNoteworthy) await notify(app, tx, await getUser(tx, userId), 'codes_tried')
      await audit.append(tx, {
        ...authorOf(request),
        action: 'accesso_fallito',
        object: `factor:${factorId}`,
        details: { reason: 'mfa_verification_failed' }
      })
    })
    if (isNoteworthy) app.mail.deliver()
    throw new AuthError('mfa_verification_failed', { message: MESSAGES[purpose] })
  }

  /** The seconds until a code may be tried again; 0: now. */
  async function countAppCode (userId: string, address: string, by: 0 | 1): Promise<number> {
    const perAddress = { name: 'second-factor/account-address', max, windowMs: HOUR_MS }
    const seconds = await app.countTry(perAddress, [userId, address], by)
    if (seconds > 0) return seconds
    const perAccount = { name: 'second-factor/account', max: max * CEILING, windowMs: DAY_MS }
    const where = await hasProvenFrom(db, userId, address) ? 'known' : 'elsewhere'
    return await app.countTry(perAccount, [userId, where], by)
  }
}

/** Whether a person has a session from an address in which a second factor was proven. */
async function hasProvenFrom (db: Database, userId: string, address: string): Promise<boolean> {
  const found = await listSessions(db, userId)
  return found.some(({ factor_id, ip }) => factor_id !== null && ip !== null && network(ip) === address)
}
