import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import { normalizeEmail } from '../people/email.ts'
import { AuthError } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'

/** An address may try several accounts (the people of a house behind one router), but not hundreds. */
const PER_ADDRESS = 5
/** An account that is tried from many addresses is slowed down, never locked: any stranger could cause the lock. */
const PER_ACCOUNT = 3
const SLOWED_MS = 1000

/**
 * Counts the passwords that callers try: per account and address, per address, and per account over all addresses.
 * Refuses with `over_request_rate_limit` and `Retry-After`, in the same way for accounts that do not exist. Of accounts
 * only fingerprints are kept.
 */
export function passwordLimits (app: FastifyInstance, { config, keys }: IdentityOptions) {
  const timeWindow = config.RATE_LIMIT_WINDOW * 1000
  const max = config.RATE_LIMIT_LOGIN_MAX
  const accounts = new WeakMap<FastifyRequest, string>()
  const account = (request: FastifyRequest) => accounts.get(request) ?? ''
  const perAccountAndAddress = app.createRateLimit({
    max,
    timeWindow,
    keyGenerator: (request) => `login:${account(request)}:${network(request.ip)}`
  })
  const perAddress = app.createRateLimit({
    max: max * PER_ADDRESS,
    timeWindow,
    keyGenerator: (request) => `login-ip:${network(request.ip)}`
  })
  const perAccount = app.createRateLimit({
    max: max * PER_ACCOUNT,
    timeWindow,
    keyGenerator: (request) => `login-account:${account(request)}`
  })

  return async function countPasswordTry (request: FastifyRequest, reply: FastifyReply, email: string): Promise<void> {
    accounts.set(request, keys.fingerprint('rate-limit', normalizeEmail(email)).toString('base64url'))
    for (const limit of [perAccountAndAddress, perAddress]) {
      const state = await limit(request)
      if (!state.isAllowed && state.isExceeded) {
        reply.header('retry-after', state.ttlInSeconds)
        throw new AuthError('over_request_rate_limit')
      }
    }
    const state = await perAccount(request)
    if (!state.isAllowed && state.isExceeded) await sleep(SLOWED_MS)
  }
}
