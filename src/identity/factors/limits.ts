import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Limit } from '#src/plugins/counters.ts'
import { authorOf } from '#src/plugins/audit/log.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'

const WINDOW_MS = 3_600_000

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

/**
 * Judges the codes that a person tries. Wrong ones are counted per hour, and written into the audit log; after too many
 * not even a right one counts. Whoever tries knows the password: a stranger cannot lock a person out.
 */
export function codeTries (app: FastifyInstance, { config }: Pick<IdentityOptions, 'config'>) {
  return async function judgeCode (
    request: FastifyRequest,
    reply: FastifyReply,
    { purpose, factorId, isRight }: { purpose: keyof typeof REFUSALS, factorId: string, isRight: boolean }
  ): Promise<void> {
    const limit: Limit = { name: `${purpose}/account`, max: config.RATE_LIMIT_LOGIN_MAX, windowMs: WINDOW_MS }
    const seconds = await app.countTry(limit, [request.principal!.userId!], isRight ? 0 : 1)
    if (seconds > 0) {
      reply.header('retry-after', seconds)
      throw new AuthError(REFUSALS[purpose])
    }
    if (isRight) return
    await app.audit.append(app.db, {
      ...authorOf(request),
      action: 'accesso_fallito',
      object: `factor:${factorId}`,
      details: { reason: 'mfa_verification_failed' }
    })
    throw new AuthError('mfa_verification_failed', { message: MESSAGES[purpose] })
  }
}
