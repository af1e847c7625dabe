import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { IdentityOptions } from '../options.ts'
import { issueHandover } from '../sign-in/handover.ts'
import { isLoopbackApp, redirectWithCode } from '../sign-in/redirects.ts'
import type { AppRequest } from './app-request.ts'
import { showContinue, showReturn } from './app-view.ts'
import type { PageCookies } from './cookies.ts'
import { ACCOUNT, SECOND_FACTOR, type Visitor } from './visitors.ts'

/**
 * Leads a person on who has just proven who they are: to the second factor, back to the front end that has sent them,
 * or to the account. A program of this computer gets its session after a question; `isAgreed`: it has been answered.
 */
export type GoOn = (
  request: FastifyRequest, reply: FastifyReply, visitor: Visitor, isAgreed?: boolean
) => Promise<FastifyReply>

/**
 * Whether the second factor is to be proven again: a program of this computer makes itself a key, which where the
 * server wants a recent proof is given to nobody else.
 */
export function isProofTooOld (
  { REQUIRE_RECENT_MFA }: Pick<Config, 'REQUIRE_RECENT_MFA'>,
  { caller: { recentUntil = 0 } }: Visitor,
  { redirectTo }: AppRequest
): boolean {
  return REQUIRE_RECENT_MFA && isLoopbackApp(redirectTo) && recentUntil <= Date.now()
}

export function goingOn (
  { db }: FastifyInstance,
  { config, keys, cookies }: Pick<IdentityOptions, 'config' | 'keys'> & { cookies: PageCookies }
): GoOn {
  return async function goOn (request, reply, visitor, isAgreed = false) {
    const { lacks } = visitor.caller
    if (lacks === 'proof') return await reply.redirect(SECOND_FACTOR, 303)
    const asked = cookies.appOf(request)
    if (asked === undefined || lacks !== undefined) return await reply.redirect(ACCOUNT, 303)
    if (isProofTooOld(config, visitor, asked)) return await reply.redirect(SECOND_FACTOR, 303)
    // Any program of this computer, also another user's, may have sent the person here: to sign in is not to agree.
    if (isLoopbackApp(asked.redirectTo) && !isAgreed) return showContinue(request, reply, visitor, asked)
    const code = await db.transaction((tx) => issueHandover(tx, keys, visitor, asked))
    cookies.clearApp(reply)
    return showReturn(request, reply, redirectWithCode(asked.redirectTo, code))
  }
}
