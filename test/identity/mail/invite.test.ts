import t from 'tap'
import { flow_states } from '#drizzle/tables/identity.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { addIdentity } from '#src/identity/people/identity-rows.ts'
import { signIn } from '#test/helper.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { HOME, PASSWORD, site, wrong } from './mailbox.ts'

t.test('invitations', async (t) => {
  const place = await site(t)
  const { app, client, letter, follow, person, administrator, token } = place

  t.test('the link of the mail signs the person in, who sets a password and may use the API', async (t) => {
    const { data, error } = await (
      await administrator()
    ).auth.admin.inviteUserByEmail('ada@ospiti.example', { data: { name: 'Ada' }, redirectTo: `${HOME}/entra` })
    t.equal(error, null)
    t.match(data.user, {
      email: 'ada@ospiti.example',
      user_metadata: { name: 'Ada' },
      invited_at: /^2/,
      email_confirmed_at: undefined
    })
    t.same(data.user?.app_metadata, { provider: 'email', providers: ['email'] })
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
    t.equal((await app.inject({ url: '/auth/v1/admin/users', headers })).statusCode, 403, 'but is no administrator')
  })

  t.test('the code of the mail signs the person in', async (t) => {
    await (await administrator()).auth.admin.inviteUserByEmail('bea@ospiti.example')
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email: 'bea@ospiti.example', token: code, type: 'invite' })).data.session)
  })

  t.test('an earlier sign-up with the address loses its password, its mails and its data', async (t) => {
    const email = 'carla@ospiti.example'
    await client().auth.signUp({ email, password: 'la-frase-di-un-estraneo', options: { data: { name: 'Estranea' } } })
    const stranger = await letter()
    const { data } = await (await administrator()).auth.admin.inviteUserByEmail(email, { data: { name: 'Carla' } })
    t.match(data.user, { app_metadata: { role: undefined }, user_metadata: { name: 'Carla' } })
    t.equal((await follow(stranger.link)).fragment.get('error_code'), 'otp_expired')
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email, token: code, type: 'invite' })).data.session)
    t.equal(
      (await client().auth.signInWithPassword({ email, password: 'la-frase-di-un-estraneo' })).error?.code,
      'invalid_credentials'
    )
  })

  t.test('an invitation ends all that others have in the account, before it gives a role', async (t) => {
    const email = 'carola@ospiti.example'
    const { access_token: planted, refresh_token, user: { id } } = await signIn(app, 'estranea', 'pending')
    await app.sql`
      update users set email = ${email}, email_confirmed_at = null, new_email = 'x@y.example' where id = ${id}`
    await app.sql`delete from identities where user_id = ${id}`
    await addIdentity(app.db, id, { provider: 'google', provider_id: '666', identity_data: { email } })
    const { apiKey } = await mintKey(app.db, app.identity.apiKeys, id, {})
    const flow = { provider: 'google', redirect_to: HOME, authentication_method: 'oauth' }
    await app.db.insert(flow_states).values([{ ...flow, user_id: id }, { ...flow, linking_user_id: id }])
    t.equal(await isLetIn(app, bearer(planted)), 403, 'waits for a role')

    const { data } = await (await administrator()).auth.admin.inviteUserByEmail(email)
    t.match(data.user, { id, app_metadata: { role: undefined, provider: 'email', providers: ['email'] } })
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

  t.test('a sign-up that an administrator confirms loses the password that came with it', async (t) => {
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
    t.equal((await client().auth.signInWithPassword(own)).error, null, 'the administrator’s password is good')
  })

  t.test('another sign-up after the invitation changes nothing', async (t) => {
    const email = 'dora@ospiti.example'
    const stranger = { email, password: 'la-frase-di-un-estraneo' }
    await client().auth.signUp(stranger)
    await (await administrator()).auth.admin.inviteUserByEmail(email)
    await place.forgetCounts()
    await client().auth.signUp(stranger)
    const [, , again] = [await letter(), await letter(), await letter()]
    t.ok((await follow(again.link)).fragment.get('access_token'))
    t.equal((await client().auth.signInWithPassword(stranger)).error?.code, 'invalid_credentials')
  })

  t.test('a person with a confirmed account is not invited', async (t) => {
    await person('elena@ospiti.example')
    t.equal(
      (await (await administrator()).auth.admin.inviteUserByEmail('elena@ospiti.example')).error?.code,
      'email_exists'
    )
  })

  t.test('only administrators invite and make links', async (t) => {
    const callers = [
      {},
      { authorization: `Bearer ${await token()}` },
      { authorization: `Bearer ${await token({ name: 'nuova', role: 'pending' })}` },
      { 'x-api-key': 'chiave-di-prova-0123456789' }
    ]
    for (const [url, payload] of [
      ['/auth/v1/invite', { email: 'x@ospiti.example' }],
      ['/auth/v1/admin/generate_link', { type: 'recovery', email: 'elena@ospiti.example' }]
    ] as const) {
      for (const headers of callers) {
        t.match(
          await app.inject({ method: 'POST', url, headers, payload }),
          { statusCode: /^40[13]$/ },
          `${url} ${Object.keys(headers).join()}`
        )
      }
    }
  })

  t.test('the audit log has every invitation', async (t) => {
    const rows = [...await app.sql`select count(*)::int as invitations from audit_log where action = 'invito'`]
    t.same(rows, [{ invitations: 5 }])
  })
})

t.test('links that an administrator makes', async (t) => {
  // Without a mail server: they are handed over in other ways.
  const { client, follow, person, administrator, app } = await site(t, {
    SMTP_URL: '',
    MAIL_FROM: '',
    SIGNUP_ENABLED: 'false'
  })
  const { auth: { admin } } = await administrator()

  t.test('the link, the hash and the code sign the person in', async (t) => {
    const makers = {
      signup: () =>
        admin.generateLink({
          type: 'signup',
          email: 'ada@ospiti.example',
          password: PASSWORD,
          options: { data: { name: 'Ada' }, redirectTo: `${HOME}/qui` }
        }),
      invite: () =>
        admin.generateLink({ type: 'invite', email: 'bea@ospiti.example', options: { redirectTo: `${HOME}/qui` } }),
      magiclink: () =>
        admin.generateLink({
          type: 'magiclink',
          email: 'carla@ospiti.example',
          options: { redirectTo: `${HOME}/qui` }
        }),
      recovery: () =>
        admin.generateLink({ type: 'recovery', email: 'dora@ospiti.example', options: { redirectTo: `${HOME}/qui` } })
    }
    await person('dora@ospiti.example')
    for (const [type, make] of Object.entries(makers)) {
      const { data, error } = await make()
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

  t.test('each type makes a link of its own', async (t) => {
    await person('elena@ospiti.example')
    for (const type of ['magiclink', 'recovery'] as const) {
      const first = (await admin.generateLink({ type, email: 'elena@ospiti.example' })).data.properties!
      const second = (await admin.generateLink({ type, email: 'elena@ospiti.example' })).data.properties!
      t.equal(
        (await client().auth.verifyOtp({ token_hash: first.hashed_token, type })).error?.code,
        'otp_expired',
        'the newer one takes the place of the older'
      )
      t.equal(
        (await client().auth.verifyOtp({ email: 'elena@ospiti.example', token: wrong(second.email_otp), type })).error
          ?.code,
        'otp_expired'
      )
      t.ok(
        (await client().auth.verifyOtp({ email: 'elena@ospiti.example', token: second.email_otp, type })).data.session
      )
    }
  })

  t.test('no link is made for a missing account, or for an account that exists already', async (t) => {
    t.equal(
      (await admin.generateLink({ type: 'recovery', email: 'nessuno@ospiti.example' })).error?.code,
      'user_not_found'
    )
    t.equal(
      (
        await admin.generateLink({
          type: 'email_change_new',
          email: 'nessuno@ospiti.example',
          newEmail: 'x@ospiti.example'
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
      type: 'signup',
      email: 'gina@ospiti.example',
      password: 'una-frase-del-tutto-nuova'
    })
    t.equal(data.user?.app_metadata.role, 'pending', 'a link is not a role')
    await follow(data.properties!.action_link)
    t.equal(
      (await client().auth.signInWithPassword({ email: 'gina@ospiti.example', password: 'una-frase-del-tutto-nuova' }))
        .error,
      null
    )
  })

  t.test('without a mail server only the requests that send mail are refused', async (t) => {
    const { auth } = client()
    const email = 'elena@ospiti.example'
    await auth.signInWithPassword({ email, password: PASSWORD })
    const answers = [
      await auth.resetPasswordForEmail(email),
      await auth.signInWithOtp({ email }),
      await auth.resend({ type: 'signup', email }),
      await auth.reauthenticate(),
      await auth.updateUser({ email: 'altra@ospiti.example' }),
      await admin.inviteUserByEmail('nuova@ospiti.example'),
      await auth.resetPasswordForEmail('nessuno@ospiti.example')
    ]
    t.same(
      answers.map(({ error }) => [error?.status, error?.code]),
      answers.map(() => [422, 'email_provider_disabled'])
    )
    t.equal((await auth.updateUser({ data: { name: 'Elena' } })).error, null)
  })

  t.test('the audit log has every link', async (t) => {
    const kinds = (
      await app.sql<
        { kind: string }[]
      >`select distinct details ->> 'kind' as kind from audit_log where details @> '{"sent":false}' order by 1`
    ).map(({ kind }) => kind)
    t.same(kinds, ['invite', 'magiclink', 'recovery', 'signup'])
  })
})
