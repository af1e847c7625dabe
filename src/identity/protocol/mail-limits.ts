import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { network } from '#src/lib/addresses.ts'
import type { Limit } from '#src/services/counters.ts'
import type { Executor, Transaction } from '#src/database/connect.ts'
import { AuthError, type AuthErrorCode } from '../errors.ts'
import type { IdentityOptions } from '../options.ts'
import type { MailKind } from '../sign-in/mails.ts'

const MAIL_EVERY_MS = 60_000
const CODES_WINDOW_MS = 3_600_000
/** As for sign-ins: the several people of a house behind one router, but not hundreds. */
const PER_CALLER = 5
/** Longer than the work for an address with an account takes. */
const ANSWER_MS = 250

/**
 * Counts requests per address, with or without an account, so that a refusal does not tell which. Refusals carry
 * `Retry-After`.
 */
export interface MailLimits {
  /**
   * Whether a mail may be asked for. It is called before any work, and before the transaction. The request counts for
   * its caller, also if it fails later. For the addresses only `countMail` counts.
   * @throws AuthError over_email_send_rate_limit, over_request_rate_limit
   */
  admitMail (request: FastifyRequest, reply: FastifyReply, kind: MailKind, ...addresses: string[]): Promise<void>
  /**
   * One mail of a kind per minute and address. It counts when the transaction is committed, for all addresses or for
   * none: after a request that failed, the next one need not wait.
   * @throws AuthError over_email_send_rate_limit
   */
  countMail (tx: Transaction, reply: FastifyReply, kind: MailKind, ...addresses: string[]): Promise<void>
  /** A limit of the addresses that somebody tries to change to. @throws AuthError over_request_rate_limit */
  countNewAddress (reply: FastifyReply, userId: string): Promise<void>
  /**
   * A limit of codes per hour, also when new mails are sent meanwhile: with five guesses for each mail and a mail every
   * minute, a stranger would find the six digits. Links are not counted. @throws AuthError over_request_rate_limit
   */
  countCode (reply: FastifyReply, address: string): Promise<void>
  /** A limit of codes and links per caller. @throws AuthError over_request_rate_limit */
  countProof (request: FastifyRequest, reply: FastifyReply): Promise<void>
}

export function mailLimits (app: FastifyInstance, { config }: Pick<IdentityOptions, 'config'>): MailLimits {
  const perCaller = { max: config.RATE_LIMIT_LOGIN_MAX * PER_CALLER, windowMs: config.RATE_LIMIT_WINDOW * 1000 }
  const requests = { name: 'mail/address', ...perCaller }
  const proofs = { name: 'proof/address', ...perCaller }
  const mails = { name: 'mail/account', max: 1, windowMs: MAIL_EVERY_MS }
  const newAddresses = { name: 'new-address/account', max: config.RATE_LIMIT_LOGIN_MAX, windowMs: CODES_WINDOW_MS }
  const codes = { name: 'code/account', max: config.RATE_LIMIT_LOGIN_MAX, windowMs: CODES_WINDOW_MS }

  const code = 'over_email_send_rate_limit'

  return {
    async admitMail (request, reply, kind, ...addresses) {
      await countOrRefuse(app, reply, requests, [network(request.ip)])
      // Waits for no transaction that counts: how long one takes would tell whether its address has an account.
      for (const address of addresses) refuse(reply, code, await app.lookAtTries(mails, [kind, address]))
    },
    async countMail (executor, reply, kind, ...addresses) {
      // In one order: of two transactions with the same addresses neither holds what the other one waits for.
      for (const address of addresses.toSorted()) {
        await countOrRefuse(app, reply, mails, [kind, address], { code, executor })
      }
    },
    countNewAddress: (reply, userId) => countOrRefuse(app, reply, newAddresses, [userId]),
    countCode: (reply, address) => countOrRefuse(app, reply, codes, [address]),
    countProof: (request, reply) => countOrRefuse(app, reply, proofs, [network(request.ip)])
  }
}

/** @throws AuthError with `Retry-After` in the answer, when the limit is reached */
export async function countOrRefuse (
  app: FastifyInstance,
  reply: FastifyReply,
  limit: Limit,
  subject: readonly string[],
  { code = 'over_request_rate_limit', executor }: { code?: AuthErrorCode, executor?: Executor } = {}
): Promise<void> {
  refuse(reply, code, await app.countTry(limit, subject, 1, executor))
}

function refuse (reply: FastifyReply, code: AuthErrorCode, seconds: number): void {
  if (seconds === 0) return
  reply.header('retry-after', seconds)
  const message = code === 'over_email_send_rate_limit'
    ? `For security purposes, you can only request this after ${seconds} seconds.`
    : undefined
  throw new AuthError(code, { message })
}

/** Does the work, in at least the same time for all: the time does not tell whether an address has an account. */
export async function withMinimumTime<T> (work: () => Promise<T>): Promise<T> {
  const [done] = await Promise.allSettled([work(), sleep(ANSWER_MS)])
  if (done.status === 'rejected') throw done.reason
  return done.value
}
