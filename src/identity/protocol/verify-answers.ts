import type { AuthSession } from '#schemas/auth/session.ts'
import { redirectWithCode, redirectWithMessage, redirectWithSession } from '../sign-in/redirects.ts'
import { sessionAnswer, type TokenSigner } from '../sign-in/session-answer.ts'
import type { SignedIn } from '../sign-in/sessions.ts'

const WAITING_MESSAGE = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** What a client is told once an address is proven; `waiting`: the other address of a change must confirm, too. */
export function verifyAnswers (signer: TokenSigner) {
  return {
    async answerOf (result: SignedIn | 'waiting'): Promise<AuthSession | { msg: string, code: string }> {
      return result === 'waiting'
        ? { msg: WAITING_MESSAGE, code: '200' }
        : await sessionAnswer(signer, result.user, result.session)
    },

    /** The address that a browser is led to; with `code` the client that started the flow exchanges that. */
    async landingOf (
      redirectTo: string,
      result: SignedIn | { code: string } | 'waiting',
      { type, isPkce }: { type: string, isPkce: boolean }
    ): Promise<string> {
      if (result === 'waiting') return redirectWithMessage(redirectTo, WAITING_MESSAGE, isPkce)
      if ('code' in result) return redirectWithCode(redirectTo, result.code)
      return redirectWithSession(redirectTo, await sessionAnswer(signer, result.user, result.session), { type })
    }
  }
}
