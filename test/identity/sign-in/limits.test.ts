import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { build, type TestApp } from '#test/helper.ts'
import { appWithLocks, type AppWithLocks, PASSWORD } from '#test/identity/attacks/lock-waits.ts'
import { site } from '#test/identity/mail/mailbox.ts'
import { createPerson } from '#test/identity/shared-password.ts'
import { callAs, bearer } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const HOUR = { RATE_LIMIT_WINDOW: '3600' }

interface Attempt { email: string, password?: string, from?: string, headers?: Record<string, string> }

async function signIn (
  { app }: TestApp,
  { email, password = 'quella sbagliata', from = '192.0.2.1', headers }: Attempt
) {
  return await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=password',
    headers,
    remoteAddress: from,
    payload: { email, password }
  })
}

/** The address of a person who can sign in with `PASSWORD`. */
async function account (server: TestApp, email: string): Promise<string> {
  await createPerson(server, email)
  return email
}

t.test('while an imported hash exists, every failure takes at least a whole second', async (t) => {
  const server = await build(t)
  const own = await account(server, 'anna@example.org')
  const password_hash = '$2b$12$CFyt8bFRLa.a/vtb1ES0eepF6NCiuvWRMJdvU8TrSXXZ/f/ueR4hO'
  const imported = await server.app.inject({
    method: 'POST',
    url: '/auth/v1/admin/users',
    headers: bearer(await server.token({ service: true })),
    payload: { email: 'bea@example.org', password_hash, email_confirm: true }
  })
  t.equal(imported.statusCode, 200)
  for (const email of [own, 'bea@example.org', 'nessuno@example.org']) {
    const began = performance.now()
    t.equal((await signIn(server, { email })).statusCode, 400)
    t.ok(performance.now() - began > 990, email)
  }
  t.equal((await signIn(server, { email: own, password: PASSWORD })).statusCode, 200)
})

t.test('the response to a failed sign-in is the same, byte for byte, with and without an account', async (t) => {
  const server = usual
  const responses = []
  // Each has its own client IP, so that the remaining limits are also the same.
  for (const [n, email] of [
    await account(server, 'lia@example.org'), 'nessuno@example.org', 'né un indirizzo'
  ].entries()) {
    for (const version of [undefined, '2024-01-01']) {
      const { statusCode, headers, body } = await signIn(server, {
        email, from: `192.0.2.${n}`, headers: version === undefined ? {} : { 'x-supabase-api-version': version }
      })
      const { date, 'x-request-id': id, 'ratelimit-reset': reset, ...rest } = headers
      t.ok(id !== undefined && date !== undefined)
      responses.push({ version, statusCode, body, headers: rest, reset: reset !== undefined })
    }
  }
  t.match(responses[0], { statusCode: 400, headers: { 'x-sb-error-code': 'invalid_credentials' } })
  for (const version of [undefined, '2024-01-01']) {
    const [first, ...others] = responses.filter((response) => response.version === version)
    for (const other of others) t.strictSame(other, first)
  }
})

t.test('limits of sign-in attempts', async (t) => {
  const one = await build(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '1' })
  const codes = async (server: TestApp, attempts: Attempt[]) => {
    const seen: string[] = []
    for (const attempt of attempts) {
      const response = await signIn(server, attempt)
      seen.push(response.statusCode === 200 ? 'in' : response.json<{ error_code: string }>().error_code)
    }
    return seen
  }
  const times = (n: number, attempt: Attempt) => Array.from({ length: n }, () => attempt)
  const wrong = (n: number) => Array.from({ length: n }, () => 'invalid_credentials')

  t.test('the eleventh attempt in a minute for one account from one IP is refused, existing or not', async (t) => {
    const server = await build(t)
    for (const email of [await account(server, 'anna@example.org'), 'nessuno@example.org']) {
      t.same(await codes(server, times(11, { email })), [...wrong(10), 'over_request_rate_limit'], email)
      const { statusCode, headers } = await signIn(server, { email })
      t.equal(statusCode, 429)
      t.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 60)
    }
    t.same(await codes(server, [{ email: 'un-altro@example.org' }]), wrong(1), 'other accounts are not affected')
  })

  t.test('while a client IP is limited, it cannot use the right password, but others can', async (t) => {
    const email = await account(strict, 'lina@example.org')
    await codes(strict, times(3, { email }))
    const right = { email, password: PASSWORD }
    t.same(await codes(strict, [right, { ...right, from: '192.0.2.2' }]), ['over_request_rate_limit', 'in'])
  })

  t.test('attempts from many client IPs do not lock an account', async (t) => {
    const email = await account(one, 'anna@example.org')
    await codes(one, Array.from({ length: 4 }, (_, n) => ({ email, from: `198.51.100.${n}` })))
    t.same(await codes(one, [{ email, password: PASSWORD, from: '192.0.2.2' }]), ['in'])
  })

  t.test('one client IP may try only a limited number of accounts', async (t) => {
    t.same(await codes(one, Array.from({ length: 6 }, (_, n) => ({ email: `persona${n}@example.org` }))),
      [...wrong(5), 'over_request_rate_limit'])
  })

  t.test('an e-mail address counts as one account in every spelling', async (t) => {
    const email = await account(strict, 'Anna.Bea@example.org')
    const spellings = [email, email.toLowerCase(), email.toUpperCase(), ` ${email}\t`, `\n${email.toUpperCase()} `]
    t.equal(new Set(spellings).size, 5)
    t.same(await codes(strict, [...spellings, ...spellings].map((email) => ({ email, from: '192.0.2.3' }))),
      [...wrong(3), ...times(7, { email }).map(() => 'over_request_rate_limit')])
  })

  t.test('a forged forwarded address is ignored', async (t) => {
    const claims = [
      'x-forwarded-for', 'x-real-ip', 'forwarded', 'true-client-ip', 'cf-connecting-ip', 'sb-forwarded-for'
    ]
    const attempts = claims.map((name, n) => ({
      email: 'nessuno@example.org',
      from: '192.0.2.4',
      headers: { [name]: name === 'forwarded' ? `for=203.0.113.${n}` : `203.0.113.${n}` }
    }))
    t.same(await codes(one, attempts), [...wrong(1), ...attempts.slice(1).map(() => 'over_request_rate_limit')])
  })
})

async function attempt (server: AppWithLocks, email: string, from: string): Promise<string> {
  return (await signIn(server, { email, from })).json<{ error_code: string }>().error_code
}

/** A server that allows three attempts an hour. Each test has its own accounts and client IPs. */
const strict = await appWithLocks(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '3' })
const usual = await appWithLocks(t)

t.test('all addresses of one IPv6 network share the limit of one address', async (t) => {
  const from = (email: string, ...addresses: string[]) =>
    Promise.all(addresses.map((address) => attempt(strict, email, address)))
  const one = await from(
    'anna@example.org',
    '2001:db8:1:2::1',
    '2001:db8:1:2::2',
    '2001:db8:1:2:ffff::3',
    '2001:db8:1:2:a:b:c:d',
    '2001:db8:1:2::'
  )
  t.same(one.toSorted(), [
    'invalid_credentials', 'invalid_credentials', 'invalid_credentials', 'over_request_rate_limit',
    'over_request_rate_limit'
  ])
  t.same(await from('anna@example.org', '2001:db8:1:3::1', '::ffff:192.0.2.1', '::ffff:192.0.2.2'),
    ['invalid_credentials', 'invalid_credentials', 'invalid_credentials'], 'other networks have their own limit')
  const many = []
  for (let n = 0; n < 13; n++) many.push(await attempt(strict, `persona${n}@example.org`, `2001:db8:1:2::${n}`))
  t.ok(many.includes('over_request_rate_limit'), 'the limit of accounts is shared, too')
})

t.test('a signed-in person has a separate limit for guesses of the current password', async (t) => {
  const { app, person } = strict
  await person('bea@example.org')
  const { access_token } = (await strict.signIn('bea@example.org')).json<{ access_token: string }>()
  const guess = async (current_password: string) => {
    const { statusCode, headers, json } = await callAs(app, access_token, 'PUT', '/auth/v1/user', {
      password: PASSWORD,
      current_password
    })
    return [statusCode, json<{ error_code: string }>().error_code, headers['retry-after'] !== undefined]
  }
  for (let n = 0; n < 3; n++) t.same(await guess(`sbagliata-${n}`), [400, 'current_password_invalid', false])
  t.same(await guess(PASSWORD), [429, 'over_request_rate_limit', true])
  t.equal((await strict.signIn('bea@example.org')).statusCode, 200, 'signing in still works')
})

t.test('concurrent sign-ins wait in a queue', async (t) => {
  const { app, person } = usual
  await person('anna@example.org')
  const responses = await Promise.all(
    Array.from({ length: 20 }, () =>
      app.inject({
        method: 'POST',
        url: '/auth/v1/token?grant_type=password',
        payload: { email: 'anna@example.org', password: 'quella sbagliata' }
      })
    )
  )
  for (const response of responses) {
    t.match([response.statusCode, response.json()], [400, { error_code: 'invalid_credentials' }])
  }
})

t.test('a sign-in waits for its slot before its first query, and gets a 503 if 256 others wait', async (t) => {
  const { sql } = strict
  const begun = await sql.begin(async (tx) => {
    await tx`lock table counters in exclusive mode`
    const all = Array.from({ length: 4 + 256 + 10 }, () =>
      signIn(strict, { email: 'nessuno@example.org', from: '192.0.2.9' }))
    for (const { statusCode, headers } of await Promise.all(all.slice(4 + 256))) {
      t.match([statusCode, headers['retry-after']], [503, '5'])
    }
    return { all }
  })
  const statuses = (await Promise.all(begun.all)).map(({ statusCode }) => statusCode)
  t.equal(statuses.filter((status) => status === 400).length, 3)
  t.ok(statuses.every((status) => [400, 429, 503].includes(status)))
  t.equal(await attempt(strict, 'nessuno@example.org', '192.0.2.10'), 'invalid_credentials')
})

t.test('sign-ups are counted before their passwords are hashed, and do not block sign-ins', async (t) => {
  const { app } = await site(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '1' })
  const post = async (path: string, payload: object, remoteAddress: string) =>
    (await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload, remoteAddress })).statusCode
  const signUp = (n: number, from: string) => post('signup', { email: `p${n}@example.org`, password: PASSWORD }, from)
  const times = (n: number) => Array.from({ length: n }, (_, i) => i)

  const ofOne = await Promise.all(times(40).map((n) => signUp(n, '192.0.2.1')))
  t.same(ofOne.toSorted(), [...times(5).map(() => 200), ...times(35).map(() => 429)])

  const [signIns] = await Promise.all([
    Promise.all(times(15).map((n) =>
      post('token?grant_type=password', { email: `a${n}@example.org`, password: 'x' }, `198.51.100.${n}`))),
    Promise.all(times(40).map((n) => signUp(100 + n, `203.0.113.${n}`)))
  ])
  t.same(signIns, times(15).map(() => 400))
})

t.test('guesses are counted across processes, and other callers cannot evict the counters', async (t) => {
  const servers = await twoServers(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '3' })
  const email = 'anna@example.org'
  const guesses = {
    password: { url: '/auth/v1/token?grant_type=password', payload: { email, password: 'quella sbagliata' } },
    code: { url: '/auth/v1/verify', payload: { email, type: 'recovery', token: '000000' } }
  }
  for (const [secret, guess] of Object.entries(guesses)) {
    const codes = []
    for (let n = 0; n < 6; n++) {
      const response = await servers[n % 2]!.app.inject({ method: 'POST', remoteAddress: '192.0.2.1', ...guess })
      codes.push(response.headers['x-sb-error-code'])
      if (n > 2) t.ok(Number(response.headers['retry-after']) > 3500, 'the rest of the hour')
    }
    const wrong = secret === 'password' ? 'invalid_credentials' : 'otp_expired'
    t.same(codes, [wrong, wrong, wrong, ...Array(3).fill('over_request_rate_limit')], secret)
  }

  const many = await Promise.all(servers.flatMap(({ app }) => Array.from({ length: 10 }, () =>
    app.countAttempt({ name: 'prova', max: 7, windowMs: 60_000 }, ['una']))))
  t.equal(many.filter((seconds) => seconds === 0).length, 7, 'exactly the allowed number of concurrent attempts')

  const { app } = servers[0]
  const kept = JSON.stringify(await app.sql`select name, encode(subject, 'escape') as subject from counters`)
  t.match(kept, /code\/account/)
  t.notMatch(kept, /anna|192\.0/, 'no address is stored')
  await app.sql`update counters set ends_at = now() - interval '1 second' where name = 'prova'`
  t.equal(await app.countAttempt({ name: 'prova', max: 7, windowMs: 60_000 }, ['una']), 0, 'the next window')
  await app.sql`update counters set ends_at = now() - interval '1 second'`
  await app.jobs.start('old-counters', async () => {})
  while ((await app.sql`select 1 from counters`).length > 0) await sleep(10)
})
