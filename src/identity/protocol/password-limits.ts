import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import { normalizeEmail } from '../people/email.ts'
import type { IdentityOptions } from '../options.ts'
import { countOrRefuse } from './mail-limits.ts'

/** An address may try several accounts (the people of a house behind one router), but not hundreds. */
const PER_ADDRESS = 5
/** An account that is tried from many addresses is slowed down, never locked: any stranger could cause the lock. */
const PER_ACCOUNT = 3
const SLOWED_MS = 1000

/**
 * Counts the passwords that callers try: per account and address, per address, and per account over all addresses.
 * Refuses with `over_request_rate_limit` and `Retry-After`, in the same way for accounts that do not exist.
 * @param purpose what the password is for: each is counted apart
 */
export function passwordLimits (
  app: FastifyInstance,
  { config }: Pick<IdentityOptions, 'config'>,
  purpose: 'sign-in' | 'password-change'
) {
  const windowMs = config.RATE_LIMIT_WINDOW * 1000
  const max = config.RATE_LIMIT_LOGIN_MAX
  const perAccountAndAddress = { name: `${purpose}/account-address`, max, windowMs }
  const perAddress = { name: `${purpose}/address`, max: max * PER_ADDRESS, windowMs }
  const perAccount = { name: `${purpose}/account`, max: max * PER_ACCOUNT, windowMs }

  return async function countPasswordTry (request: FastifyRequest, reply: FastifyReply, email: string): Promise<void> {
    const account = normalizeEmail(email)
    const address = network(request.ip)
    await countOrRefuse(app, reply, perAccountAndAddress, [account, address])
    await countOrRefuse(app, reply, perAddress, [address])
    if (await app.countTry(perAccount, [account]) > 0) await sleep(SLOWED_MS)
  }
}
