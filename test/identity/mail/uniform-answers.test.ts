import t from 'tap'
import { HOME, looks, PASSWORD, site, type Site, wrong } from './mailbox.ts'

t.test('answers that do not tell whether an address has an account', async (t) => {
  const place = await site(t)
  const { app, person, letter, client } = place
  const known = 'ada@ospiti.example'
  const unknown = 'eva@ospiti.example'
  await person(known)

  t.test('an address without an account is answered like one with an account', async (t) => {
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

  t.test('neither logs nor the audit log have codes, links, addresses or metadata', async (t) => {
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
    // Six digits may stand in a longer number, or in an id.
    for (const each of [code, wrong(code), made.email_otp]) {
      t.notMatch(written, new RegExp(`(?<![\\w.-])${each}(?![\\w.-])`), each)
    }
    t.ok(place.logs.some(({ route }) => route === '/auth/v1/verify'), 'there is something to find')
  })
})

t.test('the address that a link leads to', async (t) => {
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

  t.test('a link that is opened, good or not, leads only to this server or one of the front ends', async (t) => {
    for (const redirect_to of elsewhere) {
      const { data } = await admin.generateLink({ type: 'recovery', email: 'ada@ospiti.example' })
      for (const token of ['nessuno', data.properties!.hashed_token]) {
        const answer = await app.inject({ url: '/auth/v1/verify', query: { token, type: 'recovery', redirect_to } })
        t.equal(answer.statusCode, 303)
        t.equal(new URL(String(answer.headers.location)).origin, HOME, redirect_to)
      }
    }
  })

  t.test('the address keeps its own query, and a link cannot add to it', async (t) => {
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

  t.test('a HEAD or a wrong type does not use a link up', async (t) => {
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

  t.test('the answer to a link is not cached, and sends no referrer', async (t) => {
    const { headers } = await app.inject({ url: '/auth/v1/verify', query: { token: 'x', type: 'recovery' } })
    t.match(headers, { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  })
})

const known = 'ada@ospiti.example'
const unknown = 'eva@ospiti.example'

t.test('while the database has no room', async (t) => {
  const place = await site(t)
  const { app, person, forgetCounts } = place
  await person(known)
  const post = async (path: string, payload: object) =>
    await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload })

  t.test('a mail that could not be written may be asked for again at once, and then none for a minute', async (t) => {
    for (const [path, body] of [['recover', {}], ['otp', {}], ['signup', { password: PASSWORD }]] as const) {
      for (const email of [known, `${path}.${unknown}`]) {
        await forgetCounts()
        const send = async () => await post(path, { email, ...body })
        const heal = await fillDisk(place, 'insert', 'mails')
        for (let time = 1; time <= 2; time++) t.equal((await send()).statusCode, 503, `${path} ${email}`)
        await heal()
        // The minute is that of the mail, and not of a request that failed before.
        await app.sql`update counters set ends_at = now() + interval '5 seconds' where name = 'mail/account'`
        t.equal((await send()).statusCode, 200, `${path} ${email}`)
        const refused = await send()
        t.equal(refused.statusCode, 429)
        t.ok(Number(refused.headers['retry-after']) > 5, 'the rest of a whole minute')
      }
    }
  })
})

/** Has every row that is written so meet a full disk. @returns what makes room again */
async function fillDisk ({ app: { sql } }: Site, operation: string, table: string): Promise<() => Promise<void>> {
  await sql`create or replace function no_room () returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'no room';
  end $$`
  await sql.unsafe(`create trigger no_room before ${operation} on ${table} for each row execute function no_room()`)
  return async () => { await sql.unsafe(`drop trigger no_room on ${table}`) }
}
