import t from 'tap'
import { HOME, PASSWORD, site } from './mailbox.ts'

t.test('recovery of an account', async (t) => {
  const { app, client, letter, follow, person, administrator, logs } = await site(t)
  await person('ada@ospiti.example')

  t.test(
    'the link signs in, a password is set without the old one, and every earlier session ends',
    async (t) => {
      const before = client().auth
      await before.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })
      const auth = client().auth
      t.same(await auth.resetPasswordForEmail('ada@ospiti.example', { redirectTo: `${HOME}/nuova-password?passo=2` }), {
        data: {},
        error: null
      })
      const { link } = await letter()
      const { status, target, fragment } = await follow(link)
      t.equal(status, 303)
      t.equal(target.origin + target.pathname + target.search, `${HOME}/nuova-password?passo=2`)
      t.equal(fragment.get('type'), 'recovery', 'the client is told what for')
      const { error } = await auth.setSession({
        access_token: fragment.get('access_token')!,
        refresh_token: fragment.get('refresh_token')!
      })
      t.equal(error, null)
      t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'otp' }])
      t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)

      t.ok((await before.getUser()).error, 'the old session is dead')
      t.ok((await before.refreshSession()).error)
      t.equal((await auth.getUser()).error, null, 'the new one is not')
      t.equal(
        (await client().auth.signInWithPassword({ email: 'ada@ospiti.example', password: 'una-frase-del-tutto-nuova' }))
          .error,
        null
      )
      t.equal(
        (await client().auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })).error?.code,
        'invalid_credentials'
      )

      const again = await follow(link)
      t.match(again, { status: 303, target: { origin: HOME } }, 'the link is good once')
      t.equal(again.fragment.get('error_code'), 'otp_expired')
      t.equal(again.target.searchParams.get('error_code'), 'otp_expired')
      t.equal(again.fragment.get('access_token'), null)
    }
  )

  t.test('with PKCE the link brings a code for the client that started', async (t) => {
    await person('bea@ospiti.example')
    const auth = client({ flowType: 'pkce' }).auth
    await auth.resetPasswordForEmail('bea@ospiti.example', { redirectTo: HOME })
    const { target } = await follow((await letter()).link)
    const stranger = await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=pkce',
      payload: { auth_code: 'di-nessuno', code_verifier: 'x'.repeat(43) }
    })
    t.equal(stranger.statusCode, 404)
    const { data, error } = await auth.exchangeCodeForSession(target.searchParams.get('code')!)
    t.equal(error, null)
    t.equal(data.user?.email, 'bea@ospiti.example')
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'recovery' }])
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)
  })

  t.test('the code of the mail does the same, and with PKCE it brings the session itself', async (t) => {
    await person('carla@ospiti.example')
    const auth = client({ flowType: 'pkce' }).auth
    await auth.resetPasswordForEmail('carla@ospiti.example')
    const { code } = await letter()
    const { data } = await auth.verifyOtp({ email: 'Carla@ospiti.example', token: code, type: 'recovery' })
    t.equal(data.user?.email, 'carla@ospiti.example')
    t.ok(data.session)
  })

  t.test('a new password voids the mails sent before', async (t) => {
    await person('dora@ospiti.example')
    await client().auth.resetPasswordForEmail('dora@ospiti.example', { redirectTo: HOME })
    await client().auth.signInWithOtp({ email: 'dora@ospiti.example' })
    const [recovery, magic] = [await letter(), await letter()]
    const auth = client().auth
    await auth.signInWithPassword({ email: 'dora@ospiti.example', password: PASSWORD })
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error, null)
    for (const { link } of [recovery, magic]) t.equal((await follow(link)).fragment.get('error_code'), 'otp_expired')
  })

  t.test('a recovery confirms an unconfirmed address and removes its password', async (t) => {
    await person('elena@ospiti.example', { email_confirm: false })
    await client().auth.resetPasswordForEmail('elena@ospiti.example')
    const { data } = await client().auth.verifyOtp({
      email: 'elena@ospiti.example',
      token: (await letter()).code,
      type: 'recovery'
    })
    t.ok(data.user?.email_confirmed_at)
    t.equal(
      (await client().auth.signInWithPassword({ email: 'elena@ospiti.example', password: PASSWORD })).error?.code,
      'invalid_credentials'
    )
  })

  t.test('a banned person gets no mail, and an earlier mail does not sign them in', async (t) => {
    const id = await person('fina@ospiti.example')
    await client().auth.resetPasswordForEmail('fina@ospiti.example', { redirectTo: HOME })
    const { code, link } = await letter()
    t.equal((await (await administrator()).auth.admin.updateUserById(id, { ban_duration: '1h' })).error, null)
    t.equal((await client().auth.signInWithOtp({ email: 'fina@ospiti.example' })).error, null)
    t.same([...await app.sql`select kind from one_time_tokens where user_id = ${id}`], [{ kind: 'recovery' }])
    t.equal(
      (await client().auth.verifyOtp({ email: 'fina@ospiti.example', token: code, type: 'recovery' })).error?.code,
      'user_banned'
    )
    t.equal((await follow(link)).fragment.get('access_token'), null)
  })

  t.test('the audit log has every step, without addresses', async (t) => {
    const rows = await app.sql<{ action: string; details: object }[]>`
      select actor, action, object, details from audit_log
      where action in ('accesso', 'email', 'password_cambiata') order by id`
    t.ok(
      rows.some(({ action, details }) =>
        action === 'accesso' && JSON.stringify(details) === '{"kind":"recovery","method":"otp"}')
    )
    t.ok(rows.some(({ action, details }) => action === 'email' && JSON.stringify(details) === '{"kind":"recovery"}'))
    t.ok(rows.some(({ action }) => action === 'password_cambiata'))
    t.notMatch(JSON.stringify(rows), /ospiti\.example/)
    t.notMatch(JSON.stringify(logs), /ospiti\.example/)
  })
})
