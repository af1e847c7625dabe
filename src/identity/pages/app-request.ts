import { hash } from 'node:crypto'
import { Type, type Static } from '@sinclair/typebox'
import type { Config } from '#src/config/config.ts'
import { readChallenge, type Challenge } from '../sign-in/flow-states.ts'
import { allowedRedirect, isLoopbackApp } from '../sign-in/redirects.ts'
import { Refused } from './ask.ts'

/** What a front end asks of the page to sign in: where the person is to go afterwards, and its challenge (PKCE). */
export interface AppRequest { redirectTo: string, challenge: Challenge }

export const AppQuery = Type.Object({
  redirect_to: Type.Optional(Type.String({ maxLength: 2000 })),
  code_challenge: Type.Optional(Type.String({ maxLength: 128 })),
  code_challenge_method: Type.Optional(Type.String({ maxLength: 10 }))
})

export const BAD_APP = 'APPLICAZIONE_NON_VALIDA'

/**
 * Undefined where no front end has sent the person here. An address that is not allowed is not replaced: a stranger
 * may have written the link, and the person expects to come to the front end that they came from.
 * @throws Refused
 */
export function readAppRequest (config: Config, query: Static<typeof AppQuery>): AppRequest | undefined {
  const { redirect_to: asked } = query
  if (asked === undefined) return undefined
  const redirectTo = isLoopbackApp(asked) ? new URL(asked).href : allowedRedirect(config, asked)
  if (!URL.canParse(asked) || new URL(asked).href !== redirectTo) throw new Refused(400, BAD_APP)
  const challenge = challengeOf(query)
  // Without it, whoever sees the address that the browser goes back to would have the session.
  if (challenge.code_challenge === null) throw new Refused(400, BAD_APP)
  return { redirectTo, challenge }
}

/** Tells one request from another, for the button that answers it: another page may have put one in its place. */
export function tagOf ({ redirectTo, challenge: { code_challenge } }: AppRequest): string {
  return hash('sha256', `${code_challenge} ${redirectTo}`, 'base64url')
}

function challengeOf (query: Static<typeof AppQuery>): Challenge {
  try {
    return readChallenge(query)
  } catch {
    throw new Refused(400, BAD_APP)
  }
}
