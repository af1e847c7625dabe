import t from 'tap'
import { flow_states } from '#drizzle/tables/identity.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { addIdentity } from '#src/identity/people/identity-rows.ts'
import { deleteUnconfirmed } from '#src/identity/people/unconfirmed.ts'
import { createUser } from '#src/identity/people/users.ts'
import { signIn } from '#test/helper.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { HOME, newBrowser, PASSWORD, site } from './mailbox.ts'

t.test('sign-up', async (t) => {
  const place = await site(t)
  const { app, client, enter, letter, follow, smtp } = place

  t.test('the code in the mail confirms the address, and signs in a pending account without API access', async (t) => {
    const auth = client({ browser: newBrowser() }).auth
    const { data, error } = await auth.signUp({
      email: ' Ada@Ospiti.example',
      password: PASSWORD,
      options: { data: { name: 'Ada' }, emailRedirectTo: `${HOME}/benvenuta` }
    })
    t.equal(error, null)
    t.equal(data.session, null)
    t.match(data.user, {
      email: 'ada@ospiti.example',
      user_metadata: { name: 'Ada' },
      app_metadata: { provider: 'email', providers: ['email'], role: 'pending' },
      email_confirmed_at: undefined
    })
    t.equal((await auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })).error?.code,
      'email_not_confirmed')

    const { to, code, link } = await letter()
    t.equal(to, 'ada@ospiti.example')
    t.match(new URL(link), { pathname: '/auth/v1/verify' })
    t.equal(new URL(link).searchParams.get('redirect_to'), `${HOME}/benvenuta`)
    const verified = await auth.verifyOtp({ email: 'ada@ospiti.example', token: code, type: 'email' })
    t.equal(verified.error, null)
    t.equal(verified.data.user?.id, data.user?.id, 'the account is that of the response')
    t.match((await auth.getUser()).data.user, {
      email_confirmed_at: /^2/,
      identities: [{ identity_id: data.user?.identities?.[0]?.identity_id, identity_data: { email_verified: true } }]
    })

    const headers = { authorization: `Bearer ${verified.data.session?.access_token}` }
    const refused = await app.inject({ url: '/api/v1/prenotazioni', headers })
    t.match(refused, { statusCode: 403 })
    t.equal(refused.json().codice, 'ACCOUNT_IN_ATTESA')
    t.equal(await enter('ada@ospiti.example'), undefined, "the password is the user's")
  })

  t.test('the password of a sign-up is void if the address is confirmed in another browser', async (t) => {
    const email = 'rina@ospiti.example'
    const stranger = { email, password: 'la-frase-di-un-estraneo' }
    const isGood = async () => (await client().auth.signInWithPassword(stranger)).error?.code ?? 'good'
    for (const way of ['link', 'code', 'link of PKCE', 'an administrator'] as const) {
      await place.forgetCounts()
      await app.sql`delete from users where email = ${email}`
      const flowType = way === 'link of PKCE' ? 'pkce' : 'implicit'
      await client({ flowType, browser: newBrowser() }).auth.signUp(stranger)
      const { link, code } = await letter()
      t.equal(await isGood(), 'email_not_confirmed', way)
      const auth = client({ browser: newBrowser() }).auth
      if (way === 'code') t.ok((await auth.verifyOtp({ email, token: code, type: 'email' })).data.session)
      else if (way === 'an administrator') {
        const [person] = await app.sql<{ id: string }[]>`select id from users where email = ${email}`
        await (await place.administrator()).auth.admin.updateUserById(person!.id, { email_confirm: true })
      } else {
        // A browser with its own cookie.
        const browser = newBrowser()
        await client({ browser }).auth.signUp({ email: 'altra@ospiti.example', password: PASSWORD })
        await letter()
        t.equal((await follow(link, browser)).target.searchParams.has('code'), way === 'link of PKCE')
      }
      t.equal(await isGood(), 'invalid_credentials', way)
      if (way === 'code') {
        t.equal((await auth.updateUser({ password: PASSWORD })).error, null)
        t.equal(await enter(email), undefined)
      }
    }
  })

  t.test('a stranger’s access to an account ends when its address is verified', async (t) => {
    const email = 'vera@example.org'
    for (const flowType of ['implicit', 'pkce'] as const) {
      await place.forgetCounts()
      await app.sql`delete from users where email = ${email}`
      const { auth } = client({ flowType, browser: newBrowser() })
      await auth.signUp({ email, password: PASSWORD })
      const { link, code } = await letter()
      const { access_token, user: { id } } = await signIn(app, 'vera', 'pending')
      await app.sql`insert into identities (user_id, provider, provider_id, identity_data)
        values (${id}, 'github', '666', '{}')`
      await app.sql`insert into flow_states (provider, redirect_to, authentication_method, user_id, auth_code)
        values ('github', ${HOME}, 'oauth', ${id}, 'x')`
      if (flowType === 'pkce') {
        const { target } = await follow(link)
        t.equal((await auth.exchangeCodeForSession(target.searchParams.get('code')!)).error, null)
      } else t.equal((await auth.verifyOtp({ email, token: code, type: 'email' })).error, null)
      const planted = { url: '/auth/v1/user', headers: { authorization: `Bearer ${access_token}` } }
      t.equal((await app.inject(planted)).statusCode, 403, flowType)
      const { data } = await auth.getUser()
      t.strictSame(data.user?.identities?.map(({ provider }) => provider), ['email'])
      t.strictSame(data.user?.app_metadata.providers, ['email'])
      t.same(await app.sql`select from flow_states where user_id = ${id}`, [])
      t.strictSame(
        (await app.sql`select details from audit_log where action = 'sessioni_revocate' and object = ${`user:${id}`}`)
          .map(({ details }) => details as unknown),
        [{ reason: 'address_proven' }]
      )
    }
  })

  t.test('metadata that a person sends at sign-up give no rights, at any depth', async (t) => {
    const roles = {
      role: 'admin',
      roles: ['admin'],
      is_admin: true,
      app_metadata: { role: 'admin' },
      is_super_admin: true,
      aud: 'service_role'
    }
    const response = await app.inject({
      method: 'POST',
      url: '/auth/v1/signup',
      payload: {
        email: 'dora@ospiti.example',
        password: PASSWORD,
        ...roles,
        email_confirm: true,
        id: '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11',
        data: { ...roles, data: roles, user: { ...roles } }
      }
    })
    t.equal(response.statusCode, 200)
    const user = response.json()
    t.same(user.app_metadata, { provider: 'email', providers: ['email'], role: 'pending' })
    t.not(user.id, '6f0f4c5e-2b1a-4c39-9a52-0f5f7f0a1d11')
    const auth = client().auth
    const { data } = await auth.verifyOtp({ token_hash: (await letter()).token, type: 'email' })
    t.equal(data.user?.role, 'authenticated')
    await auth.updateUser({ data: roles })
    const { data: { session } } = await auth.refreshSession()
    const headers = { authorization: `Bearer ${session?.access_token}` }
    for (const url of ['/api/v1/prenotazioni', '/api/users', '/auth/v1/admin/users']) {
      t.equal((await app.inject({ url, headers })).statusCode, 403, url)
    }
    t.equal((await auth.updateUser({ data: {}, ...{ app_metadata: { role: 'admin' } } })).error?.code, 'not_admin')
  })

  t.test('for an address with an account the response is the same, but no mail is sent', async (t) => {
    await place.person('elena@ospiti.example', { user_metadata: { name: 'Elena' } })
    const sent = smtp.mails.length
    const data = { name: 'Qualcuno' }
    const fresh = await app.inject({
      method: 'POST', url: '/auth/v1/signup', payload: { email: 'fina@ospiti.example', password: PASSWORD, data }
    })
    await letter()
    const taken = await app.inject({
      method: 'POST',
      url: '/auth/v1/signup',
      payload: { email: 'Elena@ospiti.example', password: 'tutta-un-altra-frase', data }
    })
    t.equal(taken.statusCode, fresh.statusCode)
    t.same(shape(taken.json()), shape(fresh.json()), 'the same except ids, instants and the address')
    t.same(Object.keys(taken.json()), Object.keys(fresh.json()))
    t.equal(taken.json().email, 'elena@ospiti.example')
    t.equal(taken.json().identities.length, 1)
    t.equal(smtp.mails.length, sent + 1)
    t.equal(await enter('elena@ospiti.example'), undefined, 'the account is unchanged')
    const headers = (response: typeof fresh) => Object.keys(response.headers).sort()
    t.same(headers(taken), headers(fresh))
  })

  t.test('after two sign-ups both passwords are void, and the reader of the mail sets a new one', async (t) => {
    const email = 'gilda@ospiti.example'
    await client().auth.signUp({ email, password: 'la-frase-di-un-estraneo' })
    await letter()
    await place.forgetCounts()
    const { data } = await client().auth.signUp({ email, password: PASSWORD })
    t.match(data.user?.identities, [{ provider: 'email' }])
    const auth = client().auth
    t.equal((await auth.verifyOtp({ email, token: (await letter()).code, type: 'email' })).error, null)
    for (const password of ['la-frase-di-un-estraneo', PASSWORD]) {
      t.equal(await enter(email, password), 'invalid_credentials')
    }
    t.equal((await auth.updateUser({ password: PASSWORD })).error, null)
    t.equal(await enter(email), undefined)
  })

  t.test('a second sign-up in the same browser keeps the password', async (t) => {
    const email = 'ilda@ospiti.example'
    const browser = newBrowser()
    await client({ browser }).auth.signUp({ email, password: PASSWORD })
    const first = await letter()
    await place.forgetCounts()
    await client({ browser }).auth.signUp({ email, password: PASSWORD })
    const second = await letter()
    const auth = client({ browser }).auth
    t.equal((await auth.verifyOtp({ email, token: first.code, type: 'signup' })).error?.code, 'otp_expired',
      'the first mail is void')
    t.equal((await auth.verifyOtp({ email, token: second.code, type: 'signup' })).error, null)
    t.equal(await enter(email), undefined)
  })

  t.test('a weak password, bad address, incomplete challenge or too much data is refused before lookup', async (t) => {
    const sent = smtp.mails.length
    const refused: [object, string][] = [
      [{ password: 'corta' }, 'weak_password'],
      [{ password: '' }, 'validation_failed'],
      [{ email: 'nessun indirizzo' }, 'validation_failed'],
      [{ email: 'a@b' }, 'validation_failed'],
      [{ phone: '+391234567' }, 'validation_failed'],
      [{ code_challenge: 'x'.repeat(43) }, 'validation_failed'],
      [{ data: { name: '\0' } }, 'validation_failed'],
      [{ data: { '\ud800': 1 } }, 'validation_failed'],
      [{ data: { name: 'x'.repeat(9000) } }, 'validation_failed']
    ]
    for (const email of ['mara@ospiti.example', 'elena@ospiti.example']) {
      for (const [change, code] of refused) {
        const response = await app.inject({
          method: 'POST', url: '/auth/v1/signup', payload: { email, password: PASSWORD, ...change }
        })
        t.equal(response.headers['x-sb-error-code'], code, `${email} ${JSON.stringify(change).slice(0, 60)}`)
      }
    }
    for (const [depth, code] of [
      [200_000, 'validation_failed'], [1000, 'validation_failed'], [20, undefined]
    ] as const) {
      const nested = '['.repeat(depth) + ']'.repeat(depth)
      const payload = `{"email":"nora@ospiti.example","password":"${PASSWORD}","data":{"a":${nested}}}`
      const response = await app.inject({
        method: 'POST', url: '/auth/v1/signup', headers: { 'content-type': 'application/json' }, payload
      })
      t.equal(response.headers['x-sb-error-code'], code, `nested ${depth} times`)
    }
    await letter()
    t.equal((await client().auth.signInAnonymously()).error?.code, 'anonymous_provider_disabled')
    t.equal(smtp.mails.length, sent + 1)
  })
})

t.test('with sign-up off a sign-up is refused, and a magic link creates no account', async (t) => {
  const { client, app, smtp } = await site(t, { SIGNUP_ENABLED: 'false' })
  t.equal((await client().auth.signUp({ email: 'ada@ospiti.example', password: PASSWORD })).error?.code,
    'signup_disabled')
  t.equal((await client().auth.signInWithOtp({ email: 'ada@ospiti.example' })).error, null)
  t.same(await app.sql`select id from users`, [])
  t.same(smtp.mails, [])
})

/** A response without the parts that differ between accounts. */
function shape (user: unknown): unknown {
  return JSON.parse(JSON.stringify(user, (key, value: unknown) => {
    if (key === 'id' || key === 'user_id' || key === 'identity_id' || key === 'sub' || key === 'email') {
      return typeof value
    }
    return key.endsWith('_at') ? 'an instant' : value
  }))
}

t.test('a sign-up that is not confirmed for seven days is deleted, with an audit entry', async (t) => {
  const { app, client } = await site(t)
  const people = async () => (await app.sql<{ name: string }[]>`
    select split_part(email, '@', 1) as name from users order by 1`).map(({ name }) => name)
  const names = ['dimenticata', 'recente', 'ritentata', 'confermata', 'invitata', 'operatrice', 'bandita', 'esterna']
  const made = await Promise.all(names.map((name) => app.db.transaction((tx) => createUser(tx, {
    email: `${name}@ospiti.example`,
    confirmed: name === 'confermata',
    invited: name === 'invitata',
    app_metadata: { role: name === 'operatrice' ? 'operator' : 'pending' }
  }))))
  const idOf = (name: string) => made[names.indexOf(name)]!.id
  await app.sql`update users set created_at = now() - interval '8 days' where email not like 'recente@%'`
  await app.sql`update users set confirmation_sent_at = now() - interval '6 days' where id = ${idOf('ritentata')}`
  await app.sql`update users set banned_until = now() + interval '1 day' where id = ${idOf('bandita')}`
  await app.sql`insert into identities (user_id, provider, provider_id, identity_data)
    values (${idOf('esterna')}, 'google', '1', '{}')`

  t.equal(await deleteUnconfirmed(app.db, app.audit), 1)
  t.same(await people(), names.filter((name) => name !== 'dimenticata').sort())
  const entries = await app.sql`select actor, object, details from audit_log where action = 'registrazioni_eliminate'`
  t.same([...entries], [{ actor: 'sistema', object: null, details: { ids: [idOf('dimenticata')] } }])
  t.equal(await deleteUnconfirmed(app.db, app.audit), 0)

  t.equal((await client().auth.signUp({ email: 'dimenticata@ospiti.example', password: PASSWORD })).error, null)
  t.ok((await people()).includes('dimenticata'), 'the address can sign up again')

  await app.sql`insert into users (email, app_metadata, created_at) select 'u' || n || '@ospiti.example',
    '{"role": "pending"}', '2020-01-01' from generate_series(1, 1100) n`
  t.equal(await deleteUnconfirmed(app.db, app.audit), 1100)
})

t.test('invitations', async (t) => {
  const place = await site(t)
  const { app, client, enter, letter, follow, administrator } = place

  t.test('the link in the mail signs the person in, who then sets a password and may use the API', async (t) => {
    const { data, error } = await (
      await administrator()
    ).auth.admin.inviteUserByEmail('ada@ospiti.example', { data: { name: 'Ada' }, redirectTo: `${HOME}/entra` })
    t.equal(error, null)
    t.match(data.user, {
      email: 'ada@ospiti.example', user_metadata: { name: 'Ada' }, invited_at: /^2/, email_confirmed_at: undefined
    })
    t.same(data.user?.app_metadata, { provider: 'email', providers: ['email'], role: 'operator' })
    const { target, fragment } = await follow((await letter()).link)
    t.equal(target.pathname, '/entra')
    t.equal(fragment.get('type'), 'invite')
    const auth = client().auth
    await auth.setSession({
      access_token: fragment.get('access_token')!,
      refresh_token: fragment.get('refresh_token')!
    })
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'otp' }])
    t.equal((await auth.updateUser({ password: PASSWORD })).error, null)
    const signedIn = await client().auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })
    t.equal(signedIn.error, null)
    const headers = { authorization: `Bearer ${signedIn.data.session?.access_token}` }
    t.equal((await app.inject({ url: '/api/v1/prenotazioni', headers })).statusCode, 200)
    t.equal((await app.inject({ url: '/auth/v1/admin/users', headers })).statusCode, 403, 'not an administrator')
  })

  t.test('an earlier sign-up with the address loses its password, its mails and its data', async (t) => {
    const email = 'carla@ospiti.example'
    await client().auth.signUp({ email, password: 'la-frase-di-un-estraneo', options: { data: { name: 'Estranea' } } })
    const stranger = await letter()
    const { data } = await (await administrator()).auth.admin.inviteUserByEmail(email, { data: { name: 'Carla' } })
    t.match(data.user, { app_metadata: { role: 'operator' }, user_metadata: { name: 'Carla' } })
    t.equal((await follow(stranger.link)).fragment.get('error_code'), 'otp_expired')
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email, token: code, type: 'invite' })).data.session)
    t.equal(await enter(email, 'la-frase-di-un-estraneo'), 'invalid_credentials')
  })

  t.test('an invitation revokes all earlier access to the account before it gives a role', async (t) => {
    const email = 'carola@ospiti.example'
    const { access_token: planted, refresh_token, user: { id } } = await signIn(app, 'estranea', 'pending')
    await app.sql`
      update users set email = ${email}, email_confirmed_at = null, new_email = 'x@y.example' where id = ${id}`
    await app.sql`delete from identities where user_id = ${id}`
    await addIdentity(app.db, id, { provider: 'google', provider_id: '666', identity_data: { email } })
    const { apiKey } = await mintKey(app.db, app.identity.apiKeys, id, {})
    const flow = { provider: 'google', redirect_to: HOME, authentication_method: 'oauth' }
    await app.db.insert(flow_states).values([{ ...flow, user_id: id }, { ...flow, linking_user_id: id }])
    t.equal(await isLetIn(app, bearer(planted)), 403, 'the account is pending')

    const { data } = await (await administrator()).auth.admin.inviteUserByEmail(email)
    t.match(data.user, { id, app_metadata: { role: 'operator', provider: 'email', providers: ['email'] } })
    t.same([await isLetIn(app, bearer(planted)), await isLetIn(app, { 'x-api-key': apiKey })], [401, 401])
    t.equal((await client().auth.refreshSession({ refresh_token })).error?.code, 'refresh_token_not_found')
    t.equal(await app.db.$count(flow_states), 0)
    const [kept] = await app.sql`
      select new_email, (select json_agg(provider) from identities where user_id = ${id}) as providers
      from users where id = ${id}`
    t.match(kept, { new_email: null, providers: ['email'] })
    const revoked = await app.sql`
      select details from audit_log where action = 'sessioni_revocate' and object = ${`user:${id}`}`
    t.match(revoked, [{ details: { reason: 'handed_over' } }])
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email, token: code, type: 'invite' })).data.session)
  })

  t.test('a sign-up that an administrator confirms loses its password', async (t) => {
    const administration = (await administrator()).auth.admin
    const signedUp = async (email: string, changes: object) => {
      const stranger = { email, password: 'la-frase-di-un-estraneo' }
      const { data: { user } } = await client().auth.signUp(stranger)
      const { link } = await letter()
      t.equal((await administration.updateUserById(user!.id, { email_confirm: true, ...changes })).error, null)
      t.equal((await client().auth.signInWithPassword(stranger)).error?.code, 'invalid_credentials')
      t.equal((await follow(link)).fragment.get('error_code'), 'otp_expired')
    }
    await signedUp('confermata@ospiti.example', { app_metadata: { role: 'operator' } })
    await signedUp('scelta@ospiti.example', { password: PASSWORD })
    const own = { email: 'scelta@ospiti.example', password: PASSWORD }
    t.equal((await client().auth.signInWithPassword(own)).error, null, 'the administrator’s password works')
  })
})

t.test('links that an administrator creates', async (t) => {
  // Without a mail server, administrators give the links to people in other ways.
  const { client, enter, follow, person, administrator, app } = await site(t, {
    SMTP_URL: '', MAIL_FROM: '', SIGNUP_ENABLED: 'false'
  })
  const { auth: { admin } } = await administrator()

  t.test('the link signs the person in, and the response also has its hash and a code', async (t) => {
    const options = { redirectTo: `${HOME}/qui` }
    const made = [
      { type: 'signup', email: 'ada@ospiti.example', password: PASSWORD, options },
      { type: 'invite', email: 'bea@ospiti.example', options },
      { type: 'magiclink', email: 'carla@ospiti.example', options },
      { type: 'recovery', email: 'dora@ospiti.example', options }
    ] as const
    await person('dora@ospiti.example')
    for (const params of made) {
      const { type } = params
      const { data, error } = await admin.generateLink(params)
      t.equal(error, null, type)
      const {
        action_link: link,
        hashed_token: token,
        email_otp: code,
        redirect_to: target,
        verification_type: kind
      } = data.properties!
      t.match(data.user, { id: /^[\da-f-]{36}$/, email: /@ospiti\.example$/, aud: 'authenticated' })
      t.same({ target, kind }, { target: `${HOME}/qui`, kind: type })
      t.equal(new URL(link).searchParams.get('token'), token)
      t.match(code, /^\d{6}$/)
      t.ok((await follow(link)).fragment.get('access_token'), `${type}: the link`)
    }
  })

  t.test('no link is created for a missing account, or for an account that already exists', async (t) => {
    await person('elena@ospiti.example')
    t.equal((await admin.generateLink({ type: 'recovery', email: 'nessuno@ospiti.example' })).error?.code,
      'user_not_found')
    t.equal(
      (
        await admin.generateLink({
          type: 'email_change_new', email: 'nessuno@ospiti.example', newEmail: 'x@ospiti.example'
        })
      ).error?.code,
      'user_not_found'
    )
    t.equal((await admin.generateLink({ type: 'invite', email: 'elena@ospiti.example' })).error?.code, 'email_exists')
    t.equal(
      (await admin.generateLink({ type: 'signup', email: 'elena@ospiti.example', password: PASSWORD })).error?.code,
      'email_exists'
    )
    t.equal(
      (await admin.generateLink({ type: 'signup', email: 'fina@ospiti.example', password: 'corta' })).error?.code,
      'weak_password'
    )
    t.same(
      [...(await app.sql`select email from users where email in ('nessuno@ospiti.example', 'fina@ospiti.example')`)],
      []
    )
  })

  t.test('an administrator can complete an account that is not confirmed', async (t) => {
    await person('gina@ospiti.example', { email_confirm: false, app_metadata: { role: 'pending' } })
    const { data } = await admin.generateLink({
      type: 'signup', email: 'gina@ospiti.example', password: 'una-frase-del-tutto-nuova'
    })
    t.equal(data.user?.app_metadata.role, 'pending', 'a link gives no role')
    await follow(data.properties!.action_link)
    t.equal(await enter('gina@ospiti.example', 'una-frase-del-tutto-nuova'), undefined)
  })

  t.test('without a mail server only the requests that send mail are refused', async (t) => {
    const { auth } = client()
    const email = 'elena@ospiti.example'
    await auth.signInWithPassword({ email, password: PASSWORD })
    const responses = [
      await auth.resetPasswordForEmail(email),
      await auth.signInWithOtp({ email }),
      await auth.resend({ type: 'signup', email }),
      await auth.reauthenticate(),
      await auth.updateUser({ email: 'altra@ospiti.example' }),
      await admin.inviteUserByEmail('nuova@ospiti.example'),
      await auth.resetPasswordForEmail('nessuno@ospiti.example')
    ]
    t.same(responses.map(({ error }) => [error?.status, error?.code]),
      responses.map(() => [422, 'email_provider_disabled']))
    t.equal((await auth.updateUser({ data: { name: 'Elena' } })).error, null)
  })
})
