import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { PersonPrincipal } from '../directory.ts'
import { sessionAnswer } from '../sign-in/session-answer.ts'
import { findSignedIn, type SignedIn } from '../sign-in/sessions.ts'
import type { PageCookies } from './cookies.ts'

export const SIGN_IN = '/auth/accedi'
export const SIGN_OUT = '/auth/esci'
export const SECOND_FACTOR = '/auth/verifica'
export const CONTINUE = `${SIGN_IN}/continua`
export const DECLINE = `${SIGN_IN}/rifiuta`
export const ACCOUNT = '/auth/account'
/** The word in the account's address for who was to prove a second factor and has none. */
export const NO_FACTOR = 'fattore'
export const PASSWORD = '/auth/password'
export const LINK = `${ACCOUNT}/collegamenti`
export const NEW_KEY = `${ACCOUNT}/chiavi/nuova`

/** A person whose browser has a session. */
export interface Visitor extends SignedIn {
  caller: PersonPrincipal
  /** An access token of the session, for the routes. */
  token: string
}

/** Thrown where a browser must go elsewhere first. */
export class Elsewhere extends Error {
  readonly location: string
  constructor (location: string) {
    super('elsewhere')
    this.location = location
  }
}

/** Who looks at the pages. */
export interface Visitors {
  find (request: FastifyRequest): Promise<Visitor | undefined>
  /**
   * The person, once they have proven what they must.
   * @param lacks what they may lack all the same; @param then the page that a proof leads back to
   * @throws Elsewhere to sign in, to prove the second factor, or to enrol one
   */
  require (
    request: FastifyRequest, lacks?: readonly NonNullable<PersonPrincipal['lacks']>[], then?: string
  ): Promise<Visitor>
  /** The browser has the session of these tokens from now on. */
  begin (request: FastifyRequest, reply: FastifyReply, tokens: Pick<AuthSession, 'access_token'>): Promise<Visitor>
}

export function pageVisitors ({ db, identity }: FastifyInstance, cookies: PageCookies): Visitors {
  const { authenticator, signer } = identity

  async function find (request: FastifyRequest, sessionId = cookies.sessionOf(request)): Promise<Visitor | undefined> {
    const signedIn = sessionId === undefined ? undefined : await findSignedIn(db, sessionId)
    if (signedIn === undefined) return undefined
    const { access_token: token } = await sessionAnswer(signer, signedIn.user, signedIn.session)
    // As for every other client: the token says nothing of rights.
    const caller = await authenticator.bearer(token, request)
    if (typeof caller === 'string' || caller.userId === undefined) return undefined
    return { ...signedIn, token, caller: { ...caller, userId: caller.userId } }
  }

  return {
    find: (request) => find(request),
    async require (request, lacks = [], then) {
      const visitor = await find(request)
      if (visitor === undefined) throw new Elsewhere(SIGN_IN)
      const { caller: { lacks: lacking } } = visitor
      if (lacking === undefined || lacks.includes(lacking)) return visitor
      if (lacking === 'enrolment') throw new Elsewhere(ACCOUNT)
      throw new Elsewhere(then === undefined ? SECOND_FACTOR : `${SECOND_FACTOR}?dopo=${then}`)
    },
    async begin (request, reply, { access_token }) {
      const caller = await authenticator.bearer(access_token, request)
      const visitor = typeof caller === 'string' ? undefined : await find(request, caller.sessionId)
      // Another request has ended it meanwhile.
      if (visitor === undefined) throw new Elsewhere(SIGN_IN)
      cookies.setSession(reply, visitor.session.id)
      return visitor
    }
  }
}

/** Whether the person has yet to choose a password: nothing else would let them in again. */
export function needsPassword ({ user: { password_hash, identities } }: SignedIn): boolean {
  return password_hash === null && identities.every(({ provider }) => provider === 'email')
}
