import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { VerifyResponse } from '#schemas/auth/responses.ts'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import { VerifyBody, VerifyQuery } from '#schemas/auth/requests.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Transaction } from '#src/database/connect.ts'
import { route } from '../provider-route.ts'
import { AuthError, validationFailed } from '../errors.ts'
import { isBanned, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/people-locks.ts'
import { ADDRESS_PROVEN, resetToEmailIdentity } from '../people/revoke-access.ts'
import { updateUser } from '../people/users.ts'
import { recordOf } from '../audit-record.ts'
import { browserCookie } from '../sign-in/browser-cookie.ts'
import { issueAuthCode } from '../sign-in/flow-states.ts'
import { deleteExpiredTokens, takeByCode, takeByLink, type TokenRow } from '../sign-in/one-time-tokens.ts'
import {
  allowedRedirect, PKCE_REQUIRED, redirectWithCode, redirectWithError, redirectWithMessage, redirectWithSession,
  requiresPkce
} from '../sign-in/redirects.ts'
import { sessionResponse } from '../sign-in/session-response.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/person-sessions.ts'
import { confirmEmailChange, requireAddress } from './mail-flows.ts'
import { countCode, countProof, withMinimumTime } from './request-limits.ts'

/** The sign-in method of every session that a code or link of a mail starts. */
const METHOD = 'otp'
const LINK_REFUSAL = 'Email link is invalid or has expired'
const WAITING_MESSAGE = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** The function that takes a token, and the error message when no token matches. */
interface Attempt { take: (tx: Transaction) => Promise<TokenRow | undefined>, refusal?: string }

/** The endpoints for codes and links in mails. The person verifies the address and is signed in. */
const verifyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  app.addJob({
    name: 'one-time-tokens',
    description: 'Elimina i codici e i collegamenti scaduti delle e-mail',
    cron: '23 * * * *',
    run: () => deleteExpiredTokens(app.db)
  })

  app.post('/verify', route(
    { access: 'public' }, 'authVerify', 'Prova un indirizzo con il codice o il collegamento di una e-mail', {
      body: VerifyBody, response: { 200: VerifyResponse }
    }
  ), async (request, reply) => {
    const result = await proveAddress(request, reply, request.body)
    return result === 'waiting'
      ? { msg: WAITING_MESSAGE, code: '200' }
      : await sessionResponse(app.identity.signer, result.user, result.session)
  })

  // Mail scanners also open links and use them up, as in Supabase Auth. A front end avoids that with a page that calls
  // `verifyOtp({ token_hash })` when the person presses a button. A HEAD is rejected, because scanners send it.
  app.get('/verify', {
    exposeHeadRoute: false,
    ...route({ access: 'public' }, 'authVerifyLink', 'Il collegamento di una e-mail', {
      querystring: VerifyQuery, response: { 303: Type.Null() }
    })
  }, async (request, reply) => await reply.redirect(await openLink(request, reply, request.query), 303))
}
export default verifyRoutes

/** `waiting`: the other address of a change must also confirm. */
async function proveAddress (
  request: FastifyRequest, reply: FastifyReply, body: Static<typeof VerifyBody>
): Promise<SignedIn | 'waiting'> {
  const { keys } = request.server.identity
  await countProof(request, reply)
  const proof = proofOf(body)
  if ('link' in proof) return await signIn(request, byLink(keys, proof))
  const { address, code, kinds } = proof
  await countCode(reply, address)
  const take = (tx: Transaction) => takeByCode(tx, keys, { to: { address }, code, kinds })
  return await withMinimumTime(() => signIn(request, { take }))
}

/** The URL for the redirect of the browser. The client that started the flow exchanges a code in it. */
async function openLink (
  request: FastifyRequest, reply: FastifyReply, query: Static<typeof VerifyQuery>
): Promise<string> {
  const { config, keys, signer } = request.server.identity
  const { type = '', token = '', token_hash: link = token, redirect_to } = query
  const redirectTo = allowedRedirect(config, redirect_to)
  try {
    await countProof(request, reply)
    const { take, refusal } = byLink(keys, { link, kinds: kindsOf(type) })
    let isPkce = false
    const taking = async (tx: Transaction) => {
      const taken = await take(tx)
      isPkce = taken !== undefined && taken.flow_state_id !== null
      return taken
    }
    const attempt = { take: taking, refusal }
    const result = await redeem<SignedIn | string>(request, attempt, async (tx, person, taken) => {
      const { kind, flow_state_id: flow } = taken
      // Throw to roll back, so that the code in the same mail stays valid.
      if (flow === null && requiresPkce(redirectTo)) throw validationFailed(PKCE_REQUIRED)
      if (flow === null) return await beginSessionOf(tx, request, person, kind)
      return await issueCodeOf(tx, request, person, kind, flow)
    })
    if (result === 'waiting') return redirectWithMessage(redirectTo, WAITING_MESSAGE, isPkce)
    if (typeof result === 'string') return redirectWithCode(redirectTo, result)
    return redirectWithSession(redirectTo, await sessionResponse(signer, result.user, result.session), { type })
  } catch (err) {
    if (!(err instanceof AuthError)) throw err
    const { code, message } = err
    return redirectWithError(redirectTo, { error: 'access_denied', code, message })
  }
}

function byLink (keys: Keys, { link, kinds }: { link: string, kinds: readonly TokenKind[] }): Attempt {
  return { take: (tx) => takeByLink(tx, keys, link, kinds), refusal: LINK_REFUSAL }
}

async function signIn (request: FastifyRequest, attempt: Attempt): Promise<SignedIn | 'waiting'> {
  return await redeem(request, attempt, (tx, user, token) => beginSessionOf(tx, request, user, token.kind))
}

/**
 * Takes a token and continues with the person who has proven it. Refusals are committed too, because they use up the
 * token or count the wrong code.
 */
async function redeem<T> (
  request: FastifyRequest,
  { take, refusal }: Attempt,
  next: (tx: Transaction, user: UserRow, token: TokenRow) => Promise<T>
): Promise<T | 'waiting'> {
  const { db, identity: { waitForListeners } } = request.server
  let wasRevoked = false
  const result = await db.transaction(async (tx) => {
    const token = await take(tx)
    const user = token && (await confirmAddress(tx, request, token, () => { wasRevoked = true }))
    if (!token || !user) return new AuthError('otp_expired', { message: refusal })
    return user === 'waiting' || user instanceof AuthError ? user : await next(tx, user, token)
  })
  if (wasRevoked) await waitForListeners()
  if (result instanceof AuthError) throw result
  return result
}

async function beginSessionOf (
  tx: Transaction, request: FastifyRequest, person: UserRow, kind: TokenKind
): Promise<SignedIn> {
  const signedIn = await beginSession(tx, person, METHOD, clientOf(request))
  await recordEmailChange(tx, request, person, kind)
  await recordOf(tx, request, person.id, 'accesso', `session:${signedIn.session.id}`, { method: METHOD, kind })
  return signedIn
}

/** The code for a client with PKCE. The client that started the flow exchanges it for the session. */
async function issueCodeOf (
  tx: Transaction, request: FastifyRequest, person: UserRow, kind: TokenKind, flowId: string
): Promise<string> {
  const code = await issueAuthCode(tx, flowId, person.id)
  await recordEmailChange(tx, request, person, kind)
  return code
}

async function recordEmailChange (
  tx: Transaction, request: FastifyRequest, { id }: UserRow, kind: TokenKind
): Promise<void> {
  if (isEmailChange(kind)) await recordOf(tx, request, id, 'utente_modificato', `user:${id}`, { fields: ['email'] })
}

/**
 * Locks the person who has verified an address, and confirms it. Undefined when the account now has another address.
 * Earlier access to an unconfirmed account is revoked, and `onRevoked` is called.
 */
async function confirmAddress (
  tx: Transaction, request: FastifyRequest, token: TokenRow, onRevoked: () => void
): Promise<UserRow | 'waiting' | AuthError | undefined> {
  const person = await lockUser(tx, token.user_id)
  if (person && isBanned(person.banned_until)) return new AuthError('user_banned')
  if (person && isEmailChange(token.kind)) return await confirmEmailChange(tx, person, token)
  if (!person || token.sent_to !== person.email) return undefined
  if (person.email_confirmed_at !== null) return person
  const { id } = person
  const { revoked } = await resetToEmailIdentity(tx, person)
  if (revoked) {
    onRevoked()
    await recordOf(tx, request, id, 'sessioni_revocate', `user:${id}`, ADDRESS_PROVEN)
  }
  const password_hash = isOwnPassword(request, person, token) ? person.password_hash : null
  return await updateUser(tx, id, { email_confirmed_at: new Date(), password_hash })
}

/**
 * Whether the person who confirms the address also chose the password: in the same browser, or through an
 * administrator. Otherwise a stranger may have signed up with the address.
 */
function isOwnPassword (
  request: FastifyRequest, { password_browser: chosenIn }: UserRow, { kind }: TokenRow
): boolean {
  const { config } = request.server.identity
  return kind === 'signup' && (chosenIn === null || browserCookie(config).isSame(request, chosenIn))
}

function isEmailChange (kind: TokenKind): boolean {
  return kind === 'email_change_current' || kind === 'email_change_new'
}

const CONFIRMATIONS = ['signup', 'invite'] as const
const RECOVERIES = ['recovery', 'magiclink'] as const
const PHONE_TYPES = ['sms', 'phone_change']
/** A phone number (E.164), as Supabase Auth reads it: with or without the plus, with spaces. */
const PHONE = /^[1-9][0-9]{1,14}$/

/**
 * The kinds of tokens that each type of request accepts. Supabase Auth has one token to confirm an address and one to
 * sign in without a password, so the types of each pair are equivalent.
 */
const KINDS: ReadonlyMap<string, readonly TokenKind[]> = new Map<string, readonly TokenKind[]>([
  ['signup', CONFIRMATIONS],
  ['invite', CONFIRMATIONS],
  ['magiclink', RECOVERIES],
  ['recovery', RECOVERIES],
  ['email', [...CONFIRMATIONS, ...RECOVERIES]],
  ['email_change', ['email_change_current', 'email_change_new']]
])

/** The proof of an address: the code from its mail, or the link. */
type Proof = { kinds: readonly TokenKind[] } & ({ link: string } | { address: string, code: string })

function proofOf ({ type, token: code, token_hash: link, email, phone }: Static<typeof VerifyBody>): Proof {
  if (Boolean(code) === Boolean(link)) throw validationFailed('Verify requires either a token or a token hash')
  if (link) {
    if (email || phone) throw validationFailed('Only the token_hash and type should be provided')
    return { kinds: kindsOf(type), link }
  }
  if (!email === !phone) throw validationFailed('Only an email address or phone number should be provided on verify')
  if (phone && !PHONE.test(phone.replace(/[+ ]/g, ''))) {
    throw validationFailed('Invalid phone number format (E.164 required)')
  }
  if (phone || PHONE_TYPES.includes(type)) throw new AuthError('otp_expired')
  return { kinds: kindsOf(type), address: requireAddress({ email }), code: code! }
}

function kindsOf (type: string): readonly TokenKind[] {
  if (type === '') throw validationFailed('Verify requires a verification type')
  const kinds = KINDS.get(type)
  if (!kinds) throw validationFailed('Invalid email verification type')
  return kinds
}
