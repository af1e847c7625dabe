import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import t from 'tap'
import { AuthError } from '#src/identity/errors.ts'
import { findOrCreateAccount, linkIdentity } from '#src/identity/oauth/accounts.ts'
import { profileOf } from '#src/identity/oauth/profile.ts'
import { createFlow, exchangeCode, issueAuthCode } from '#src/identity/sign-in/flow-states.ts'
import { as } from '#test/identity/requests.ts'
import { held, PASSWORD } from './held.ts'

/**
 * Each pair waits in turn for the account, which somebody else holds. One of two that wait for each other would be
 * ended by PostgreSQL (40P01) and answered with 503.
 */
t.test('no two requests on one account wait for each other', async (t) => {
  const { app, token, person, signIn, sql, inTurn } = await held(t)
  const service = await token({ service: true })
  const verifier = randomBytes(32).toString('hex')
  let people = 0

  /** Somebody, and what holds their account. */
  async function somebody (changes = {}) {
    const email = `persona${++people}@example.org`
    const id = await person(email, changes)
    return { id, email, hold: (tx: postgres.TransactionSql) => tx`select 1 from users where id = ${id} for update` }
  }

  const post = (url: string, payload: object) => () => app.inject({ method: 'POST', url, payload })
  const newLink = (email: string, type: string) => async () =>
    await as(app, service, 'POST', '/auth/v1/admin/generate_link', { type, email, password: 'una-frase-mai-usata' })
  const linkOf = async (email: string, type = 'recovery') =>
    (await newLink(email, type)()).json<{ hashed_token: string, email_otp: string }>()
  const exchange = (auth_code: string) =>
    post('/auth/v1/token?grant_type=pkce', { auth_code, code_verifier: verifier })

  async function codeOf (id: string, linking_user_id?: string) {
    const flow = await createFlow(app.db, {
      provider: linking_user_id === undefined ? 'email' : 'google',
      code_challenge: verifier,
      code_challenge_method: 'plain',
      redirect_to: 'https://app.example',
      authentication_method: 'magiclink',
      linking_user_id
    })
    return await issueAuthCode(app.db, flow.id, id)
  }

  t.test('a proof by link, and a new mail of the same kind', async (t) => {
    const { email, hold } = await somebody()
    const { hashed_token: token_hash } = await linkOf(email)
    const answers = await inTurn(hold, [
      newLink(email, 'recovery'),
      post('/auth/v1/verify', { type: 'recovery', token_hash })
    ])
    // The new link has replaced the one that came second.
    t.same(answers.map(({ statusCode }) => statusCode), [200, 403])
  })

  t.test('a proof by code, and a new mail of the same kind', async (t) => {
    const { email, hold } = await somebody()
    const { email_otp } = await linkOf(email)
    const answers = await inTurn(hold, [
      newLink(email, 'recovery'),
      post('/auth/v1/verify', { type: 'recovery', email, token: email_otp })
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 403])
  })

  t.test('a new password, and a new mail', async (t) => {
    const { email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    await linkOf(email)
    const answers = await inTurn(hold, [
      newLink(email, 'recovery'),
      () => as(app, access_token, 'PUT', '/auth/v1/user', { password: 'una-frase-lunga-e-nuova' })
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 200])
    t.same([...await sql`select 1 from one_time_tokens where sent_to = ${email}`], [], 'the mail before it is void')
  })

  t.test('a first proof, which ends what others had, and the exchange of a code of theirs', async (t) => {
    const { id, email, hold } = await somebody({ email_confirm: false })
    const { hashed_token: token_hash } = await linkOf(email, 'magiclink')
    const answers = await inTurn(hold, [
      post('/auth/v1/verify', { type: 'magiclink', token_hash }),
      exchange(await codeOf(id))
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 404])
    t.equal((await sql`select 1 from sessions where user_id = ${id}`).length, 1)
  })

  t.test('signing out everywhere, and the exchange of a code', async (t) => {
    const { id, email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    const answers = await inTurn(hold, [
      () => as(app, access_token, 'POST', '/api/sessions/revoke-all', {}),
      exchange(await codeOf(id))
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 404])
    t.equal((await sql`select 1 from sessions where user_id = ${id}`).length, 0)
  })

  t.test('an administrator\'s new password, and a proof', async (t) => {
    const { id, email, hold } = await somebody()
    const { hashed_token: token_hash } = await linkOf(email)
    const answers = await inTurn(hold, [
      () => as(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { password: PASSWORD }),
      post('/auth/v1/verify', { type: 'recovery', token_hash })
    ])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 403])
  })

  t.test('a code that links an identity, and a sign-in through the provider', async (t) => {
    const { id, email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    const [, claims = ''] = access_token.split('.')
    const { session_id } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { session_id: string }
    const incoming = (subject: string) => ({
      provider: 'google',
      profile: profileOf({
        issuer: 'https://id.example',
        subject,
        email,
        emailVerified: true,
        name: 'Rosa Verdi',
        userName: 'rosa',
        picture: undefined
      })
    })
    const code = await codeOf(id, id)
    const results = await inTurn<unknown>(hold, [
      () => app.db.transaction(async (tx) => {
        const state = await exchangeCode(tx, code, verifier)
        if (state instanceof AuthError) throw state
        return await linkIdentity(tx, incoming('una'), id, session_id)
      }),
      () => app.db.transaction((tx) => findOrCreateAccount(tx, incoming('altra'), false))
    ])
    t.equal(results.length, 2)
  })
})
