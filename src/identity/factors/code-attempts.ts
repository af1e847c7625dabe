import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import type { Limit } from '#src/services/rate-counters.ts'
import type { Database } from '#src/database/connect.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import { getUser } from '../people/find-users.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { DAY_MS, listSessions } from '../sign-in/person-sessions.ts'

const HOUR_MS = 3_600_000
/** The daily limit of wrong app codes is this many times the hourly limit of one client network. */
const DAILY_FACTOR = 5

/** The errors above the limits. Each kind has its own count, so the others work after one limit is reached. */
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

/** The person gets a notice after the fifth wrong code of a day, at most once a day. */
const NOTIFIED: Limit = { name: 'second-factor/noted', max: 4, windowMs: DAY_MS }
const LAST_NOTICE: Limit = { name: 'second-factor/told', max: 1, windowMs: DAY_MS }

/**
 * Accepts or rejects a code or a device's response, which the caller has checked (`isRight`). Wrong ones are counted
 * and written to the audit log. Above the limit even a right one is rejected.
 *
 * App codes have six digits, so a stranger can guess them. They are counted per account and client network each hour,
 * and per account each day. Networks of sessions with a proven second factor have a separate daily count, so a stranger
 * with the password cannot lock the person out there. Recovery codes and devices cannot be guessed, so they are counted
 * only per session. A mail notifies the person of the fifth wrong one.
 * @throws AuthError the code in `REFUSALS` above the limit, mfa_verification_failed for a wrong one
 */
export async function checkAttempt (
  request: FastifyRequest,
  reply: FastifyReply,
  { purpose, factorId, isRight }: { purpose: keyof typeof REFUSALS, factorId: string, isRight: boolean }
): Promise<void> {
  const { server: app, principal } = request
  const userId = principal!.userId!
  const by = isRight ? 0 : 1
  const seconds = purpose === 'second-factor'
    ? await countAppCode(app, userId, network(request.ip), by)
    : await app.countAttempt(perHour(app, `${purpose}/session`), [principal!.sessionId!], by)
  if (seconds > 0) {
    reply.header('retry-after', seconds)
    throw new AuthError(REFUSALS[purpose])
  }
  if (isRight) return
  const isNoteworthy = await app.countAttempt(NOTIFIED, [userId]) > 0 &&
    await app.countAttempt(LAST_NOTICE, [userId]) === 0
  await app.db.transaction(async (tx) => {
    if (isNoteworthy) await notify(app, tx, await getUser(tx, userId), 'codes_tried')
    await record(tx, request, 'accesso_fallito', `factor:${factorId}`, { reason: 'mfa_verification_failed' })
  })
  if (isNoteworthy) app.mail.deliver()
  throw new AuthError('mfa_verification_failed', { message: MESSAGES[purpose] })
}

async function countAppCode (app: FastifyInstance, userId: string, address: string, by: 0 | 1): Promise<number> {
  const seconds = await app.countAttempt(perHour(app, 'second-factor/account-address'), [userId, address], by)
  if (seconds > 0) return seconds
  const max = app.identity.config.RATE_LIMIT_LOGIN_MAX * DAILY_FACTOR
  const where = await hasProvenFrom(app.db, userId, address) ? 'known' : 'elsewhere'
  return await app.countAttempt({ name: 'second-factor/account', max, windowMs: DAY_MS }, [userId, where], by)
}

function perHour ({ identity: { config } }: FastifyInstance, name: string): Limit {
  return { name, max: config.RATE_LIMIT_LOGIN_MAX, windowMs: HOUR_MS }
}

/** Whether the person has a session from this client network in which a second factor was proven. */
async function hasProvenFrom (db: Database, userId: string, address: string): Promise<boolean> {
  const found = await listSessions(db, userId)
  return found.some(({ factor_id, ip }) => factor_id !== null && ip !== null && network(ip) === address)
}
