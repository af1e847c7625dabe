import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import type { Limit } from '#src/services/counters.ts'
import type { Database } from '#src/database/connect.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import { getUser } from '../people/find-users.ts'
import { record } from '../audit-record.ts'
import { notify } from '../sign-in/account-mails.ts'
import { DAY_MS, listSessions } from '../sign-in/person-sessions.ts'

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
export async function judgeCode (
  request: FastifyRequest,
  reply: FastifyReply,
  { purpose, factorId, isRight }: { purpose: keyof typeof REFUSALS, factorId: string, isRight: boolean }
): Promise<void> {
  const { server: app, principal } = request
  const userId = principal!.userId!
  const by = isRight ? 0 : 1
  const seconds = purpose === 'second-factor'
    ? await countAppCode(app, userId, network(request.ip), by)
    : await app.countTry(perHour(app, `${purpose}/session`), [principal!.sessionId!], by)
  if (seconds > 0) {
    reply.header('retry-after', seconds)
    throw new AuthError(REFUSALS[purpose])
  }
  if (isRight) return
  const isNoteworthy = await app.countTry(NOTED, [userId]) > 0 && await app.countTry(TOLD, [userId]) === 0
  await app.db.transaction(async (tx) => {
    if (isNoteworthy) await notify(app, tx, await getUser(tx, userId), 'codes_tried')
    await record(tx, request, 'accesso_fallito', `factor:${factorId}`, { reason: 'mfa_verification_failed' })
  })
  if (isNoteworthy) app.mail.deliver()
  throw new AuthError('mfa_verification_failed', { message: MESSAGES[purpose] })
}

async function countAppCode (app: FastifyInstance, userId: string, address: string, by: 0 | 1): Promise<number> {
  const seconds = await app.countTry(perHour(app, 'second-factor/account-address'), [userId, address], by)
  if (seconds > 0) return seconds
  const max = app.identity.config.RATE_LIMIT_LOGIN_MAX * CEILING
  const where = await hasProvenFrom(app.db, userId, address) ? 'known' : 'elsewhere'
  return await app.countTry({ name: 'second-factor/account', max, windowMs: DAY_MS }, [userId, where], by)
}

function perHour ({ identity: { config } }: FastifyInstance, name: string): Limit {
  return { name, max: config.RATE_LIMIT_LOGIN_MAX, windowMs: HOUR_MS }
}

/** Whether a person has a session from an address in which a second factor was proven. */
async function hasProvenFrom (db: Database, userId: string, address: string): Promise<boolean> {
  const found = await listSessions(db, userId)
  return found.some(({ factor_id, ip }) => factor_id !== null && ip !== null && network(ip) === address)
}
