import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { as } from '#test/identity/requests.ts'
import { site } from '#test/identity/mail/mailbox.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { held, PASSWORD, type Held } from './held.ts'

const HOUR = { RATE_LIMIT_WINDOW: '3600' }

async function attempt ({ app }: Held, email: string, from: string): Promise<string> {
  const answer = await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=password',
    remoteAddress: from,
    payload: { email, password: 'quella sbagliata' }
  })
  return answer.json<{ error_code: string }>().error_code
}

/** Few tries in an hour: each test has accounts and addresses of its own. */
const strict = await held(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '3' })
const usual = await held(t)

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
    'invalid_credentials',
    'invalid_credentials',
    'invalid_credentials',
    'over_request_rate_limit',
    'over_request_rate_limit'
  ])
  t.same(
    await from('anna@example.org', '2001:db8:1:3::1', '::ffff:192.0.2.1', '::ffff:192.0.2.2'),
    ['invalid_credentials', 'invalid_credentials', 'invalid_credentials'],
    'others are others'
  )
  const many = []
  for (let n = 0; n < 13; n++) many.push(await attempt(strict, `persona${n}@example.org`, `2001:db8:1:2::${n}`))
  t.ok(many.includes('over_request_rate_limit'), 'nor may they try many accounts')
})

t.test(
  'a signed-in person has a limit of guesses at their password, which is not shared with other people',
  async (t) => {
    const { app, person, signIn } = strict
    await person('bea@example.org')
    const { access_token } = (await signIn('bea@example.org')).json<{ access_token: string }>()
    const guess = async (current_password: string) => {
      const { statusCode, headers, json } = await as(app, access_token, 'PUT', '/auth/v1/user', {
        password: PASSWORD,
        current_password
      })
      return [statusCode, json<{ error_code: string }>().error_code, headers['retry-after'] !== undefined]
    }
    for (let n = 0; n < 3; n++) t.same(await guess(`sbagliata-${n}`), [400, 'current_password_invalid', false])
    t.same(await guess(PASSWORD), [429, 'over_request_rate_limit', true])
    t.equal((await signIn('bea@example.org')).statusCode, 200, 'signing in is not hindered')
  }
)

t.test('sign-ins beyond the capacity are answered 503 with Retry-After, as an error of the protocol', async (t) => {
  const { app, person, logs } = usual
  await person('anna@example.org')
  const answers = await Promise.all(
    Array.from({ length: 60 }, () =>
      app.inject({
        method: 'POST',
        url: '/auth/v1/token?grant_type=password',
        payload: { email: 'anna@example.org', password: 'quella sbagliata' }
      })
    )
  )
  const refused = answers.filter(({ statusCode }) => statusCode === 503)
  t.ok(refused.length > 0 && refused.length < 60)
  for (const { statusCode, json, headers } of answers) {
    if (statusCode === 400) t.match(json(), { error_code: 'invalid_credentials' })
    else {
      t.match(
        [statusCode, json(), headers],
        [503, { code: 503, error_code: 'unexpected_failure' }, { 'retry-after': '5' }]
      )
    }
  }
  t.same(logs.filter(({ level }) => Number(level) >= 50), [], 'it is no fault')
})

t.test('sign-ups are counted before their passwords are hashed, and those who sign in come first', async (t) => {
  const { app } = await site(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '1' })
  const post = async (path: string, payload: object, remoteAddress: string) =>
    (await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload, remoteAddress })).statusCode
  const signUp = (n: number, from: string) => post('signup', { email: `p${n}@example.org`, password: PASSWORD }, from)
  const times = (n: number) => Array.from({ length: n }, (_, i) => i)

  const ofOne = await Promise.all(times(40).map((n) => signUp(n, '192.0.2.1')))
  t.same(ofOne.toSorted(), [...times(5).map(() => 200), ...times(35).map(() => 429)])

  const [signIns, signUps] = await Promise.all([
    Promise.all(times(15).map((n) =>
      post('token?grant_type=password', { email: `a${n}@example.org`, password: 'x' }, `198.51.100.${n}`))),
    Promise.all(times(40).map((n) => signUp(100 + n, `203.0.113.${n}`)))
  ])
  t.same(signIns, times(15).map(() => 400), 'no sign-in is turned away')
  t.ok(signUps.includes(503), 'sign-ups are')
})

t.test('a password of more than 4096 characters is refused without being hashed', async (t) => {
  const { app } = usual
  for (const [length, status] of [[4096, 400], [4097, 400], [30_000, 400], [40_000, 413]] as const) {
    const answer = await app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=password',
      payload: { email: 'anna@example.org', password: 'x'.repeat(length) }
    })
    t.match(
      [answer.statusCode, answer.json()],
      [status, { error_code: length === 4096 ? 'invalid_credentials' : 'validation_failed' }],
      String(length)
    )
  }
})

t.test('guesses are counted for all processes together, where no other caller pushes them out', async (t) => {
  const servers = await twoServers(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '3' })
  const email = 'anna@example.org'
  const guesses = {
    password: { url: '/auth/v1/token?grant_type=password', payload: { email, password: 'quella sbagliata' } },
    code: { url: '/auth/v1/verify', payload: { email, type: 'recovery', token: '000000' } }
  }
  for (const [secret, guess] of Object.entries(guesses)) {
    const codes = []
    for (let n = 0; n < 6; n++) {
      const answer = await servers[n % 2]!.app.inject({ method: 'POST', remoteAddress: '192.0.2.1', ...guess })
      codes.push(answer.headers['x-sb-error-code'])
      if (n > 2) t.ok(Number(answer.headers['retry-after']) > 3500, 'the rest of the hour')
    }
    const wrong = secret === 'password' ? 'invalid_credentials' : 'otp_expired'
    t.same(codes, [wrong, wrong, wrong, ...Array(3).fill('over_request_rate_limit')], secret)
  }

  const many = await Promise.all(servers.flatMap(({ app }) => Array.from({ length: 10 }, () =>
    app.countTry({ name: 'prova', max: 7, windowMs: 60_000 }, ['una']))))
  t.equal(many.filter((seconds) => seconds === 0).length, 7, 'of many at once exactly as many as there may be')

  const { app } = servers[0]
  const kept = JSON.stringify(await app.sql`select name, encode(subject, 'escape') as subject from counters`)
  t.match(kept, /code\/account/)
  t.notMatch(kept, /anna|192\.0/, 'no address is kept')
  await app.sql`update counters set ends_at = now() - interval '1 second' where name = 'prova'`
  t.equal(await app.countTry({ name: 'prova', max: 7, windowMs: 60_000 }, ['una']), 0, 'a new window')
  await app.sql`update counters set ends_at = now() - interval '1 second'`
  await app.jobs.start('old-counters', async () => {})
  while ((await app.sql`select 1 from counters`).length > 0) await sleep(10)
})
