import { Type, type Static } from '@sinclair/typebox'
import { HalfWay } from './answers.ts'
import type { AuthSession } from './session.ts'

/** What a proof by mail is answered with: a session, or that the other address of a change has to answer, too. */
export const Verified = Type.Unsafe<AuthSession | Static<typeof HalfWay>>({
  anyOf: [{ $ref: 'SessioneAuth#' }, HalfWay],
  examples: HalfWay.examples
})
