import t from 'tap'
import { TOKEN_KINDS } from '#schemas/auth/one-time-token.ts'
import { HOME, looks, PASSWORD, site, wrong, type Site } from './mailbox.ts'

/** All that is written where a request for a mail is granted, or creates an account. */
const WRITES = [
  ['insert', 'users'],
  ['update', 'users'],
  ['insert', 'identities'],
  ['insert', 'one_time_tokens'],
  ['update', 'one_time_tokens'],
  ['insert', 'flow_states'],
  ['insert', 'mails'],
  ['insert', 'audit_log']
] as const
/** Of those that one handler answers, one is made for each of the writes, in turns. */
const REQUESTS: readonly (readonly (readonly [string, object])[])[] = [
  [['recover', {}]],
  [['otp', {}], ['otp', { create_user: false }], ['magiclink', {}]],
  [['signup', { password: PASSWORD }]],
  [['resend', { type: 'signup' }], ['resend', { type: 'email_change' }]]
]
const CHALLENGE = { code_challenge: 'x'.repeat(43), code_challenge_method: 's256' }
const known = 'ada@ospiti.example'
const unconfirmed = 'ivo@ospiti.example'
const unknown = 'eva@ospiti.example'

t.test('while the database has no room', async (t) => {
  const place = await site(t)
  const { app, person, letter, forgetCounts, client } = place
  await person(known)
  await person(unconfirmed, { email_confirm: false })
  const post = async (path: string, payload: object) =>
    await app.inject({ method: 'POST', url: `/auth/v1/${path}`, payload })

  t.test('a request for a mail fails in the same way for every address, and leaves nothing behind', async (t) => {
    // Those who have an account were sent a mail of each kind before.
    await app.sql`
      insert into one_time_tokens (user_id, kind, sent_to, otp_fingerprint, link_fingerprint, expires_at)
      select id, kind, email, ''::bytea, ''::bytea, now() + interval '1 hour'
      from users, unnest(${`{${TOKEN_KINDS.join()}}`}::text[]) as kind`
    for (const [w, [operation, table]] of WRITES.entries()) {
      const heal = await fillDisk(place, operation, table)
      for (const alike of REQUESTS) {
        const [path, body] = alike[w % alike.length]!
        await forgetCounts()
        const [theirs, ...mine] = await Promise.all([unknown, known, unconfirmed].map(async (email) =>
          looks(await post(path, { email, ...body, ...CHALLENGE }))))
        const which = `${path} ${JSON.stringify(body)}: ${operation} ${table}`
        t.match(theirs, { status: 503, headers: { 'retry-after': true } }, which)
        for (const each of mine) t.same(withoutId(each), withoutId(theirs!), which)
      }
      await heal()
    }
    t.equal((await app.sql`select 1 from users`).length, 2)
    t.same(await app.sql`select 1 from mails union all select 1 from one_time_tokens where link_fingerprint <> ''`, [])
    await app.sql`delete from one_time_tokens`
  })

  t.test('a refusal waits for no mail that is being written: that takes longer for who has an account', async (t) => {
    await forgetCounts()
    t.equal((await post('recover', { email: known })).statusCode, 200)
    await letter()
    await app.sql.begin(async (sql) => {
      await sql`select from counters where name = 'mail/account' for update`
      t.equal((await post('recover', { email: known })).statusCode, 429)
    })
  })

  t.test('a wrong code is answered in the same way for an address that was sent one', async (t) => {
    await forgetCounts()
    await post('recover', { email: known })
    const { code } = await letter()
    const heal = await fillDisk(place, 'update', 'one_time_tokens')
    for (const type of ['recovery', 'email', 'email_change']) {
      const [mine, theirs] = await Promise.all([known, unknown].map(async (email) =>
        looks(await post('verify', { email, type, token: wrong(code) }))))
      t.match(theirs, { status: 503 }, type)
      t.same(withoutId(mine!), withoutId(theirs!), type)
    }
    await heal()
    t.equal((await post('verify', { email: known, type: 'recovery', token: code })).statusCode, 200)
  })

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

  t.test('so may a change of address', async (t) => {
    await forgetCounts()
    const { auth } = client()
    await auth.signInWithPassword({ email: known, password: PASSWORD })
    const change = async () => (await auth.updateUser({ email: 'ada@casa.example' }, { emailRedirectTo: HOME })).error
    const heal = await fillDisk(place, 'insert', 'mails')
    t.equal((await change())?.status, 503)
    await heal()
    t.equal(await change(), null)
    t.equal((await change())?.code, 'over_email_send_rate_limit')
  })
})

t.test('requests that fail count for their caller: nobody has endless tries of them', async (t) => {
  const place = await site(t, { RATE_LIMIT_LOGIN_MAX: '1' })
  await fillDisk(place, 'insert', 'mails')
  const statuses = []
  for (let time = 1; time <= 6; time++) {
    const { statusCode } = await place.app.inject({
      method: 'POST', url: '/auth/v1/recover', payload: { email: unknown }
    })
    statuses.push(statusCode)
  }
  t.same(statuses, [503, 503, 503, 503, 503, 429])
})

/** Has every row that is written so meet a full disk. @returns what makes room again */
async function fillDisk ({ app: { sql } }: Site, operation: string, table: string): Promise<() => Promise<void>> {
  await sql`create or replace function no_room () returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'no room';
  end $$`
  await sql.unsafe(`create trigger no_room before ${operation} on ${table} for each row execute function no_room()`)
  return async () => { await sql.unsafe(`drop trigger no_room on ${table}`) }
}

/** A failure is named in its answer. */
function withoutId ({ body, ...rest }: ReturnType<typeof looks>) {
  return { ...rest, body: body.replace(/"error_id":"[^"]*"/, '"error_id":""') }
}
