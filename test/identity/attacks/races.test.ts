import { randomBytes } from 'node:crypto'
import type postgres from 'postgres'
import t from 'tap'
import { AuthError } from '#src/identity/errors.ts'
import { findOrCreateAccount, linkIdentity } from '#src/identity/oauth/accounts.ts'
import { profileOf } from '#src/identity/oauth/profile.ts'
import { createFlow, exchangeCode, issueAuthCode } from '#src/identity/sign-in/flow-states.ts'
import { callAs, bearer } from '#test/identity/requests.ts'
import { claimsOf } from '#test/identity/token-parts.ts'
import { appWithLocks, PASSWORD } from './lock-waits.ts'

type Change = (tx: postgres.TransactionSql, id: string) => Promise<unknown>

const BAN: Change = (tx, id) => tx`update users set banned_until = now() + interval '1 hour' where id = ${id}`
const DELETION: Change = (tx, id) => tx`delete from users where id = ${id}`
const SOFT_DELETION: Change = (tx, id) => tx`update users set deleted_at = now(), password_hash = null where id = ${id}`
const UNCONFIRMED: Change = (tx, id) => tx`update users set email_confirmed_at = null where id = ${id}`
const OTHER_PASSWORD: Change = (tx, id) => tx`update users set password_hash = 'x' where id = ${id}`

const { app, token, person, signIn, sql, meanwhile, inTurn } = await appWithLocks(t)

t.test('changes of a person during a sign-in', async (t) => {
  const sessionsOf = async (id: string) => (await sql`select id from sessions where user_id = ${id}`).length

  t.test('a sign-in with a password sees a concurrently committed change', async (t) => {
    const cases: [name: string, code: string, change: Change][] = [
      ['a ban', 'user_banned', BAN],
      ['an address not confirmed any more', 'email_not_confirmed', UNCONFIRMED],
      ['deletion', 'invalid_credentials', DELETION],
      ['soft deletion', 'invalid_credentials', SOFT_DELETION],
      ['another password', 'invalid_credentials', OTHER_PASSWORD]
    ]
    for (const [n, [name, error_code, change]] of cases.entries()) {
      const email = `persona${n}@example.org`
      const id = await person(email)
      const response = await meanwhile((tx) => change(tx, id), () => signIn(email))
      t.match([response.statusCode, response.json()], [400, { error_code }], name)
      t.equal(await sessionsOf(id), 0, name)
    }
    const written = await sql`
      select actor, details ->> 'reason' as reason from audit_log
      where action = 'accesso_fallito' order by id`
    t.same(written.map(({ actor, reason }) => [actor, reason]), cases.map(([, code]) => ['anonimo', code]),
      'the audit log records each')
  })

  t.test('a sign-in with a mail\'s or a provider\'s code sees a concurrently committed change', async (t) => {
    const verifier = randomBytes(32).toString('hex')
    const cases: [name: string, status: number, code: string, change: Change][] = [
      ['a ban', 400, 'user_banned', BAN],
      ['deletion', 404, 'flow_state_not_found', DELETION],
      ['soft deletion', 404, 'user_not_found', SOFT_DELETION]
    ]
    for (const [n, [name, status, error_code, change]] of cases.entries()) {
      const id = await person(`codice${n}@example.org`)
      const flow = await createFlow(app.db, {
        provider: 'email',
        code_challenge: verifier,
        code_challenge_method: 'plain',
        redirect_to: 'https://app.example',
        authentication_method: 'magiclink'
      })
      const auth_code = await issueAuthCode(app.db, flow.id, id)
      const response = await meanwhile(
        (tx) => change(tx, id),
        () =>
          app.inject({
            method: 'POST', url: '/auth/v1/token?grant_type=pkce', payload: { auth_code, code_verifier: verifier }
          })
      )
      t.match([response.statusCode, response.json()], [status, { error_code }], name)
      t.equal(await sessionsOf(id), 0, name)
    }
  })

  t.test('a refresh sees a concurrently committed change', async (t) => {
    const cases: [name: string, code: string, change: Change][] = [
      [
        'a ban',
        'user_banned',
        async (tx, id) => [await tx`select 1 from sessions where user_id = ${id} for update`, await BAN(tx, id)]
      ],
      ['signing out', 'refresh_token_not_found', (tx, id) => tx`delete from sessions where user_id = ${id}`],
      ['deletion', 'refresh_token_not_found', DELETION]
    ]
    for (const [n, [name, error_code, change]] of cases.entries()) {
      const email = `rinnovo${n}@example.org`
      const id = await person(email)
      const { refresh_token } = (await signIn(email)).json<{ refresh_token: string }>()
      const response = await meanwhile((tx) => change(tx, id), () => (
        app.inject({ method: 'POST', url: '/auth/v1/token?grant_type=refresh_token', payload: { refresh_token } })
      ))
      t.match([response.statusCode, response.json()], [400, { error_code }], name)
    }
  })
})

t.test('a sign-in through an identity that is unlinked at the same time is refused', async (t) => {
  const id = await person('rosa@example.org')
  await sql`
    insert into identities (user_id, provider, provider_id, identity_data)
    values (${id}, 'google', 'rosa-1', '{"email":"altra@example.org","email_verified":true}')`
  const claims = {
    issuer: 'https://id.example',
    subject: 'rosa-1',
    email: 'altra@example.org',
    emailVerified: true,
    name: 'Rosa Verdi',
    userName: 'rosa',
    picture: undefined
  }
  const signIn = () => app.db.transaction(async (tx) =>
    await findOrCreateAccount(tx, { provider: 'google', profile: profileOf(claims) }, false))
  await t.rejects(meanwhile(async (tx) => {
    await tx`select 1 from users where id = ${id} for update`
    await tx`delete from identities where provider_id = 'rosa-1'`
  }, signIn), { code: 'identity_not_found' })
})

t.test('changes of a person who is changing their own account', async (t) => {
  let people = 0
  const signedIn = async () => {
    const email = `mutevole${++people}@example.org`
    return { id: await person(email), email, ...(await signIn(email)).json<{ access_token: string }>() }
  }
  const put = (token: string, body: object) => callAs(app, token, 'PUT', '/auth/v1/user', body)

  t.test('a session that has ended cannot change the password or the metadata', async (t) => {
    for (const body of [{ password: 'una-frase-lunga-del-ladro' }, { data: { name: 'Ladro' } }]) {
      const { id, email, access_token } = await signedIn()
      const response = await meanwhile(async (tx) => {
        await tx`select 1 from users where id = ${id} for update`
        await tx`delete from sessions where user_id = ${id}`
      }, () => put(access_token, body))
      t.match([response.statusCode, response.json()], [403, { error_code: 'session_not_found' }])
      t.equal((await signIn(email)).statusCode, 200, 'the password is unchanged')
      t.match(await sql`select user_metadata from users where id = ${id}`, [{ user_metadata: {} }])
    }
  })

  t.test('a deleted or banned person cannot change the metadata', async (t) => {
    for (const change of [DELETION, BAN]) {
      const { id, access_token } = await signedIn()
      const response = await meanwhile((tx) => change(tx, id), () => put(access_token, { data: { name: 'Fantasma' } }))
      t.equal(response.statusCode, 403)
      t.same(await sql`select 1 from users where id = ${id} and user_metadata <> '{}'`, [])
    }
  })

  t.test('a change does not undo what a concurrent request writes', async (t) => {
    const { id, access_token } = await signedIn()
    await meanwhile(
      (tx) => tx`update users set user_metadata = user_metadata || '{"surname":"Neri"}' where id = ${id}`,
      () => put(access_token, { data: { name: 'Anna' } })
    )
    t.match(await sql`select user_metadata from users where id = ${id}`,
      [{ user_metadata: { name: 'Anna', surname: 'Neri' } }])
    const service = await token({ service: true })
    await meanwhile(
      (tx) => tx`update users set app_metadata = app_metadata || '{"providers":["email","google"]}' where id = ${id}`,
      () =>
        app.inject({
          method: 'PUT',
          url: `/auth/v1/admin/users/${id}`,
          headers: bearer(service),
          payload: { app_metadata: { piano: 'primo' } }
        })
    )
    t.match(await sql`select app_metadata from users where id = ${id}`,
      [{ app_metadata: { piano: 'primo', providers: ['email', 'google'] } }])
  })

  t.test('one of two simultaneous new passwords is set, and the session of the other request ends', async (t) => {
    const { id, email, access_token: one } = await signedIn()
    const { access_token: two } = (await signIn(email)).json<{ access_token: string }>()
    const passwords = ['una-frase-lunga-del-primo', 'una-frase-lunga-del-secondo']
    const responses = await Promise.all([put(one, { password: passwords[0] }), put(two, { password: passwords[1] })])
    t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 403])
    t.equal((await sql`select id from sessions where user_id = ${id}`).length, 1)
    const right = responses.findIndex(({ statusCode }) => statusCode === 200)
    t.equal((await signIn(email, passwords[right])).statusCode, 200)
    t.equal((await signIn(email, PASSWORD)).statusCode, 400)
  })
})

/**
 * Both requests of a pair wait for the account, which another transaction has locked. In a deadlock PostgreSQL would
 * abort one (40P01), and the response would be a 503.
 */
t.test('concurrent requests on one account do not deadlock', async (t) => {
  const service = await token({ service: true })
  const verifier = randomBytes(32).toString('hex')
  let people = 0

  /** A person, and a statement that locks their account. */
  async function somebody (changes = {}) {
    const email = `coppia${++people}@example.org`
    const id = await person(email, changes)
    return { id, email, hold: (tx: postgres.TransactionSql) => tx`select 1 from users where id = ${id} for update` }
  }

  const post = (url: string, payload: object) => () => app.inject({ method: 'POST', url, payload })
  const newLink = (email: string, type: string) => async () =>
    await callAs(app, service, 'POST', '/auth/v1/admin/generate_link', { type, email, password: 'una-frase-mai-usata' })
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
    const responses = await inTurn(hold, [
      newLink(email, 'recovery'),
      post('/auth/v1/verify', { type: 'recovery', token_hash })
    ])
    // The new link has replaced the link that the second request uses.
    t.same(responses.map(({ statusCode }) => statusCode), [200, 403])
  })

  t.test('a new password, and a new mail', async (t) => {
    const { email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    await linkOf(email)
    const responses = await inTurn(hold, [
      newLink(email, 'recovery'),
      () => callAs(app, access_token, 'PUT', '/auth/v1/user', { password: 'una-frase-lunga-e-nuova' })
    ])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 200])
    t.same([...await sql`select 1 from one_time_tokens where sent_to = ${email}`], [], 'the earlier mail is void')
  })

  t.test('a first proof, which revokes earlier access, and the exchange of a stranger\'s code', async (t) => {
    const { id, email, hold } = await somebody({ email_confirm: false })
    const { hashed_token: token_hash } = await linkOf(email, 'magiclink')
    const responses = await inTurn(hold, [
      post('/auth/v1/verify', { type: 'magiclink', token_hash }),
      exchange(await codeOf(id))
    ])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 404])
    t.equal((await sql`select 1 from sessions where user_id = ${id}`).length, 1)
  })

  t.test('signing out everywhere, and the exchange of a code', async (t) => {
    const { id, email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    const responses = await inTurn(hold, [
      () => callAs(app, access_token, 'POST', '/api/sessions/revoke-all', {}),
      exchange(await codeOf(id))
    ])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 404])
    t.equal((await sql`select 1 from sessions where user_id = ${id}`).length, 0)
  })

  t.test('an administrator\'s new password, and a proof', async (t) => {
    const { id, email, hold } = await somebody()
    const { hashed_token: token_hash } = await linkOf(email)
    const responses = await inTurn(hold, [
      () => callAs(app, service, 'PUT', `/auth/v1/admin/users/${id}`, { password: PASSWORD }),
      post('/auth/v1/verify', { type: 'recovery', token_hash })
    ])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 403])
  })

  t.test('a code that links an identity, and a sign-in through the provider', async (t) => {
    const { id, email, hold } = await somebody()
    const { access_token } = (await signIn(email)).json<{ access_token: string }>()
    const { session_id } = claimsOf(access_token)
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
