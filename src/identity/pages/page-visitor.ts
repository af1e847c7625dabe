import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AuthSession } from '#schemas/auth/session.ts'
import type { PersonPrincipal } from '../directory.ts'
import { callRoute } from './call-route.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { findSignedIn, type SignedIn } from '../sign-in/person-sessions.ts'
import { sessionOf, setSession } from './page-cookies.ts'

export const SIGN_IN = '/auth/accedi'
export const SIGN_OUT = '/auth/esci'
export const SECOND_FACTOR = '/auth/verifica'
export const CONTINUE = `${SIGN_IN}/continua`
export const DECLINE = `${SIGN_IN}/rifiuta`
export const ACCOUNT = '/auth/account'
/** `esito` in the account page's URL, for a person who needs a second factor and has none. */
export const NO_FACTOR = 'fattore'
/** The form with this URL opens the administrators' pages at `ADMINISTRATION`. */
export const OPEN_ADMINISTRATION = `${ACCOUNT}/amministrazione`
export const ADMINISTRATION = '/ad/'
/** The first page of the desk. */
export const DESK = '/oggi'
export const PASSWORD = '/auth/password'
export const LINK = `${ACCOUNT}/collegamenti`
export const NEW_KEY = `${ACCOUNT}/chiavi/nuova`

export interface Visitor extends SignedIn {
  caller: PersonPrincipal
  /** An access token of the session, for calls of the routes. */
  token: string
}

export class RedirectError extends Error {
  readonly location: string
  constructor (location: string) {
    super('redirect')
    this.location = location
  }
}

export async function findVisitor (
  request: FastifyRequest, sessionId = sessionOf(request)
): Promise<Visitor | undefined> {
  const { db, identity: { authenticator, signer } } = request.server
  const signedIn = sessionId === undefined ? undefined : await findSignedIn(db, sessionId)
  if (signedIn === undefined) return undefined
  const { access_token: token } = await sessionResponse(signer, signedIn.user, signedIn.session)
  // The same check as for every other client, because the rights are not read from the token.
  const caller = await authenticator.bearer(token, request)
  if (typeof caller === 'string' || caller.userId === undefined) return undefined
  return { ...signedIn, token, caller: { ...caller, userId: caller.userId } }
}

/**
 * The signed-in person, with every required proof.
 * @param lacks the proofs that may be missing. @param nextPage the word (`dopo`) of the page to open after a proof
 * @throws RedirectError to sign in, to prove the second factor, to enrol one, or to replace the printed password
 */
export async function requireVisitor (
  request: FastifyRequest, lacks: readonly NonNullable<PersonPrincipal['lacks']>[] = [], nextPage?: string
): Promise<Visitor> {
  const visitor = await findVisitor(request)
  if (visitor === undefined) throw new RedirectError(SIGN_IN)
  const { caller: { lacks: lacking } } = visitor
  if (lacking === undefined || lacks.includes(lacking)) return visitor
  if (lacking === 'enrolment') throw new RedirectError(ACCOUNT)
  if (lacking === 'password') throw new RedirectError(PASSWORD)
  throw new RedirectError(nextPage === undefined ? SECOND_FACTOR : `${SECOND_FACTOR}?dopo=${nextPage}`)
}

/** Begins a session for the browser. Ends the browser's earlier session, because no cookie contains its id any more. */
export async function beginVisit (
  request: FastifyRequest, reply: FastifyReply, { access_token }: Pick<AuthSession, 'access_token'>
): Promise<Visitor> {
  const caller = await request.server.identity.authenticator.bearer(access_token, request)
  const visitor = typeof caller === 'string' ? undefined : await findVisitor(request, caller.sessionId)
  // Another request has ended the session.
  if (visitor === undefined) throw new RedirectError(SIGN_IN)
  const earlier = sessionOf(request)
  if (earlier !== visitor.session.id) await endVisit(request, earlier)
  setSession(reply, visitor.session.id)
  return visitor
}

/** Ends the browser's session, if it is active. */
export async function endVisit (request: FastifyRequest, sessionId = sessionOf(request)): Promise<void> {
  const visitor = sessionId === undefined ? undefined : await findVisitor(request, sessionId)
  if (visitor === undefined) return
  const { token } = visitor
  await callRoute(request, { method: 'POST', url: '/auth/v1/logout?scope=local', token, payload: {} })
}

export async function backToAccount (reply: FastifyReply, word = 'fatto'): Promise<FastifyReply> {
  return await reply.redirect(`${ACCOUNT}?esito=${word}`, 303)
}

/** Whether the person must choose a password, because the account has none and no identity of another provider. */
export function needsPassword ({ user: { password_hash, identities } }: SignedIn): boolean {
  return password_hash === null && identities.every(({ provider }) => provider === 'email')
}
