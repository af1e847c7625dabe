import t from 'tap'
import { HOME, looks, PASSWORD, site, type Site, wrong } from './mailbox.ts'

const TYPES = ['signup', 'invite', 'magiclink', 'recovery', 'email', 'email_change'] as const
type Type = typeof TYPES[number]

t.test('codes and links of mails', async (t) => {
  const place = await site(t)
  const { app, person } = place
  const { auth: { admin } } = await place.administrator()

  async function recovery (name: string) {
    const email = `${name}@ospiti.example`
    await person(email)
    const { data } = await admin.generateLink({ type: 'recovery', email })
    return { email, code: data.properties!.email_otp, link: data.properties!.hashed_token }
  }

  t.test('after five wrong codes the right one is also void, but the link stays valid', async (t) => {
    const { email, code, link } = await recovery('ada')
    for (let i = 0; i < 5; i++) {
      t.equal(await verified(place, { email, token: wrong(code), type: 'recovery' }), 'otp_expired')
    }
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
    t.equal(await verified(place, { token_hash: link, type: 'recovery' }), 'a session')
  })

  t.test('a code may contain blanks and dashes', async (t) => {
    for (const [name, between] of [['bianca', ' '], ['bruna', '-'], ['berta', ' – ']] as const) {
      const { email, code } = await recovery(name)
      const token = code.slice(0, 3) + between + code.slice(3)
      t.equal(await verified(place, { email, token, type: 'recovery' }), 'a session', token)
    }
  })

  t.test('at most five of many simultaneous guesses count', async (t) => {
    const { email, code } = await recovery('carla')
    await Promise.all(
      Array.from({ length: 20 }, () => verified(place, { email, token: wrong(code), type: 'recovery' }))
    )
    t.same([...await app.sql`select attempts from one_time_tokens where sent_to = ${email}`], [{ attempts: 5 }])
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
  })

  t.test('a code and a link are single-use, even with many concurrent requests', async (t) => {
    const dora = await recovery('dora')
    const byCode = await Promise.all(
      Array.from({ length: 8 }, () => verified(place, { email: dora.email, token: dora.code, type: 'recovery' }))
    )
    t.same(byCode.sort(), ['a session', ...Array.from({ length: 7 }, () => 'otp_expired')])
    t.equal(await verified(place, { token_hash: dora.link, type: 'recovery' }), 'otp_expired')

    const elena = await recovery('elena')
    const byLink = await Promise.all(
      Array.from({ length: 8 }, () => verified(place, { token_hash: elena.link, type: 'recovery' }))
    )
    t.same(byLink.sort(), ['a session', ...Array.from({ length: 7 }, () => 'otp_expired')])
  })

  t.test('code and link expire after 24 hours', async (t) => {
    const { email, code, link } = await recovery('fina')
    const [{ hours }] = await app.sql<[{ hours: number }]>`
      select extract(hours from expires_at - created_at)::int
        + 24 * extract(days from expires_at - created_at)::int as hours
      from one_time_tokens where sent_to = ${email}`
    t.equal(hours, 24)
    await app.sql`update one_time_tokens set expires_at = now() where sent_to = ${email}`
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
    t.equal(await verified(place, { token_hash: link, type: 'recovery' }), 'otp_expired')
  })

  t.test('a code or link is valid only for the request types of its kind, and others do not use it up', async (t) => {
    const made: [Type, Type[], string, { email_otp: string, hashed_token: string }][] = []
    // A confirmed account, because the first proof of an address voids all other codes of the account.
    await person('lina@ospiti.example')
    const wanted = [
      [
        'signup',
        ['signup', 'invite', 'email'],
        { type: 'signup', email: 'gina@ospiti.example', password: 'una-frase-lunga-e-mia' }
      ],
      ['invite', ['signup', 'invite', 'email'], { type: 'invite', email: 'ilda@ospiti.example' }],
      ['magiclink', ['magiclink', 'recovery', 'email'], { type: 'magiclink', email: 'lina@ospiti.example' }],
      ['recovery', ['magiclink', 'recovery', 'email'], { type: 'recovery', email: 'lina@ospiti.example' }],
      [
        'email_change',
        ['email_change'],
        { type: 'email_change_current', email: 'lina@ospiti.example', newEmail: 'lina@altrove.example' }
      ]
    ] as const
    for (const [kind, types, params] of wanted) {
      const { data, error } = await admin.generateLink(params)
      t.equal(error, null)
      made.push([kind, [...types], params.email, data.properties!])
    }
    for (const [kind, types, email, { email_otp: token, hashed_token: hash }] of made) {
      for (const type of TYPES.filter((type) => !types.includes(type))) {
        t.equal(await verified(place, { token_hash: hash, type }), 'otp_expired', `the link of ${kind} as ${type}`)
        t.equal(await verified(place, { email, token, type }), 'otp_expired', `the code of ${kind} as ${type}`)
        await app.sql`update one_time_tokens set attempts = 0`
      }
    }
    for (const [kind, types, , { hashed_token: hash }] of made) {
      t.not(await verified(place, { token_hash: hash, type: types.at(-1)! }), 'otp_expired',
        `${kind} as ${types.at(-1)}`)
    }
  })

  t.test('a code is valid only for its own person', async (t) => {
    const mara = await recovery('mara')
    await recovery('nora')
    t.equal(await verified(place, { email: 'nora@ospiti.example', token: mara.code, type: 'recovery' }), 'otp_expired')
    t.equal(await verified(place, { email: mara.email, token: mara.code, type: 'recovery' }), 'a session')
  })

  t.test('codes and links that were sent to the account’s former address are void', async (t) => {
    const { email, link, code } = await recovery('olga')
    await app.sql`update users set email = 'olga@altrove.example' where email = ${email}`
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
    const second = await recovery('pia')
    await app.sql`update users set email = 'pia@altrove.example' where email = ${second.email}`
    t.equal(await verified(place, { token_hash: second.link, type: 'recovery' }), 'otp_expired')
    t.ok(link)
  })

  t.test('a request with a missing field is refused with a message', async (t) => {
    for (const body of [
      { type: 'recovery' },
      { type: 'recovery', token: '123456' },
      { type: 'constructor', token_hash: 'x' },
      { type: 'recovery', token: '123456', token_hash: 'x', email: 'ada@ospiti.example' },
      { type: 'recovery', token_hash: 'x', email: 'ada@ospiti.example' },
      { type: 'recovery', token: '123456', email: 'ada@ospiti.example', phone: '+391234567' },
      { type: 'recovery', token: '', token_hash: '', email: 'ada@ospiti.example' }
    ]) { t.equal(await verified(place, body), 'validation_failed', JSON.stringify(body)) }
  })

  t.test('the database contains neither codes nor links', async (t) => {
    const { code, link } = await recovery('sara')
    const [row] = await app.sql`select * from one_time_tokens where sent_to = 'sara@ospiti.example'`
    const text =
      JSON.stringify(row, (_key, value: unknown) => (Buffer.isBuffer(value) ? value.toString('hex') : value)) +
      Object.values(row!).map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : '')).join()
    t.notMatch(text, link)
    t.notMatch(text, Buffer.from(link, 'hex').toString('latin1'))
    t.notOk(Object.values(row!).some((value) => value === code))
  })
})

t.test('guesses for one address are limited, for all mails together, and links are not', async (t) => {
  const place = await site(t, { RATE_LIMIT_LOGIN_MAX: '6' })
  const { auth: { admin } } = await place.administrator()
  const email = 'ada@ospiti.example'
  await place.person(email)
  const make = async () => (await admin.generateLink({ type: 'recovery', email })).data.properties!
  for (let i = 0; i < 6; i++) {
    t.equal(
      await verified(place, {
        email: i % 2 ? email : ' ADA@ospiti.example', token: wrong((await make()).email_otp), type: 'recovery'
      }),
      'otp_expired'
    )
  }
  const last = await make()
  t.equal(await verified(place, { email, token: last.email_otp, type: 'recovery' }), 'over_request_rate_limit')
  t.equal(await verified(place, { token_hash: last.hashed_token, type: 'recovery' }), 'a session')
})

t.test('the codes and links that one caller tries, and the mails that it requests, are limited', async (t) => {
  const place = await site(t, { RATE_LIMIT_LOGIN_MAX: '1' })
  for (let i = 0; i < 5; i++) t.equal(await verified(place, { token_hash: String(i), type: 'recovery' }), 'otp_expired')
  t.equal(await verified(place, { token_hash: 'x', type: 'recovery' }), 'over_request_rate_limit')
  for (const path of ['recover', 'otp', 'resend', 'recover', 'otp']) {
    t.equal(
      (
        await place.app.inject({
          method: 'POST',
          url: `/auth/v1/${path}`,
          payload: { email: `${path}${Math.random()}@ospiti.example`, type: 'signup' }
        })
      ).statusCode,
      200
    )
  }
  const response = await place.app.inject({
    method: 'POST', url: '/auth/v1/recover', payload: { email: 'y@ospiti.example' }
  })
  t.match(response, { statusCode: 429, headers: { 'x-sb-error-code': 'over_request_rate_limit' } })
})

/** The outcome of an attempt: a session, or the error's code. */
async function verified ({ app }: Site, payload: object): Promise<string> {
  const response = await app.inject({ method: 'POST', url: '/auth/v1/verify', payload })
  if (response.statusCode !== 200) return String(response.headers['x-sb-error-code'])
  return 'access_token' in response.json() ? 'a session' : response.json().msg
}

t.test('sign-in by mail', async (t) => {
  const { app, client, enter, letter, follow, person, smtp } = await site(t)

  t.test('a code or a link signs a person in', async (t) => {
    await person('ada@ospiti.example')
    const auth = client().auth
    t.same(await auth.signInWithOtp({ email: 'ada@ospiti.example' }),
      { data: { user: null, session: null }, error: null })
    const { code, token } = await letter()
    const { data } = await auth.verifyOtp({ email: 'ada@ospiti.example', token: code, type: 'email' })
    t.equal(data.user?.email, 'ada@ospiti.example')
    t.match((await auth.getClaims()).data?.claims.amr, [{ method: 'otp' }])
    t.equal((await client().auth.verifyOtp({ token_hash: token, type: 'email' })).error?.code, 'otp_expired',
      'the code has used up the link')
    t.equal(await enter('ada@ospiti.example'), undefined, 'the password stays')
  })

  t.test('an unknown address gets a pending account, unless the client opts out', async (t) => {
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

  t.test('a confirmation can be sent again while one is pending', async (t) => {
    await person('dora@ospiti.example', { email_confirm: false })
    t.equal((await client().auth.resend({ type: 'signup', email: 'dora@ospiti.example' })).error, null)
    const { code } = await letter()
    t.ok((await client().auth.verifyOtp({ email: 'dora@ospiti.example', token: code, type: 'signup' })).data.session)
    t.equal(await enter('dora@ospiti.example'), undefined)

    const sent = smtp.mails.length
    t.equal((await client().auth.resend({ type: 'signup', email: 'ada@ospiti.example' })).error, null)
    t.equal((await client().auth.resend({ type: 'email_change', email: 'ada@ospiti.example' })).error, null)
    t.equal(smtp.mails.length, sent)
    t.equal((await client().auth.resend({ type: 'sms', phone: '+391234567' })).error?.code, 'phone_provider_disabled')
  })

  t.test('a second mail of a kind within a minute is refused, for known and unknown addresses', async (t) => {
    await person('elena@ospiti.example')
    for (const email of ['elena@ospiti.example', 'nessuno@ospiti.example']) {
      const post = (path: string, spelled = email) =>
        app.inject({
          method: 'POST', url: `/auth/v1/${path}`, payload: { email: spelled, type: 'signup', create_user: false }
        })
      for (const path of ['recover', 'otp', 'resend']) {
        t.equal((await post(path)).statusCode, 200, `${path} ${email}`)
        const again = await post(path, ` ${email.toUpperCase()}`)
        t.match(again, { statusCode: 429, headers: { 'x-sb-error-code': 'over_email_send_rate_limit' } },
          `${path} ${email}, however it is spelled`)
        const seconds = Number(again.headers['retry-after'])
        t.ok(seconds > 0 && seconds <= 60)
        t.equal(again.json<{ msg: string }>().msg,
          `For security purposes, you can only request this after ${seconds} seconds.`)
      }
    }
    await letter()
    await letter()
  })
})

t.test('a session that began more than a day ago', async (t) => {
  const { app, client, enter, letter, person } = await site(t)
  const id = await person('ada@ospiti.example')
  const auth = client().auth
  await auth.signInWithPassword({ email: 'ada@ospiti.example', password: PASSWORD })
  await app.sql`update sessions set created_at = now() - interval '25 hours' where user_id = ${id}`

  t.test('requires a single-use code sent by mail to change the password', async (t) => {
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova' })).error?.code, 'reauthentication_needed')
    t.equal((await auth.reauthenticate()).error, null)
    t.equal((await auth.reauthenticate()).error?.code, 'over_email_send_rate_limit')
    const { to, code, link } = await letter()
    t.equal(to, 'ada@ospiti.example')
    t.equal(link, '', 'the mail has no link')
    t.equal((await auth.updateUser({ password: 'corta', nonce: code })).error?.code, 'weak_password',
      'the code stays valid')
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova', nonce: '12' })).error?.code,
      'reauthentication_not_valid')
    t.equal((await auth.updateUser({ password: 'una-frase-del-tutto-nuova', nonce: code })).error, null)
    t.equal((await auth.updateUser({ password: 'un-altra-frase-ancora', nonce: code })).error?.code,
      'reauthentication_not_valid')
    t.equal(await enter('ada@ospiti.example', 'una-frase-del-tutto-nuova'), undefined)
  })

  t.test('does not accept that code for a sign-in', async (t) => {
    const other = client().auth
    await person('bea@ospiti.example')
    await other.signInWithPassword({ email: 'bea@ospiti.example', password: PASSWORD })
    await other.reauthenticate()
    const { code } = await letter()
    for (const type of ['email', 'recovery', 'magiclink', 'signup', 'invite', 'email_change'] as const) {
      t.equal((await client().auth.verifyOtp({ email: 'bea@ospiti.example', token: code, type })).error?.code,
        'otp_expired', type)
    }
  })
})

t.test('responses that do not reveal whether an address has an account', async (t) => {
  const place = await site(t)
  const { app, person, letter, client } = place
  const known = 'ada@ospiti.example'
  const unknown = 'eva@ospiti.example'
  await person(known)

  t.test('the response is the same for addresses with and without an account', async (t) => {
    const asked: [string, (email: string) => object][] = [
      ['recover', (email) => ({ email })],
      ['recover?redirect_to=https://app.example/x', (email) => ({ email })],
      ['otp', (email) => ({ email, create_user: false })],
      ['resend', (email) => ({ email, type: 'signup' })],
      ['resend', (email) => ({ email, type: 'email_change' })],
      ['resend', (email) => ({ email, type: 'signup' })],
      ...['signup', 'invite', 'magiclink', 'recovery', 'email', 'email_change', 'altro'].map(
        (type) =>
          ['verify', (email: string) => ({ email, type, token: '000000' })] as [string, (email: string) => object]
      )
    ]
    const mine: unknown[] = []
    const theirs: unknown[] = []
    for (const [path, body] of asked) {
      mine.push(looks(await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload: body(known) })))
      theirs.push(looks(await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload: body(unknown) })))
    }
    t.same(theirs, mine)
    t.same(new Set(mine.map((each) => (each as { status: number }).status)), new Set([200, 429, 403, 400]))
    await letter()
    await letter()
  })

  t.test('neither logs nor the audit log contain codes, links, addresses or metadata', async (t) => {
    await client().auth.signUp({
      email: 'canarino@ospiti.example',
      password: 'CANARY-una-frase-lunga',
      options: { data: { name: 'CANARY-nome' }, emailRedirectTo: `${HOME}/CANARY-via` }
    })
    const { code, link, token, to } = await letter()
    await app.inject({
      method: 'POST', url: '/auth/v1/verify', payload: { email: to, token: wrong(code), type: 'signup' }
    })
    await place.follow(link.replace(token, `${token}0`))
    const { fragment } = await place.follow(link)
    t.ok(fragment.get('access_token'))
    await place.follow(link)
    const { data } = await (await place.administrator()).auth.admin.generateLink({ type: 'recovery', email: to })
    const made = data.properties!
    const written = JSON.stringify(place.logs) + JSON.stringify(await app.sql`select * from audit_log`)
    const secrets = [
      token, to, 'canarino', 'CANARY', fragment.get('access_token')!, fragment.get('refresh_token')!,
      made.hashed_token, PASSWORD
    ]
    for (const secret of secrets) t.notOk(written.includes(secret), secret)
    // Six digits may be a part of a longer number, or of an id.
    for (const each of [code, wrong(code), made.email_otp]) {
      t.notMatch(written, new RegExp(`(?<![\\w.-])${each}(?![\\w.-])`), each)
    }
    t.ok(place.logs.some(({ route }) => route === '/auth/v1/verify'), 'the search finds a known value')
  })
})

t.test('the target URL of a link', async (t) => {
  const place = await site(t)
  const { app, administrator, person, follow } = place
  const { auth: { admin } } = await administrator()
  await person('ada@ospiti.example')
  const elsewhere = [
    'https://evil.example', 'https://app.example.evil.example', 'https://app.example@evil.example/', '//evil.example',
    '/\\evil.example', 'javascript:alert(1)', 'data:text/html,x', 'https://evil.example#https://app.example',
    'http://app.example', 'https://app.example:444', 'HTTPS://EVIL.example', 'https://app.examplе',
    ' https://evil.example', 'null', ''
  ]

  t.test('an opened link, valid or not, redirects only to this server or one of the front ends', async (t) => {
    for (const redirect_to of elsewhere) {
      const { data } = await admin.generateLink({ type: 'recovery', email: 'ada@ospiti.example' })
      for (const token of ['nessuno', data.properties!.hashed_token]) {
        const response = await app.inject({ url: '/auth/v1/verify', query: { token, type: 'recovery', redirect_to } })
        t.equal(response.statusCode, 303)
        t.equal(new URL(String(response.headers.location)).origin, HOME, redirect_to)
      }
    }
  })

  t.test('the URL keeps its own query, and a link cannot add to it', async (t) => {
    const { data } = await admin.generateLink({
      type: 'recovery',
      email: 'ada@ospiti.example',
      options: { redirectTo: `${HOME}/a?b=c&error=x#access_token=falso` }
    })
    const { target, fragment } = await follow(data.properties!.action_link)
    t.equal(target.searchParams.get('b'), 'c')
    t.not(fragment.get('access_token'), 'falso')
    t.equal(fragment.getAll('access_token').length, 1)
    const bad = await follow(data.properties!.action_link)
    t.same(Object.fromEntries(bad.fragment), {
      error: 'access_denied',
      error_code: 'otp_expired',
      error_description: 'Email link is invalid or has expired',
      sb: ''
    })
    t.same(bad.target.searchParams.getAll('error'), ['access_denied'])
    const header = await app.inject({
      url: '/auth/v1/verify',
      query: { token: 'x', type: 'recovery', redirect_to: `${HOME}/\r\nset-cookie: a=b\0` }
    })
    t.equal(header.statusCode, 303)
    t.notOk(header.headers['set-cookie'])
  })

  t.test('a HEAD or a wrong type does not use up a link', async (t) => {
    const { data } = await admin.generateLink({ type: 'recovery', email: 'ada@ospiti.example' })
    const token = data.properties!.hashed_token
    t.equal(
      (await app.inject({ method: 'HEAD', url: '/auth/v1/verify', query: { token, type: 'recovery' } })).statusCode,
      405
    )
    for (const type of ['signup', 'invite', '', 'constructor']) {
      t.notOk(
        (await follow(data.properties!.action_link.replace('type=recovery', `type=${type}`))).fragment.has(
          'access_token'
        )
      )
    }
    t.ok((await follow(data.properties!.action_link)).fragment.has('access_token'))
  })

  t.test('the response to a link is not cached, and sends no referrer', async (t) => {
    const { headers } = await app.inject({ url: '/auth/v1/verify', query: { token: 'x', type: 'recovery' } })
    t.match(headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  })
})

const known = 'ada@ospiti.example'
const unknown = 'eva@ospiti.example'

t.test('while the database\'s disk is full', async (t) => {
  const place = await site(t)
  const { app, person, forgetCounts } = place
  await person(known)
  const post = async (path: string, payload: object) =>
    await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload })

  t.test('a mail that could not be written may be requested again at once, any other after a minute', async (t) => {
    const requests = [
      ['recover', { email: known }], ['otp', { email: known }], ['signup', { email: unknown, password: PASSWORD }]
    ] as const
    for (const [path, body] of requests) {
      await forgetCounts()
      const heal = await fillDisk(place, 'insert', 'mails')
      for (let time = 1; time <= 2; time++) t.equal((await post(path, body)).statusCode, 503, path)
      await heal()
      // The minute counts from the mail, not from an earlier request that failed.
      await app.sql`update counters set ends_at = now() + interval '5 seconds' where name = 'mail/account'`
      t.equal((await post(path, body)).statusCode, 200, path)
      const refused = await post(path, body)
      t.equal(refused.statusCode, 429)
      t.ok(Number(refused.headers['retry-after']) > 5, 'the rest of the minute')
    }
  })
})

/** Makes every such write fail as on a full disk. @returns a function that ends this */
async function fillDisk ({ app: { sql } }: Site, operation: string, table: string): Promise<() => Promise<void>> {
  await sql`create or replace function no_room () returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'no room';
  end $$`
  await sql.unsafe(`create trigger no_room before ${operation} on ${table} for each row execute function no_room()`)
  return async () => { await sql.unsafe(`drop trigger no_room on ${table}`) }
}
