import t from 'tap'
import { issueToken } from '#src/identity/sign-in/one-time-tokens.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { held, PASSWORD } from './held.ts'

const MASTER_KEY = Buffer.alloc(32, 7)
const NAMES = ['anna', 'bruno', 'carla', 'dario', 'elena', 'fabio', 'gina']

t.test('the administration’s list of users', async (t) => {
  const { app, token, person } = await held(t)
  const service = await token({ service: true })
  for (const name of NAMES) await person(`${name}@example.org`, { user_metadata: { name: `${name} %_\\ & Neri` } })
  const list = async (query: string) => await as(app, service, 'GET', `/auth/v1/admin/users${query}`)
  const emails = (answer: Awaited<ReturnType<typeof list>>) =>
    answer.json<{ users: { email: string }[] }>().users.map(({ email }) => email.split('@')[0])

  t.test('a filtered list has links from page to page, for any filter', async (t) => {
    for (const filter of ['', 'example.org', 'NERI', '%', '_', '\\', 'a@', '& neri', 'bruno', 'nessuno']) {
      const expected = emails(await list(`?filter=${encodeURIComponent(filter)}&per_page=1000`))
      const seen: (string | undefined)[] = []
      let next: string | undefined = `?page=1&per_page=2&filter=${encodeURIComponent(filter)}`
      let pages = 0
      while (next !== undefined && pages++ < 10) {
        const answer = await list(next)
        t.equal(Number(answer.headers['x-total-count']), expected.length, filter)
        seen.push(...emails(answer))
        next = /<[^>]*(\?[^>]*)>; rel="next"/.exec(String(answer.headers.link))?.[1]
      }
      t.same(seen, expected, filter)
      t.equal(expected.length, { '': 7, bruno: 1, nessuno: 0, 'a@': 4 }[filter] ?? 7, filter)
    }
  })

  t.test('a page that is not a number, or out of range, is refused', async (t) => {
    for (const query of ['?page=0', '?per_page=0', '?page=&per_page=', '?page=999', '?page=1000000&per_page=1000']) {
      t.equal((await list(query)).statusCode, 200, query)
    }
    for (const query of [
      '?page=-1',
      '?page=1.5',
      '?page=1e3',
      '?page=٣',
      '?per_page=1001',
      '?page=1000001',
      '?page=1&page=2',
      '?page=%00',
      '?per_page=NaN',
      '?page= 1'
    ]) {
      const answer = await list(query.replace(' ', '%20'))
      t.match([answer.statusCode, answer.json()], [400, { error_code: 'validation_failed' }], query)
    }
  })
})

t.test('a change of a user by an administrator', async (t) => {
  const { app, token, person, signIn, sql } = await held(t, { MASTER_KEY: MASTER_KEY.toString('base64') })
  const service = await token({ service: true })
  const put = (id: string, body: object) => as(app, service, 'PUT', `/auth/v1/admin/users/${id}`, body)
  const keys = createKeys(MASTER_KEY)
  const mail = async (id: string, email: string) =>
    await app.db.transaction((tx) => issueToken(tx, keys, { user_id: id, kind: 'recovery', sent_to: email }))
  const verify = (token_hash: string) =>
    app.inject({ method: 'POST', url: '/auth/v1/verify', payload: { type: 'recovery', token_hash } })

  t.test('a new password voids the mails that the person has been sent before', async (t) => {
    const id = await person('anna@example.org')
    const { link } = await mail(id, 'anna@example.org')
    t.equal((await put(id, { user_metadata: { name: 'Anna' } })).statusCode, 200)
    t.equal((await sql`select 1 from one_time_tokens where user_id = ${id}`).length, 1)
    t.equal((await put(id, { password: 'una-frase-lunga-e-nuova' })).statusCode, 200)
    t.equal((await verify(link)).statusCode, 403)
  })

  t.test('a soft deletion removes address and keys, and frees the address', async (t) => {
    const id = await person('bruno@example.org', { user_metadata: { name: 'Bruno' } })
    const { access_token } = (await signIn('bruno@example.org')).json<{ access_token: string }>()
    const { apiKey, id: keyId } = (await as(app, access_token, 'GET', '/api/cli/auth/key')).json<{
      apiKey: string
      id: string
    }>()
    const { link } = await mail(id, 'bruno@example.org')
    t.equal(
      (await as(app, service, 'DELETE', `/auth/v1/admin/users/${id}`, { should_soft_delete: true })).statusCode,
      200
    )
    t.equal(await isLetIn(app, { 'x-api-key': apiKey }), 401)
    const left = await sql`
      select coalesce((select string_agg(x::text, '') from users x), '')
        || coalesce((select string_agg(x::text, '') from identities x), '')
        || coalesce((select string_agg(x::text, '') from one_time_tokens x), '')
        || coalesce((select string_agg(x::text, '') from sessions x), '') as text`
    t.notMatch(left[0]!.text, /bruno/i)
    t.equal((await verify(link)).statusCode, 403)
    t.match(await sql`select revoked_at from api_keys where id = ${keyId}`, [{ revoked_at: String }])
    const again = await person('bruno@example.org')
    t.not(again, id)
    t.equal((await signIn('bruno@example.org')).statusCode, 200)
    t.equal(await isLetIn(app, { 'x-api-key': apiKey }), 401)
    t.equal((await put(id, { user_metadata: {} })).statusCode, 404, 'the old one is nobody')
  })

  t.test('the keys of a deleted user are listed as revoked', async (t) => {
    const id = await person('carla@example.org')
    const { access_token } = (await signIn('carla@example.org')).json<{ access_token: string }>()
    const { id: keyId } = (await as(app, access_token, 'GET', '/api/cli/auth/key')).json<{ id: string }>()
    t.equal((await as(app, service, 'DELETE', `/auth/v1/admin/users/${id}`)).statusCode, 200)
    t.match(await sql`select revoked_at from api_keys where id = ${keyId}`, [{ revoked_at: String }])
  })

  t.test('a user created with a ban is banned, and bans last as Go durations say', async (t) => {
    const id = await person('dario@example.org', { ban_duration: '1h' })
    t.match((await signIn('dario@example.org')).json(), { error_code: 'user_banned' })
    const until = async () => Date.parse(
      (await as(app, service, 'GET', `/auth/v1/admin/users/${id}`)).json<{ banned_until: string }>().banned_until
    )
    const DURATIONS: [string, number][] = [
      ['24h', 86_400],
      ['1h30m', 5400],
      ['1.5h', 5400],
      ['90m', 5400],
      ['1h1m1s', 3661],
      ['500ms', 0.5],
      ['876000h', 3_153_600_000],
      ['999999999h', 200 * 365 * 86_400],
      ['1s1s', 2]
    ]
    for (const [text, seconds] of DURATIONS) {
      const before = Date.now()
      t.equal((await put(id, { ban_duration: text })).statusCode, 200, text)
      const after = Date.now()
      const start = await until() - seconds * 1000
      t.ok(start >= before - 1000 && start <= after + 1000, text)
    }
    for (const text of [
      '',
      'NONE',
      '1',
      '-1h',
      '1d',
      '1 h',
      'h',
      '1h ',
      '١h',
      '1e3h',
      'Infinity',
      `${'9'.repeat(20)}h`
    ]) {
      t.match((await put(id, { ban_duration: text })).json(), { error_code: 'validation_failed' }, text)
    }
    t.equal((await put(id, { ban_duration: 'none' })).statusCode, 200)
    t.equal((await signIn('dario@example.org')).statusCode, 200)
  })

  t.test('an address is the same in upper and lower case, and a text that is no address is refused', async (t) => {
    const id = await person('Rosa@example.org')
    t.match(await sql`select email from users where id = ${id}`, [{ email: 'rosa@example.org' }])
    t.equal(
      (
        await as(app, service, 'POST', '/auth/v1/admin/users', { email: ' ROSA@EXAMPLE.ORG ', password: PASSWORD })
      ).json<{ error_code: string }>().error_code,
      'email_exists'
    )
    for (const email of [
      'elena',
      'elena@',
      '@example.org',
      'elena@example.org.',
      'elena@exa mple.org',
      'elena@example.org\0',
      'elena\n@example.org',
      'elena@@example.org',
      '"elena"@example.org',
      'a@b@c',
      'elena@-example.org',
      `${'e'.repeat(250)}@x.it`,
      'elena@example.org,bruno@example.org',
      'elena@example.org\ud800'
    ]) {
      t.match(
        (await as(app, service, 'POST', '/auth/v1/admin/users', { email, password: PASSWORD })).json(),
        { error_code: 'validation_failed' },
        JSON.stringify(email).slice(0, 60)
      )
    }
    const twins = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        as(app, service, 'POST', '/auth/v1/admin/users', {
          email: n % 2 ? 'FABIO@example.org' : 'fabio@example.org',
          password: PASSWORD
        })
      )
    )
    t.same(twins.map(({ statusCode }) => statusCode).sort(), [200, 422, 422, 422, 422, 422])
  })

  t.test('a change of the address counts at once, for the account and its e-mail identity', async (t) => {
    const id = await person('gina@example.org')
    const { access_token } = (await signIn('gina@example.org')).json<{ access_token: string }>()
    t.equal(
      (await put(id, { email: 'Gina.Neri@Example.org' })).json<{ email: string }>().email,
      'gina.neri@example.org'
    )
    t.equal((await signIn('gina@example.org')).statusCode, 400)
    t.equal((await signIn('gina.neri@example.org')).statusCode, 200)
    t.equal(
      (await app.inject({ url: '/auth/v1/user', headers: bearer(access_token) })).json<{
        identities: { email: string }[]
      }>().identities[0]!.email,
      'gina.neri@example.org'
    )
    t.match((await put(id, { email: 'anna@example.org' })).json(), { error_code: 'email_exists' })
  })

  t.test('the audit log names the known fields of each change, and no unknown field', async (t) => {
    const id = await person('hans@example.org')
    const body = {
      user_metadata: { name: 'Hans' },
      'hans@example.org': 1,
      '\0': 1,
      constructor: 1,
      hasOwnProperty: 1,
      ['x'.repeat(5000)]: 1,
      email_confirm: true
    }
    t.equal((await put(id, body)).statusCode, 200)
    t.match(
      await sql`
        select actor, object, details from audit_log
        where action = 'utente_modificato' order by id desc limit 1`,
      [{ actor: 'service', object: `user:${id}`, details: { fields: ['email_confirm', 'user_metadata'] } }]
    )
    const until = (await put(id, { app_metadata: { role: 'operator', roles: ['admin'] }, ban_duration: '1h' })).json<{
      banned_until: string
    }>().banned_until
    await put(id, { ban_duration: 'none' })
    t.strictSame(
      (await sql`select details from audit_log where action = 'utente_modificato' order by id desc limit 2`).map(
        ({ details }) => details
      ),
      [
        { fields: ['ban_duration'], banned_until: null },
        { fields: ['app_metadata', 'ban_duration'], role: 'operator admin', banned_until: until }
      ],
      'rights with what they have become'
    )
  })
})
