import type { Config } from '#src/config/config.ts'
import { OAuthError } from '../oauth/errors.ts'
import type { AuthorizeRequest } from '../oauth/flows.ts'
import { readChallenge } from '../sign-in/flow-states.ts'
import { allowedRedirect, isLoopbackApp } from '../sign-in/redirects.ts'

/** By this name a front end asks for the pages of this server, as it asks for other providers by theirs. */
export const OWN_PAGES = 'custom:locanda'

/**
 * The page to sign in, which leads back to the front end with a code.
 * @throws OAuthError without a challenge; AuthError validation_failed for a malformed one
 */
export function signInPageFor (config: Config, asked: AuthorizeRequest): string {
  const { code_challenge, code_challenge_method } = readChallenge(asked)
  if (code_challenge === null || code_challenge_method === null) {
    throw new OAuthError('invalid_request', 'validation_failed', 'The sign-in page requires PKCE (flowType: pkce)')
  }
  const { redirect_to: wanted } = asked
  const redirect_to = wanted !== undefined && isLoopbackApp(wanted) ? wanted : allowedRedirect(config, wanted)
  const query = new URLSearchParams({ redirect_to, code_challenge, code_challenge_method })
  return `${config.PUBLIC_URL}/auth/accedi?${query.toString()}`
}
