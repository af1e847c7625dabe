import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { VerifyBody, VerifyQuery } from '#schemas/auth/requests.ts'
import { Verified } from '#schemas/auth/verify.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Author } from '#src/plugins/audit/log.ts'
import type { Transaction } from '#src/plugins/database/connect.ts'
import { AuthError } from '../errors.ts'
import { grantCode, safeRedirect } from '../sign-in/flow-states.ts'
import { forgetOldTokens, takeByCode, takeByLink, type TokenKind, type TokenRow } from '../sign-in/one-time-tokens.ts'
import { beginSession, clientOf, sessionAnswer, type SessionRow } from '../sign-in/sessions.ts'
import { findUser, getUser, isBanned, updateUser, type User } from '../people/users.ts'
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

type Take = (tx: Transaction) => Promise<TokenRow | undefined>
type SignedIn = { user: User, session: SessionRow }

/** Where mails lead: the person has the address, and comes in. */
const verifyRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, { config, keys, flows }) => {
  const { db, identity: { signer } } = app

  app.addJob({ name: 'one-time-tokens', cron: '23 * * * *', run: () => forgetOldTokens(db) })

  app.route({
    method: 'POST',
    url: '/verify',
    config: { access: 'public' },
    schema: {
      operationId: 'authVerify',
      tags,
      summary: 'Prova un indirizzo con il codice o il collegamento di una e-mail',
      body: VerifyBody,
      response: { 200: Verified }
    },
    handler: async (request, reply) => {
      const { type, token: code, token_hash: link, ...whose } = request.body
      await flows.proof(request, reply)
      const kinds = kindsOf(type)
      if (link) {
        return await answer(
          await prove(
            (tx) => takeByLink(tx, keys, link, kinds),
            (tx, user, token) => signIn(tx, request, user, token)
          )
        )
      }
      if (!code) throw new AuthError('validation_failed', { message: 'Verify requires either a token or a token hash' })
      const address = addressOf(whose)
      await flows.code(request, reply, address)
      const take: Take = (tx) => takeByCode(tx, keys, { to: { address }, code, kinds })
      return await answer(await unhurried(() => prove(take, (tx, user, token) => signIn(tx, request, user, token))))
    }
  })

  // Programs that look into mails follow links, too, and use them up, as with Supabase Auth: the way around is a page
  // of the front end that calls `verifyOtp({ token_hash })` only when somebody presses a button. A HEAD, which they
  // send as well, is not taken here.
  app.route({
    method: 'GET',
    url: '/verify',
    exposeHeadRoute: false,
    config: { access: 'public' },
    schema: {
      operationId: 'authVerifyLink',
      tags,
      summary: 'Il collegamento di una e-mail',
      querystring: VerifyQuery,
      response: { 303: Type.Null() }
    },
    handler: async (request, reply) => {
      const { type = '', token = '', token_hash: link = token, redirect_to } = request.query
      const target = new URL(safeRedirect(config, redirect_to))
      try {
        await flows.proof(request, reply)
        const kinds = kindsOf(type)
        const outcome = await prove<SignedIn | { code: string }>(
          (tx) => takeByLink(tx, keys, link, kinds),
          async (tx, user, token) =>
            token.flow_state_id === null
              ? await signIn(tx, request, user, token)
              : { code: await grant(tx, request, user, token, token.flow_state_id) }
        )
        await lead(target, outcome, type)
      } catch (err) {
        if (!(err instanceof AuthError)) throw err
        const error = { error: 'access_denied', error_code: err.code, error_description: err.message }
        target.hash = new URLSearchParams(error).toString()
        for (const [name, value] of Object.entries(error)) target.searchParams.set(name, value)
      }
      return await reply.redirect(target.href, 303)
    }
  })

  /**
   * Takes a token, and goes on with who has proven it. What is refused is committed, too: a token is used up, a wrong
   * code counted.
   */
  async function prove<T> (
    take: Take,
    goOn: (tx: Transaction, user: User, token: TokenRow) => Promise<T>
  ): Promise<T | 'half'> {
    const outcome = await db.transaction(async (tx) => {
      const token = await take(tx)
      const user = token && (await proven(tx, keys, token))
      if (!token || !user) return new AuthError('otp_expired')
      return user === 'half' || user instanceof AuthError ? user : await goOn(tx, user, token)
    })
    if (outcome instanceof AuthError) throw outcome
    return outcome
  }

  async function signIn (tx: Transaction, request: FastifyRequest, user: User, token: TokenRow): Promise<SignedIn> {
    const method = methodOf(token.kind)
    const session = await beginSession(tx, user, method, clientOf(request))
    const signedIn = await getUser(tx, user.id)
    await noteChange(tx, request, user, token)
    await app.audit.append(tx, {
      ...authorOf(request, user),
      action: 'accesso',
      object: `session:${session.id}`,
      details: { method }
    })
    return { user: signedIn, session }
  }

  /** The code with which the client that began (PKCE) gets the session. */
  async function grant (
    tx: Transaction,
    request: FastifyRequest,
    user: User,
    token: TokenRow,
    flowId: string
  ): Promise<string> {
    const code = await grantCode(tx, flowId, user.id)
    await noteChange(tx, request, user, token)
    return code
  }

  async function noteChange (tx: Transaction, request: FastifyRequest, user: User, { kind }: TokenRow): Promise<void> {
    if (!isChange(kind)) return
    await app.audit.append(tx, {
      ...authorOf(request, user),
      action: 'utente_modificato',
      object: `user:${user.id}`,
      details: { fields: ['email'] }
    })
  }

  async function answer (outcome: SignedIn | 'half') {
    return outcome === 'half'
      ? { msg: HALF_WAY, code: '200' }
      : await sessionAnswer(signer, outcome.user, outcome.session)
  }

  /**
   * Writes into an address what a browser brings there: the session in the fragment, which no server sees, or a code.
   */
  async function lead (target: URL, outcome: SignedIn | { code: string } | 'half', type: string): Promise<void> {
    if (outcome === 'half') {
      target.hash = new URLSearchParams({ message: HALF_WAY }).toString()
    } else if ('code' in outcome) {
      target.searchParams.set('code', outcome.code)
    } else {
      const { access_token, token_type, expires_in, expires_at, refresh_token } = await sessionAnswer(
        signer,
        outcome.user,
        outcome.session
      )
      const tokens = {
        access_token,
        token_type,
        expires_in: String(expires_in),
        expires_at: String(expires_at),
        refresh_token,
        type
      }
      target.hash = new URLSearchParams(tokens).toString()
    }
  }
}
export default verifyRoutes

function authorOf ({ ip }: FastifyRequest, { id }: User): Author {
  return { actor: `user:${id}`, ip }
}

function isChange (kind: TokenKind): boolean {
  return kind === 'email_change_current' || kind === 'email_change_new'
}

/** Who has proven that an address is theirs; undefined when the address is not the account's any more. */
async function proven (tx: Transaction, keys: Keys, token: TokenRow): Promise<User | 'half' | AuthError | undefined> {
  const user = await findUser(tx, { id: token.user_id })
  if (user && isBanned(user.banned_until)) return new AuthError('user_banned')
  if (user && isChange(token.kind)) return await proveHalf(tx, keys, token)
  if (!user || token.sent_to !== user.email) return undefined
  if (user.email_confirmed_at !== null) return user
  // Only the mail that follows upon a password proves, with the address, that the password is the same person's.
  return await updateUser(tx, user.id, {
    email_confirmed_at: new Date(),
    ...(token.kind === 'signup' ? {} : { password_hash: null })
  })
}

/** @throws AuthError validation_failed */
function kindsOf (type: string): readonly TokenKind[] {
  const kinds = KINDS.get(type)
  if (!kinds) throw new AuthError('validation_failed', { message: 'Verify requires a verification type' })
  return kinds
}
