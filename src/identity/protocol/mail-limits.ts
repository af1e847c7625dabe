import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Keys } from '#src/lib/secrets.ts'
import { network } from '#src/lib/addresses.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import type { MailKind } from '../sign-in/mails.ts'

const MAIL_EVERY_MS = 60_000
const CODES_WINDOW_MS = 3_600_000
/** As for sign-ins: the several people of a house behind one router, but not hundreds. */
const PER_CALLER = 5
/** Longer than the work for an address with an account takes. */
const ANSWER_MS = 250

type Counter = (request: FastifyRequest, reply: FastifyReply | undefined, subject: string) => Promise<void>

/**
 * Counts requests per address, with or without an account, so that a refusal does not tell which. Refusals carry
 * `Retry-After`. Addresses are counted under fingerprints.
 */
export interface MailLimits {
  /**
   * One mail of a kind per minute, and a limit per caller.
   * @throws AuthError over_email_send_rate_limit, over_request_rate_limit
   */
  countMail (request: FastifyRequest, reply: FastifyReply | undefined, kind: MailKind, address: string): Promise<void>
  /**
   * A limit of codes per hour, also when new mails are sent meanwhile: with five guesses for each mail and a mail every
   * minute, a stranger would find the six digits. Links are not counted. @throws AuthError over_request_rate_limit
   */
  countCode (request: FastifyRequest, reply: FastifyReply | undefined, address: string): Promise<void>
  /** A limit of codes and links per caller. @throws AuthError over_request_rate_limit */
  countProof (request: FastifyRequest, reply: FastifyReply | undefined): Promise<void>
}

export function mailLimits (
  app: FastifyInstance,
  { config, keys }: IdentityOptions
): MailLimits {
  const perCaller = { max: config.RATE_LIMIT_LOGIN_MAX * PER_CALLER, timeWindow: config.RATE_LIMIT_WINDOW * 1000 }
  const requests = counter(app, 'mail-ip', 'over_request_rate_limit', perCaller)
  const proofs = counter(app, 'verify-ip', 'over_request_rate_limit', perCaller)
  const mails = counter(app, 'mail', 'over_email_send_rate_limit', { max: 1, timeWindow: MAIL_EVERY_MS })
  const codes = counter(app, 'code', 'over_request_rate_limit', {
    max: config.RATE_LIMIT_LOGIN_MAX,
    timeWindow: CODES_WINDOW_MS
  })

  return {
    async countMail (request, reply, kind, address) {
      await requests(request, reply, network(request.ip))
      await mails(request, reply, fingerprint(keys, kind, address))
    },
    countCode: (request, reply, address) => codes(request, reply, fingerprint(keys, address)),
    countProof: (request, reply) => proofs(request, reply, network(request.ip))
  }
}

/** Does the work, in at least the same time for all: the time does not tell whether an address has an account. */
export async function withMinimumTime<T> (work: () => Promise<T>): Promise<T> {
  const [done] = await Promise.allSettled([work(), sleep(ANSWER_MS)])
  if (done.status === 'rejected') throw done.reason
  return done.value
}

function counter (
  app: FastifyInstance,
  name: string,
  code: AuthErrorCode,
  window: { max: number; timeWindow: number }
): Counter {
  const subjects = new WeakMap<FastifyRequest, string>()
  const limit = app.createRateLimit({ ...window, keyGenerator: (request) => `${name}:${subjects.get(request)}` })

  return async function count (request, reply, subject) {
    subjects.set(request, subject)
    const state = await limit(request)
    if (state.isAllowed || !state.isExceeded) return
    reply?.header('retry-after', state.ttlInSeconds)
    throw new AuthError(code)
  }
}

function fingerprint (keys: Keys, ...parts: string[]): string {
  return keys.fingerprint('rate-limit', ...parts).toString('base64url')
}
