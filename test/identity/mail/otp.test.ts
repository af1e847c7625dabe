import t from 'tap'
import { HOME, PASSWORD, site } from './mailbox.ts'

t.test('sign-in by mail', async (t) => {
  const { app, client, letter, follow, person, smtp } = await site(t)

  t.test('a code or a link signs a person in', async (t) => {
    await person('ada@ospiti.example')
    const auth = client().auth
    t.same(await auth.signInWithOtp({ email: 'ada@ospiti.example' }), {
      data: { user: null, session: null },
      error: null
    })
    const { code, token } = await letter()
    const { data } = await auth.verifyOtp({ email: 'ada@ospiti.example', token: code, type: 'email' })
    t.equal(data.user?.email, 'ada@ospiti.example')
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'otp' }])
    t.equal(
      (await client().auth.verifyOtp({ token_hash: token, type: 'email' })).error?.code,
      'otp_expired',
      'the code has used up the link'
    )
    t.equal(
      (await client().auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })).error,
      null,
      'the password stays'
    )
  })

  t.test('older clients ask for the same at another address', async (t) => {
    const payload = { email: 'magda@ospiti.example' }
    await person(payload.email)
    const asked = await app.inject({ method: 'POST', url: '/auth/v1/magiclink', payload })
    t.same([asked.statusCode, asked.json()], [200, {}])
    const { fragment } = await follow((await letter()).link)
    t.equal((await client().auth.getUser(fragment.get('access_token')!)).data.user?.email, payload.email)
  })

  t.test('an unknown address gets a pending account, unless the client does not want it', async (t) => {
    await client().auth.signInWithOtp({
      email: 'bea@ospiti.example',
      options: { data: { name: 'Bea', role: 'admin' }, emailRedirectTo: `${HOME}/qui` }
    })
    const { target, fragment } = await follow((await letter()).link)
    t.equal(target.pathname, '/qui')
    const { data: { user } } = await client().auth.getUser(fragment.get('access_token')!)
    t.match(user, {
      email: 'bea@ospiti.example',
      app_metadata: { role: 'pending' },
      user_metadata: { name: 'Bea' },
      email_confirmed_at: /^2/
    })
    t.equal(
      (
        await app.inject({
          url: '/api/v1/prenotazioni',
          headers: { authorization: `Bearer ${fragment.get('access_token')}` }
        })
      ).statusCode,
      403
    )

    const sent = smtp.mails.length
    t.equal(
      (await client().auth.signInWithOtp({ email: 'carla@ospiti.example', options: { shouldCreateUser: false } }))
        .error,
      null
    )
    t.same([...await app.sql`select id from users where email = 'carla@ospiti.example'`], [])
    t.equal(smtp.mails.length, sent)
  })

  t.test('a confirmation can be sent again while there is something to confirm', async (t) => {
    await person('dora@ospiti.example', { email_confirm: false })
    t.equal((await client().auth.resend({ type: 'signup', email: 'dora@ospiti.example' })).error, null)
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email: 'dora@ospiti.example', token: code, type: 'signup' })).data.session)
    t.equal((await client().auth.signInWithPassword({ email: 'dora@ospiti.example', password: PASSWORD })).error, null)

    const sent = smtp.mails.length
    t.equal((await client().auth.resend({ type: 'signup', email: 'ada@ospiti.example' })).error, null)
    t.equal((await client().auth.resend({ type: 'email_change', email: 'ada@ospiti.example' })).error, null)
    t.equal(smtp.mails.length, sent)
    t.equal((await client().auth.resend({ type: 'sms', phone: '+391234567' })).error?.code, 'phone_provider_disabled')
  })

  t.test(
    'a second mail of a kind within a minute is refused with the time to wait, for known and unknown addresses',
    async (t) => {
      await person('elena@ospiti.example')
      for (const email of ['elena@ospiti.example', 'nessuno@ospiti.example']) {
        const post = (path: string, spelled = email) =>
          app.inject({
            method: 'POST',
            url: `/auth/v1/${path}`,
            payload: { email: spelled, type: 'signup', create_user: false }
          })
        for (const path of ['recover', 'otp', 'resend']) {
          t.equal((await post(path)).statusCode, 200, `${path} ${email}`)
          const again = await post(path, ` ${email.toUpperCase()}`)
          t.match(
            again,
            { statusCode: 429, headers: { 'x-sb-error-code': 'over_email_send_rate_limit' } },
            `${path} ${email}, however it is spelled`
          )
          const seconds = Number(again.headers['retry-after'])
          t.ok(seconds > 0 && seconds <= 60)
          t.equal(
            again.json<{ msg: string }>().msg,
            `For security purposes, you can only request this after ${seconds} seconds.`
          )
        }
      }
      await letter()
      await letter()
    }
  )
})

t.test('a session of more than a day ago', async (t) => {
  const { app, client, letter, person } = await site(t)
  const id = await person('ada@ospiti.example')
  const auth = client().auth
  await auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })
  await app.sql`update sessions set created_at = now() - interval '25 hours' where user_id = ${id}`

  t.test('the password can be changed only with a code sent by mail, which is good once', async (t) => {
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error?.code, 'reauthentication_needed')
    t.equal((await auth.reauthenticate()).error, null)
    t.equal((await auth.reauthenticate()).error?.code, 'over_email_send_rate_limit')
    const { to, code, link } = await letter()
    t.equal(to, 'ada@ospiti.example')
    t.equal(link, '', 'there is no link to be led by')
    t.equal(
      (await auth.updateUser({ password: 'corta', nonce: code })).error?.code,
      'weak_password',
      'which costs no code'
    )
    t.equal(
      (await auth.updateUser({ password: 'una-frase-del-tutto-nuova', nonce: '12' })).error?.code,
      'reauthentication_not_valid'
    )
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova', nonce: code })).error, null)
    t.equal(
      (await auth.updateUser({ password: 'un-altra-frase-ancora', nonce: code })).error?.code,
      'reauthentication_not_valid'
    )
    t.equal(
      (await client().auth.signInWithPassword({ email: 'ada@ospiti.example', password: 'una-frase-del-tutto-nuova' }))
        .error,
      null
    )
  })

  t.test('that code does not sign in', async (t) => {
    const other = client().auth
    await person('bea@ospiti.example')
    await other.signInWithPassword({ email: 'bea@ospiti.example', password: PASSWORD })
    await other.reauthenticate()
    const { code } = await letter()
    for (const type of ['email', 'recovery', 'magiclink', 'signup', 'invite', 'email_change'] as const) {
      t.equal(
        (await client().auth.verifyOtp({ email: 'bea@ospiti.example', token: code, type })).error?.code,
        'otp_expired',
        type
      )
    }
  })

  t.test('a request without a session is refused', async (t) => {
    t.equal((await app.inject('/auth/v1/reauthenticate')).statusCode, 401)
  })
})
