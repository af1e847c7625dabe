import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Keys } from '#src/lib/secrets.ts'
import { network } from '#src/lib/addresses.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import type { MailKind } from '../sign-in/mails.ts'
import type { ProviderOptions } from './routes.ts'

const MAIL_EVERY_MS = 60_000
const CODES_WINDOW_MS = 3_600_000
/** As for sign-ins: a house behind one router, but not hundreds. */
const PER_CALLER = 5
/** Longer than the work on an address that is known. */
const ANSWER_MS = 250

type Count = (request: FastifyRequest, reply: FastifyReply | undefined, what: string) => Promise<void>

/**
 * Counts what concerns an address, be it known or not: that it is counted tells nothing. Refusals carry `Retry-After`.
 * Addresses are counted under fingerprints.
 */
export interface MailLimits {
  /**
   * One mail of a kind a minute, and a number of requests per caller. @throws AuthError over_email_send_rate_limit,
   * over_request_rate_limit
   */
  mail (request: FastifyRequest, reply: FastifyReply | undefined, kind: MailKind, address: string): Promise<void>
  /**
   * A number of codes an hour, whatever mails are sent meanwhile: with five for every mail, one a minute, six digits
   * would be found. Links are not counted. @throws AuthError over_request_rate_limit
   */
  code (request: FastifyRequest, reply: FastifyReply | undefined, address: string): Promise<void>
  /** A number of proofs per caller. @throws AuthError over_request_rate_limit */
  proof (request: FastifyRequest, reply: FastifyReply | undefined): Promise<void>
}

export function mailLimits (
  app: FastifyInstance,
  { config, keys }: Pick<ProviderOptions, 'config' | 'keys'>
): MailLimits {
  const perCaller = { max: config.RATE_LIMIT_LOGIN_MAX * PER_CALLER, timeWindow: config.RATE_LIMIT_WINDOW * 1000 }
  const askers = counter(app, 'mail-ip', 'over_request_rate_limit', perCaller)
  const provers = counter(app, 'verify-ip', 'over_request_rate_limit', perCaller)
  const mails = counter(app, 'mail', 'over_email_send_rate_limit', { max: 1, timeWindow: MAIL_EVERY_MS })
  const codes = counter(app, 'code', 'over_request_rate_limit', {
    max: config.RATE_LIMIT_LOGIN_MAX,
    timeWindow: CODES_WINDOW_MS
  })

  return {
    async mail (request, reply, kind, address) {
      await askers(request, reply, network(request.ip))
      await mails(request, reply, veiled(keys, kind, address))
    },
    code: (request, reply, address) => codes(request, reply, veiled(keys, address)),
    proof: (request, reply) => provers(request, reply, network(request.ip))
  }
}

/** Does the work and takes its time, the same for all: how long it took tells nobody whether an address is known. */
export async function unhurried<T> (work: () => Promise<T>): Promise<T> {
  const [done] = await Promise.allSettled([work(), sleep(ANSWER_MS)])
  if (done.status === 'rejected') throw done.reason
  return done.value
}

function counter (
  app: FastifyInstance,
  name: string,
  code: AuthErrorCode,
  window: { max: number; timeWindow: number }
): Count {
  const subjects = new WeakMap<FastifyRequest, string>()
  const limit = app.createRateLimit({ ...window, keyGenerator: (request) => `${name}:${subjects.get(request)}` })

  return async function count (request, reply, what) {
    subjects.set(request, what)
    const state = await limit(request)
    if (state.isAllowed || !state.isExceeded) return
    reply?.header('retry-after', state.ttlInSeconds)
    throw new AuthError(code)
  }
}

function veiled (keys: Keys, ...parts: string[]): string {
  return keys.fingerprint('rate-limit', ...parts).toString('base64url')
}
