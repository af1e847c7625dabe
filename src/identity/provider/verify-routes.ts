import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { VerifyBody, VerifyQuery } from '#schemas/auth/requests.ts'
import { Verified } from '#schemas/auth/verify.ts'
import type { Keys } from '#src/keys.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { grantCode, safeRedirect } from '../flow-states.ts'
import { forgetOldTokens, takeByCode, takeByLink, type TokenKind, type TokenRow } from '../one-time-tokens.ts'
import { beginSession, clientOf, sessionAnswer, type SessionRow } from '../sessions.ts'
import { findUser, getUser, isBanned, updateUser, type User } from '../users.ts'
import { proveHalf } from './email-change.ts'
import { addressOf, methodOf } from './mail-flows.ts'
import { unhurried } from './mail-limits.ts'
import type { ProviderOptions } from './routes.ts'

const tags = ['Provider di identità']

/** What each type on the wire can prove. `email` is what today's clients say after signing up and for a magic link. */
const KINDS: ReadonlyMap<string, readonly TokenKind[]> = new Map<string, readonly TokenKind[]>([
  ['signup', ['signup']],
  ['invite', ['invite']],
  ['magiclink', ['magiclink']],
  ['recovery', ['recovery']],
  ['email', ['signup', 'magiclink']],
  ['email_change', ['email_change_current', 'email_change_new']]
])

const HALF_WAY = 'Confirmation link accepted. Please proceed to confirm link sent to the other email'

/** What has come of a proof: a session, a code for the client that began (PKCE), or the first half of a change of address. */
type Outcome = { user: User, session: SessionRow } | { code: string } | 'half'

/** Where mails lead: the person has the address, and comes in. */
const verifyRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, { config, keys, flows }) => {
  const { db, identity: { signer } } = app

  app.addJob({ name: 'one-time-tokens', cron: '23 * * * *', run: () => forgetOldTokens(db) })

  app.route({
    method: 'POST',
    url: '/verify',
    config: { access: 'public' },
    schema: { operationId: 'authVerify', tags, summary: 'Prova un indirizzo con il codice o il collegamento di una e-mail', body: VerifyBody, response: { 200: Verified } },
    handler: async (request, reply) => {
      const { type, token: code, token_hash: link, ...whose } = request.body
      await flows.proof(request, reply)
      const kinds = kindsOf(type)
      const outcome = link ? await byLink(request, link, kinds, false) : await byCode(request, reply, code, whose, kinds)
      if (outcome === 'half') return { msg: HALF_WAY, code: '200' }
      // The code of PKCE is for browsers that come by a link.
      if ('code' in outcome) throw new AuthError('unexpected_failure')
      return await sessionAnswer(signer, outcome.user, outcome.session)
    }
  })

  // Programs that look into mails follow links, too, and use them up, as with Supabase Auth: the way around is a page of the front end
  // that calls `verifyOtp({ token_hash })` only when somebody presses a button. A HEAD, which they send as well, is not taken here.
  app.route({
    method: 'GET',
    url: '/verify',
    exposeHeadRoute: false,
    config: { access: 'public' },
    schema: { operationId: 'authVerifyLink', tags, summary: 'Il collegamento di una e-mail', querystring: VerifyQuery, response: { 303: Type.Null() } },
    handler: async (request, reply) => {
      const { type = '', token, token_hash: link = token, redirect_to } = request.query
      const target = new URL(safeRedirect(config, redirect_to))
      try {
        await flows.proof(request, reply)
        await lead(target, await byLink(request, link ?? '', kindsOf(type), true), type)
      } catch (err) {
        if (!(err instanceof AuthError)) throw err
        const error = { error: 'access_denied', error_code: err.code, error_description: err.message }
        target.hash = new URLSearchParams(error).toString()
        for (const [name, value] of Object.entries(error)) target.searchParams.set(name, value)
      }
      return await reply.redirect(target.href, 303)
    }
  })

  async function byLink (request: FastifyRequest, link: string, kinds: readonly TokenKind[], isBrowser: boolean): Promise<Outcome> {
    return unlessRefused(await db.transaction(async (tx) => await enter(tx, request, await takeByLink(tx, keys, link, kinds), isBrowser)))
  }

  async function byCode (
    request: FastifyRequest, reply: FastifyReply, code: string | undefined, whose: { email?: string, phone?: string }, kinds: readonly TokenKind[]
  ): Promise<Outcome> {
    if (!code) throw new AuthError('validation_failed', { message: 'Verify requires either a token or a token hash' })
    const address = addressOf(whose)
    await flows.code(request, reply, address)
    return unlessRefused(await unhurried(() => db.transaction(async (tx) => {
      return await enter(tx, request, await takeByCode(tx, keys, { to: { address }, code, kinds }), false)
    })))
  }

  /** Where a proof leads. An error is returned, not thrown: that a token was used up, or a wrong code counted, is to be kept. */
  async function enter (tx: Transaction, request: FastifyRequest, token: TokenRow | undefined, isBrowser: boolean): Promise<Outcome | AuthError> {
    const user = token && await proven(tx, keys, token)
    if (!token || !user) return new AuthError('otp_expired')
    if (user === 'half' || user instanceof AuthError) return user
    const author = { actor: `user:${user.id}`, ip: request.ip }
    const isChange = token.kind.startsWith('email_change')
    const change = async () => {
      if (isChange) await app.audit.append(tx, { ...author, action: 'utente_modificato', object: `user:${user.id}`, details: { fields: ['email'] } })
    }
    if (isBrowser && token.flow_state_id !== null) {
      const code = await grantCode(tx, token.flow_state_id, user.id)
      await change()
      return { code }
    }
    const method = methodOf(token.kind)
    const session = await beginSession(tx, user, method, clientOf(request))
    const signedIn = await getUser(tx, user.id)
    await change()
    await app.audit.append(tx, { ...author, action: 'accesso', object: `session:${session.id}`, details: { method } })
    return { user: signedIn, session }
  }

  /** Writes into an address what a browser brings there: the session in the fragment, which no server sees, or a code. */
  async function lead (target: URL, outcome: Outcome, type: string): Promise<void> {
    if (outcome === 'half') {
      target.hash = new URLSearchParams({ message: HALF_WAY }).toString()
    } else if ('code' in outcome) {
      target.searchParams.set('code', outcome.code)
    } else {
      const { access_token, token_type, expires_in, expires_at, refresh_token } = await sessionAnswer(signer, outcome.user, outcome.session)
      const tokens = { access_token, token_type, expires_in: String(expires_in), expires_at: String(expires_at), refresh_token, type }
      target.hash = new URLSearchParams(tokens).toString()
    }
  }
}
export default verifyRoutes

/** Who has proven that an address is theirs; undefined when the address is not the account's any more. */
async function proven (tx: Transaction, keys: Keys, token: TokenRow): Promise<User | 'half' | AuthError | undefined> {
  const user = await findUser(tx, { id: token.user_id })
  if (user && isBanned(user.banned_until)) return new AuthError('user_banned')
  if (user && token.kind.startsWith('email_change')) return await proveHalf(tx, keys, token)
  if (!user || token.sent_to !== user.email) return undefined
  if (user.email_confirmed_at !== null) return user
  // Only the mail that follows upon a password proves, with the address, that the password is the same person's.
  return await updateUser(tx, user.id, { email_confirmed_at: new Date(), ...(token.kind === 'signup' ? {} : { password_hash: null }) })
}

function unlessRefused (outcome: Outcome | AuthError): Outcome {
  if (outcome instanceof AuthError) throw outcome
  return outcome
}

/** @throws AuthError validation_failed */
function kindsOf (type: string): readonly TokenKind[] {
  const kinds = KINDS.get(type)
  if (!kinds) throw new AuthError('validation_failed', { message: 'Verify requires a verification type' })
  return kinds
}
