import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { VerifyAnswer } from '#schemas/auth/answers.ts'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import { VerifyBody, VerifyQuery } from '#schemas/auth/requests.ts'
import type { Author } from '#src/services/audit/log.ts'
import type { Transaction } from '#src/database/connect.ts'
import { AuthError } from '../errors.ts'
import { isBanned, type UserRow } from '../people/find-users.ts'
import { lockUser } from '../people/locks.ts'
import { ADDRESS_PROVEN, startAnew } from '../people/revoke-access.ts'
import { updateUser } from '../people/users.ts'
import { browsers } from '../sign-in/browser.ts'
import { issueAuthCode } from '../sign-in/flow-states.ts'
import { deleteExpiredTokens, issueToken, takeByCode, takeByLink, type TokenRow } from '../sign-in/one-time-tokens.ts'
import { allowedRedirect, redirectWithError } from '../sign-in/redirects.ts'
import { beginSession, clientOf, type SignedIn } from '../sign-in/sessions.ts'
import { confirmEmailChange } from './email-change.ts'
import { withMinimumTime } from './mail-limits.ts'
import type { ProtocolOptions } from './options.ts'
import { rehearse } from './rehearsal.ts'
import { verifyAnswers } from './verify-answers.ts'
import { kindsOf, proofOf } from './verify-requests.ts'

const tags = ['Provider di identità']
/** By what a person who has got a mail has signed in, whatever the mail was for. */
const METHOD = 'otp'
const LINK_REFUSAL = 'Email link is invalid or has expired'

type Take = (tx: Transaction) => Promise<TokenRow | undefined>

/** How a token is taken, and what is said when there is none. */
interface Attempt { take: Take, refusal?: string }

/** The endpoints behind codes and links of mails: the person proves the address and is signed in. */
const verifyRoutes: FastifyPluginAsyncTypebox<ProtocolOptions> = async (app, { config, keys, flows }) => {
  const { db, identity: { signer, waitForListeners } } = app
  const { isSame } = browsers(config)
  const { answerOf, landingOf } = verifyAnswers(signer)

  app.addJob({
    name: 'one-time-tokens',
    description: 'Elimina i codici e i collegamenti scaduti delle e-mail',
    cron: '23 * * * *',
    run: () => deleteExpiredTokens(db)
  })

  app.route({
    method: 'POST',
    url: '/verify',
    config: { access: 'public' },
    schema: {
      operationId: 'authVerify',
      tags,
      summary: 'Prova un indirizzo con il codice o il collegamento di una e-mail',
      body: VerifyBody,
      response: { 200: VerifyAnswer }
    },
    handler: async (request, reply) => {
      await flows.countProof(request, reply)
      const proof = proofOf(request.body)
      if ('link' in proof) return await answerOf(await signIn(request, byLink(proof)))
      const { address, code, kinds } = proof
      await flows.countCode(reply, address)
      const take: Take = async (tx) => {
        // A wrong code counts against the tokens that the address was sent. It was sent some only if
        // somebody has it, or wants to.
        await rehearse(tx, async (inner, { id: user_id, email: sent_to }) => {
          await issueToken(inner, keys, { user_id, kind: 'magiclink', sent_to })
          await takeByCode(inner, keys, { to: { userId: user_id }, code: '', kinds: ['magiclink'] })
        })
        return await takeByCode(tx, keys, { to: { address }, code, kinds })
      }
      return await answerOf(await withMinimumTime(() => signIn(request, { take })))
    }
  })

  // Programs that scan mails open links, too, and use them up, as with Supabase Auth. A front end avoids that with a
  // page that calls `verifyOtp({ token_hash })` only when the person presses a button. A HEAD, which such programs send
  // as well, is refused here.
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
      const redirectTo = allowedRedirect(config, redirect_to)
      const redirect = (address: string) => reply.redirect(address, 303)
      try {
        await flows.countProof(request, reply)
        const { take, refusal } = byLink({ link, kinds: kindsOf(type) })
        let isPkce = false
        const result = await redeem<SignedIn | { code: string }>(
          request,
          {
            async take (tx) {
              const token = await take(tx)
              isPkce = token !== undefined && token.flow_state_id !== null
              return token
            },
            refusal
          },
          async (tx, person, token) =>
            token.flow_state_id === null
              ? await beginSessionOf(tx, request, person, token)
              : { code: await issueCodeOf(tx, request, person, token, token.flow_state_id) }
        )
        return await redirect(await landingOf(redirectTo, result, { type, isPkce }))
      } catch (err) {
        if (!(err instanceof AuthError)) throw err
        const { code, message } = err
        return await redirect(redirectWithError(redirectTo, { error: 'access_denied', code, message }))
      }
    }
  })

  function byLink ({ link, kinds }: { link: string, kinds: readonly TokenKind[] }): Attempt {
    return { take: (tx) => takeByLink(tx, keys, link, kinds), refusal: LINK_REFUSAL }
  }

  /** Redeems a token and signs the person in, unless a change of address waits for the other address. */
  async function signIn (request: FastifyRequest, attempt: Attempt): Promise<SignedIn | 'waiting'> {
    return await redeem(request, attempt, (tx, user, token) => beginSessionOf(tx, request, user, token))
  }

  /**
   * Takes a token and continues with the person who has proven it. A refusal is committed, too: the token is used up, a
   * wrong code is counted.
   */
  async function redeem<T> (
    request: FastifyRequest,
    { take, refusal }: Attempt,
    next: (tx: Transaction, user: UserRow, token: TokenRow) => Promise<T>
  ): Promise<T | 'waiting'> {
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
    tx: Transaction,
    request: FastifyRequest,
    person: UserRow,
    token: TokenRow
  ): Promise<SignedIn> {
    const signedIn = await beginSession(tx, person, METHOD, clientOf(request))
    await auditEmailChange(tx, request, person, token)
    await app.audit.append(tx, {
      ...personAuthor(request, person),
      action: 'accesso',
      object: `session:${signedIn.session.id}`,
      details: { method: METHOD, kind: token.kind }
    })
    return signedIn
  }

  /** The code with which the client that started the flow (PKCE) gets the session. */
  async function issueCodeOf (
    tx: Transaction,
    request: FastifyRequest,
    person: UserRow,
    token: TokenRow,
    flowId: string
  ): Promise<string> {
    const code = await issueAuthCode(tx, flowId, person.id)
    await auditEmailChange(tx, request, person, token)
    return code
  }

  async function auditEmailChange (
    tx: Transaction,
    request: FastifyRequest,
    person: UserRow,
    { kind }: TokenRow
  ): Promise<void> {
    if (!isEmailChange(kind)) return
    await app.audit.append(tx, {
      ...personAuthor(request, person),
      action: 'utente_modificato',
      object: `user:${person.id}`,
      details: { fields: ['email'] }
    })
  }

  /**
   * Locks the person who has proven that an address is theirs, and confirms the address. Undefined when the account has
   * another address by now. What others had of an account that nobody had confirmed ends: `onRevoked` says so.
   */
  async function confirmAddress (
    tx: Transaction,
    request: FastifyRequest,
    token: TokenRow,
    onRevoked: () => void
  ): Promise<UserRow | 'waiting' | AuthError | undefined> {
    const person = await lockUser(tx, token.user_id)
    if (person && isBanned(person.banned_until)) return new AuthError('user_banned')
    if (person && isEmailChange(token.kind)) return await confirmEmailChange(tx, person, token)
    if (!person || token.sent_to !== person.email) return undefined
    if (person.email_confirmed_at !== null) return person
    const { revoked } = await startAnew(tx, person)
    if (revoked) {
      onRevoked()
      const author = personAuthor(request, person)
      await app.audit.append(tx, {
        ...author,
        action: 'sessioni_revocate',
        object: `user:${person.id}`,
        details: ADDRESS_PROVEN
      })
    }
    return await updateUser(tx, person.id, {
      email_confirmed_at: new Date(),
      password_hash: isOwnPassword(request, person, token) ? person.password_hash : null
    })
  }

  /**
   * Whether the person who confirms the address after a sign-up has chosen the password: in the browser that signed up,
   * or an administrator chose it for them. A stranger may have signed up with the address and a password they know.
   */
  function isOwnPassword (
    request: FastifyRequest,
    { password_browser: chosenIn }: UserRow,
    { kind }: TokenRow
  ): boolean {
    return kind === 'signup' && (chosenIn === null || isSame(request, chosenIn))
  }
}
export default verifyRoutes

/** The person who has proven a token, as the author in the audit log: the request itself has no credentials. */
function personAuthor ({ ip }: FastifyRequest, { id }: UserRow): Author {
  return { actor: `user:${id}`, ip }
}

function isEmailChange (kind: TokenKind): boolean {
  return kind === 'email_change_current' || kind === 'email_change_new'
}
