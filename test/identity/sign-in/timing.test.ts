import t from 'tap'
import { bearer } from '#test/identity/requests.ts'
import { build, type TestApp } from '#test/helper.ts'

const PASSWORD = 'una-frase-lunga-e-mia'
const HOUR = { RATE_LIMIT_WINDOW: '3600' }
/** Sign-ins of each kind whose times are compared. */
const PAIRS = 28

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

/** Somebody who can sign in with `PASSWORD`. */
async function account ({ app, token }: TestApp, email: string): Promise<string> {
  const payload = { email, password: PASSWORD, email_confirm: true }
  const created = await app.inject({
    method: 'POST',
    url: '/auth/v1/admin/users',
    headers: bearer(await token({ service: true })),
    payload
  })
  if (created.statusCode !== 200) throw new Error(created.body)
  return email
}

/** The largest distance between two empirical distributions (Kolmogorov and Smirnov), 0 to 1. */
function distance (one: number[], two: number[]): number {
  const share = (values: number[], limit: number) => values.filter((value) => value <= limit).length / values.length
  return Math.max(...[...one, ...two].map((limit) => Math.abs(share(one, limit) - share(two, limit))))
}

function median (values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

t.test('the time of a sign-in does not tell whether the account exists', async (t) => {
  const server = await build(t, { RATE_LIMIT_LOGIN_MAX: '100000' })
  const known = await account(server, 'anna@example.org')
  const timed = async (email: string) => {
    const start = process.hrtime.bigint()
    t.equal((await signIn(server, { email })).statusCode, 400)
    return Number(process.hrtime.bigint() - start) / 1e6
  }
  for (let n = 0; n < 3; n++) for (const email of [known, 'nessuno@example.org']) await timed(email)
  const times = { known: [] as number[], unknown: [] as number[] }
  // Interleaved, in changing order: whatever else the machine is doing falls on both alike.
  for (let n = 0; n < PAIRS; n++) {
    const pair = [['known', known], ['unknown', `nessuno${n}@example.org`]] as const
    for (const [who, email] of n % 2 === 0 ? pair : pair.toReversed()) times[who].push(await timed(email))
  }
  const apart = distance(times.known, times.unknown)
  t.comment(
    `medians ${median(times.known).toFixed(1)} and ${median(times.unknown).toFixed(1)} ms, distance ${apart.toFixed(2)}`
  )
  // A provider that hashes nothing for nobody is 1 apart. Of as many and as many from one distribution, one pair in ten
  // thousand is 0.6 apart.
  t.ok(apart < 0.6, `distance ${apart.toFixed(2)}`)
})

t.test('while a hash was imported no failure comes before a whole second, whatever was checked', async (t) => {
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

t.test('the answer does not tell it either: status, headers and body are the same to the byte', async (t) => {
  const server = await build(t)
  const answers = []
  // Each from an address of its own, so that what is left of the limits is the same, too.
  for (const [n, email] of [
    await account(server, 'anna@example.org'),
    'nessuno@example.org',
    'né un indirizzo'
  ].entries()) {
    for (const version of [undefined, '2024-01-01']) {
      const { statusCode, headers, body } = await signIn(server, {
        email,
        from: `192.0.2.${n}`,
        headers: version === undefined ? {} : { 'x-supabase-api-version': version }
      })
      const { date, 'x-request-id': id, 'ratelimit-reset': reset, ...rest } = headers
      t.ok(id !== undefined && date !== undefined)
      answers.push({ version, statusCode, body, headers: rest, reset: reset !== undefined })
    }
  }
  t.match(answers[0], { statusCode: 400, headers: { 'x-sb-error-code': 'invalid_credentials' } })
  for (const version of [undefined, '2024-01-01']) {
    const [first, ...others] = answers.filter((answer) => answer.version === version)
    for (const other of others) t.strictSame(other, first)
  }
})

t.test('limits of attempts to sign in', async (t) => {
  // Each test has accounts and addresses of its own.
  const five = await build(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '5' })
  const one = await build(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '1' })
  const codes = async (server: TestApp, attempts: Attempt[]) => {
    const seen: string[] = []
    for (const attempt of attempts) {
      const answer = await signIn(server, attempt)
      seen.push(answer.statusCode === 200 ? 'in' : answer.json<{ error_code: string }>().error_code)
    }
    return seen
  }
  const times = (n: number, attempt: Attempt) => Array.from({ length: n }, () => attempt)
  const wrong = (n: number) => Array.from({ length: n }, () => 'invalid_credentials')

  t.test(
    'the eleventh try in a minute, for one account from one address, is refused, with or without such an account',
    async (t) => {
      const server = await build(t)
      for (const email of [await account(server, 'anna@example.org'), 'nessuno@example.org']) {
        t.same(await codes(server, times(11, { email })), [...wrong(10), 'over_request_rate_limit'], email)
        const { statusCode, headers } = await signIn(server, { email })
        t.equal(statusCode, 429)
        t.ok(Number(headers['retry-after']) > 0 && Number(headers['retry-after']) <= 60)
      }
      t.same(await codes(server, [{ email: 'un-altro@example.org' }]), wrong(1), 'other accounts are not concerned')
    }
  )

  t.test(
    'while an address is limited the right password is refused there, and accepted from elsewhere',
    async (t) => {
      const email = await account(five, 'anna@example.org')
      await codes(five, times(5, { email }))
      const right = { email, password: PASSWORD }
      t.same(await codes(five, [right, { ...right, from: '192.0.2.2' }]), ['over_request_rate_limit', 'in'])
    }
  )

  t.test('tries from many addresses do not lock an account', async (t) => {
    const email = await account(one, 'anna@example.org')
    await codes(one, Array.from({ length: 4 }, (_, n) => ({ email, from: `198.51.100.${n}` })))
    t.same(await codes(one, [{ email, password: PASSWORD, from: '192.0.2.2' }]), ['in'])
  })

  t.test('one address may try only a limited number of accounts', async (t) => {
    t.same(
      await codes(
        one,
        Array.from({ length: 6 }, (_, n) => ({ email: `persona${n}@example.org` }))
      ),
      [...wrong(5), 'over_request_rate_limit']
    )
  })

  t.test('an address counts as one account in every spelling', async (t) => {
    const email = await account(five, 'Anna.Bea@example.org')
    const spellings = [email, email.toLowerCase(), email.toUpperCase(), ` ${email}\t`, `\n${email.toUpperCase()} `]
    t.equal(new Set(spellings).size, 5)
    t.same(
      await codes(
        five,
        [...spellings, ...spellings].map((email) => ({ email, from: '192.0.2.3' }))
      ),
      [...wrong(5), ...times(5, { email }).map(() => 'over_request_rate_limit')]
    )
  })

  t.test('a forwarded address that a caller claims is ignored', async (t) => {
    const claims = [
      'x-forwarded-for',
      'x-real-ip',
      'forwarded',
      'true-client-ip',
      'cf-connecting-ip',
      'sb-forwarded-for'
    ]
    const attempts = claims.map((name, n) => ({
      email: 'nessuno@example.org',
      from: '192.0.2.4',
      headers: { [name]: name === 'forwarded' ? `for=203.0.113.${n}` : `203.0.113.${n}` }
    }))
    t.same(await codes(one, attempts), [...wrong(1), ...attempts.slice(1).map(() => 'over_request_rate_limit')])
  })

  t.test('behind a trusted proxy the address from the proxy counts', async (t) => {
    const server = await build(t, { ...HOUR, RATE_LIMIT_LOGIN_MAX: '1', TRUST_PROXY: '192.0.2.1' })
    const from = (address: string) => ({ email: 'nessuno@example.org', headers: { 'x-forwarded-for': address } })
    t.same(
      await codes(server, [
        from('203.0.113.1'),
        from('203.0.113.2'),
        from('203.0.113.1'),
        from('203.0.113.9, 203.0.113.2')
      ]),
      [...wrong(2), 'over_request_rate_limit', 'over_request_rate_limit']
    )
  })
})
