import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import { network } from '#src/lib/addresses.ts'
import type { Limit } from '#src/services/rate-counters.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import { normalizeEmail } from '../people/email.ts'
import type { MailKind } from '../sign-in/account-mails.ts'

const HOUR_MS = 3_600_000
/** Factor for one client network, because several users, but not hundreds, may share a router. */
const NETWORK_FACTOR = 5
/** Factor for one account from all networks. Accounts are slowed, not locked, because any stranger could lock one. */
const ACCOUNT_FACTOR = 3
const SLOWED_MS = 1000
/** Minimum time of a response. It should exceed the work for an address with an account. */
const RESPONSE_MS = 250

const MAILS: Limit = { name: 'mail/account', max: 1, windowMs: 60_000 }
const MAIL_CODE = 'over_email_send_rate_limit'

/*
 * Limits count addresses with and without an account, so that a refusal does not reveal whether one exists. Refusals
 * have a `Retry-After`.
 */

function perWindow ({ RATE_LIMIT_LOGIN_MAX, RATE_LIMIT_WINDOW }: Config, name: string, times = 1): Limit {
  return { name, max: RATE_LIMIT_LOGIN_MAX * times, windowMs: RATE_LIMIT_WINDOW * 1000 }
}

/**
 * Checks the limits of a mail before any work and outside the transaction. The request counts for its caller even if it
 * fails later. Only `countMail` counts for the addresses.
 * @throws AuthError over_email_send_rate_limit, over_request_rate_limit
 */
export async function admitMail (
  request: FastifyRequest, reply: FastifyReply, kind: MailKind, ...addresses: string[]
): Promise<void> {
  const { config } = request.server.identity
  await countOrRefuse(reply, perWindow(config, 'mail/address', NETWORK_FACTOR), [network(request.ip)])
  // Does not wait for transactions that count: the delay would reveal whether an address has an account.
  for (const address of addresses) refuse(reply, MAIL_CODE, await request.server.checkAttempts(MAILS, [kind, address]))
}

/**
 * Limits mails of a kind to one per minute and address. The count is part of the transaction, so it includes all
 * addresses or none, and a failed request does not delay the next.
 * @throws AuthError over_email_send_rate_limit
 */
export async function countMail (
  executor: Transaction, reply: FastifyReply, kind: MailKind, ...addresses: string[]
): Promise<void> {
  // Sorted, because two transactions with the same addresses in another order could deadlock.
  for (const address of addresses.toSorted()) {
    await countOrRefuse(reply, MAILS, [kind, address], { code: MAIL_CODE, executor })
  }
}

/** Limits the new addresses that a person tries. @throws AuthError over_request_rate_limit */
export async function countNewAddress (reply: FastifyReply, userId: string): Promise<void> {
  await countOrRefuse(reply, perHour(reply, 'new-address/account'), [userId])
}

/**
 * Limits the codes for an address per hour, for all its mails together. Otherwise a stranger with five guesses per
 * mail, and a mail every minute, would find the six digits. Links are not counted.
 * @throws AuthError over_request_rate_limit
 */
export async function countCode (reply: FastifyReply, address: string): Promise<void> {
  await countOrRefuse(reply, perHour(reply, 'code/account'), [address])
}

/** Limits proofs (codes, links, passkeys, ID tokens) per client network. @throws AuthError over_request_rate_limit */
export async function countProof ({ ip }: FastifyRequest, reply: FastifyReply): Promise<void> {
  await countOrRefuse(reply, perWindow(reply.server.identity.config, 'proof/address', NETWORK_FACTOR), [network(ip)])
}

/**
 * Counts password attempts per account and client network, per client network, and per account over all networks. The
 * response is the same for accounts that do not exist.
 * @param purpose the purpose of the password. Each purpose has its own count
 * @returns the milliseconds by which the response must be delayed, after too many attempts on the account
 * @throws AuthError over_request_rate_limit
 */
export async function countPasswordAttempt (
  { ip }: FastifyRequest, reply: FastifyReply, purpose: 'sign-in' | 'password-change', email: string
): Promise<number> {
  const { server: app } = reply
  const { config } = app.identity
  const account = normalizeEmail(email)
  const address = network(ip)
  await countOrRefuse(reply, perWindow(config, `${purpose}/account-address`), [account, address])
  await countOrRefuse(reply, perWindow(config, `${purpose}/address`, NETWORK_FACTOR), [address])
  return await app.countAttempt(perWindow(config, `${purpose}/account`, ACCOUNT_FACTOR), [account]) > 0 ? SLOWED_MS : 0
}

function perHour ({ server }: FastifyReply, name: string): Limit {
  return { name, max: server.identity.config.RATE_LIMIT_LOGIN_MAX, windowMs: HOUR_MS }
}

async function countOrRefuse (
  reply: FastifyReply,
  limit: Limit,
  subject: readonly string[],
  { code = 'over_request_rate_limit', executor }: { code?: AuthErrorCode, executor?: Executor } = {}
): Promise<void> {
  refuse(reply, code, await reply.server.countAttempt(limit, subject, 1, executor))
}

function refuse (reply: FastifyReply, code: AuthErrorCode, seconds: number): void {
  if (seconds === 0) return
  reply.header('retry-after', seconds)
  const message = code === MAIL_CODE
    ? `For security purposes, you can only request this after ${seconds} seconds.`
    : undefined
  throw new AuthError(code, { message })
}

/** Takes at least the same time for every address, so that the time does not reveal whether it has an account. */
export async function withMinimumTime<T> (work: () => Promise<T>): Promise<T> {
  const [done] = await Promise.allSettled([work(), sleep(RESPONSE_MS)])
  if (done.status === 'rejected') throw done.reason
  return done.value
}
