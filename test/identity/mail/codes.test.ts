import t from 'tap'
import type { TokenKind } from '#schemas/auth/one-time-token.ts'
import { issueToken, takeByCode, takeByLink } from '#src/identity/sign-in/one-time-tokens.ts'
import { createUser } from '#src/identity/people/users.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { testDatabase } from '#test/database.ts'
import { site, wrong, type Site } from './mailbox.ts'

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

  t.test(
    'after five wrong codes the right one is void, too, while the link stays good',
    async (t) => {
      const { email, code, link } = await recovery('ada')
      for (let i = 0; i < 5; i++) {
        t.equal(await verified(place, { email, token: wrong(code), type: 'recovery' }), 'otp_expired')
      }
      t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
      t.equal(await verified(place, { token_hash: link, type: 'recovery' }), 'a session')
    }
  )

  t.test('after four wrong codes the right one is good', async (t) => {
    const { email, code } = await recovery('bea')
    for (let i = 0; i < 4; i++) await verified(place, { email, token: wrong(code), type: 'recovery' })
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'a session')
  })

  t.test('a code is good as people group it, with blanks and dashes', async (t) => {
    for (const [name, between] of [['bianca', ' '], ['bruna', '-'], ['berta', ' – ']] as const) {
      const { email, code } = await recovery(name)
      const token = code.slice(0, 3) + between + code.slice(3)
      t.equal(await verified(place, { email, token, type: 'recovery' }), 'a session', token)
    }
  })

  t.test('of many guesses at once at most five count', async (t) => {
    const { email, code } = await recovery('carla')
    await Promise.all(
      Array.from({ length: 20 }, () => verified(place, { email, token: wrong(code), type: 'recovery' }))
    )
    t.same([...await app.sql`select attempts from one_time_tokens where sent_to = ${email}`], [{ attempts: 5 }])
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
  })

  t.test('a code and a link are good once, also for many requests at once', async (t) => {
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

  t.test('after 24 hours code and link are void', async (t) => {
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

  t.test('a code or link is good for the types of its kind alone; a try for another does not use it up', async (t) => {
    const made: [Type, Type[], string, { email_otp: string, hashed_token: string }][] = []
    // A proven account: the first proof of an address ends all other codes of the account.
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
      t.not(
        await verified(place, { token_hash: hash, type: types.at(-1)! }),
        'otp_expired',
        `${kind} as ${types.at(-1)}`
      )
    }
  })

  t.test('a code is good only for its own person', async (t) => {
    const mara = await recovery('mara')
    await recovery('nora')
    t.equal(await verified(place, { email: 'nora@ospiti.example', token: mara.code, type: 'recovery' }), 'otp_expired')
    t.equal(await verified(place, { email: mara.email, token: mara.code, type: 'recovery' }), 'a session')
  })

  t.test('codes and links that went to the account’s former address are void', async (t) => {
    const { email, link, code } = await recovery('olga')
    await app.sql`update users set email = 'olga@altrove.example' where email = ${email}`
    t.equal(await verified(place, { email, token: code, type: 'recovery' }), 'otp_expired')
    const second = await recovery('pia')
    await app.sql`update users set email = 'pia@altrove.example' where email = ${second.email}`
    t.equal(await verified(place, { token_hash: second.link, type: 'recovery' }), 'otp_expired')
    t.ok(link)
  })

  t.test('codes and links of a deleted account are void', async (t) => {
    const { email, link } = await recovery('rita')
    const { data: { users } } = await admin.listUsers()
    await admin.deleteUser(users.find((user) => user.email === email)!.id, true)
    t.equal(await verified(place, { token_hash: link, type: 'recovery' }), 'otp_expired')
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

  t.test('a malformed link is refused with a 4xx', async (t) => {
    for (const link of ['\0', '\ud800', '0'.repeat(64), "' or 1=1", '%00', '']) {
      t.match(
        await app.inject({
          method: 'POST',
          url: '/auth/v1/verify',
          payload: { type: 'recovery', token_hash: link, email: 'x@ospiti.example', token: link }
        }),
        { statusCode: /^4/ }
      )
      t.match(await app.inject({ url: '/auth/v1/verify', query: { type: 'recovery', token: link } }), {
        statusCode: 303
      })
    }
  })

  t.test('the database has neither codes nor links', async (t) => {
    const { code, link } = await recovery('sara')
    const [row] = await app.sql`select * from one_time_tokens where sent_to = 'sara@ospiti.example'`
    const text =
      JSON.stringify(row, (_key, value: unknown) => (Buffer.isBuffer(value) ? value.toString('hex') : value)) +
      Object.values(row!)
        .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') : ''))
        .join()
    t.notMatch(text, link)
    t.notMatch(text, Buffer.from(link, 'hex').toString('latin1'))
    t.notOk(Object.values(row!).some((value) => value === code))
  })
})

t.test('guesses at one address are limited per hour, also across new mails, and links are not limited', async (t) => {
  const place = await site(t, { RATE_LIMIT_LOGIN_MAX: '6' })
  const { auth: { admin } } = await place.administrator()
  const email = 'ada@ospiti.example'
  await place.person(email)
  const make = async () => (await admin.generateLink({ type: 'recovery', email })).data.properties!
  for (let i = 0; i < 6; i++) {
    t.equal(
      await verified(place, {
        email: i % 2 ? email : ' ADA@ospiti.example',
        token: wrong((await make()).email_otp),
        type: 'recovery'
      }),
      'otp_expired'
    )
  }
  const last = await make()
  t.equal(await verified(place, { email, token: last.email_otp, type: 'recovery' }), 'over_request_rate_limit')
  t.equal(await verified(place, { token_hash: last.hashed_token, type: 'recovery' }), 'a session')
})

t.test('the codes and links that one caller tries are limited', async (t) => {
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
  const answer = await place.app.inject({
    method: 'POST',
    url: '/auth/v1/recover',
    payload: { email: 'y@ospiti.example' }
  })
  t.match(answer, { statusCode: 429, headers: { 'x-sb-error-code': 'over_request_rate_limit' } })
})

t.test('the secrets of a token', async (t) => {
  const { db, sql } = await testDatabase(t)
  const keys = createKeys(Buffer.alloc(32, 1))
  const users = await db.transaction(async (tx) => [
    await createUser(tx, { email: 'a@ospiti.example', confirmed: true }),
    await createUser(tx, { email: 'b@ospiti.example', confirmed: true })
  ])
  const issue = (user: number, kind: TokenKind, sent_to: string) =>
    issueToken(db, keys, { user_id: users[user]!.id, kind, sent_to })

  t.test('the fingerprint of the same digits differs between people, kinds and keys', async (t) => {
    const kinds = ['recovery', 'magiclink'] as const
    const seen = new Set<string>()
    for (const user of [0, 1]) for (const kind of kinds) await issue(user, kind, `${user}@ospiti.example`)
    // The digits of one, given to all: their fingerprints still differ.
    const rows = await sql<
      { otp_fingerprint: Buffer; link_fingerprint: Buffer }[]
    >`select otp_fingerprint, link_fingerprint from one_time_tokens`
    for (const { otp_fingerprint, link_fingerprint } of rows) {
      for (const each of [otp_fingerprint, link_fingerprint]) seen.add(each.toString('hex'))
    }
    t.equal(seen.size, 8)
    const { code } = await issue(0, 'recovery', 'a@ospiti.example')
    await sql`
      update one_time_tokens set otp_fingerprint = (
        select otp_fingerprint from one_time_tokens where user_id = ${users[0]!.id} and kind = 'recovery'
      )`
    const take = (address: string, kind: TokenKind) =>
      db.transaction((tx) => takeByCode(tx, keys, { to: { address }, code, kinds: [kind] }))
    t.equal(await take('1@ospiti.example', 'recovery'), undefined)
    t.equal(await take('0@ospiti.example', 'magiclink'), undefined)
    const { link } = await issue(1, 'recovery', 'b@ospiti.example')
    const other = createKeys(Buffer.alloc(32, 2))
    t.equal(await db.transaction((tx) => takeByLink(tx, other, link, ['recovery'])), undefined)
    t.match(await db.transaction((tx) => takeByLink(tx, keys, link, ['recovery'])), { user_id: users[1]!.id })
    t.match(await take('a@ospiti.example', 'recovery'), { user_id: users[0]!.id })
  })

  t.test('a code has six random digits, and a link has 32 random bytes', async (t) => {
    const secrets = await Promise.all(
      Array.from({ length: 60 }, async () => await issue(0, 'invite', 'a@ospiti.example'))
    )
    t.ok(secrets.every(({ code, link }) => /^\d{6}$/.test(code) && /^[\da-f]{64}$/.test(link)))
    for (let i = 0; i < 6; i++) t.ok(new Set(secrets.map(({ code }) => code[i])).size > 3, `digit ${i}`)
  })
})

/** What an attempt comes to: a session, or the code of its error. */
async function verified ({ app }: Site, payload: object): Promise<string> {
  const answer = await app.inject({ method: 'POST', url: '/auth/v1/verify', payload })
  if (answer.statusCode !== 200) return String(answer.headers['x-sb-error-code'])
  return 'access_token' in answer.json() ? 'a session' : answer.json().msg
}
