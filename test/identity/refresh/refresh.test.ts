import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { encodeRefreshToken } from '#src/identity/tokens/refresh-token.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { age, chain, counter, holder, type Holder, type Outcome, refresh, refreshed, sessionStatus } from './holder.ts'

const NOT_FOUND = { status: 400, code: 'refresh_token_not_found' }

const [one, two] = await twoServers(t)
const { app, logs } = one

async function reuses (sessionId: string) {
  return await app.sql`
    select actor, action, details from audit_log
    where object = ${`session:${sessionId}`} and action = 'sessioni_revocate'`
}

t.test('NormalUse: no token is in the database, in any form', async (t) => {
  const anna = await holder(app)
  const tokens = await chain(app, anna.first, 3)
  const rows = await app.sql<{ row: string }[]>`
    select s::text as row from sessions s
    union all select u::text from users u
    union all select a::text from audit_log a
    union all select k::text from signing_keys k`
  const all = rows.map(({ row }) => row).join('\n') + JSON.stringify(logs)
  for (const token of tokens) {
    const bytes = Buffer.from(token, 'base64url')
    for (const form of [token, bytes.toString('hex'), bytes.subarray(-20, -4).toString('hex')]) {
      t.notOk(all.includes(form))
    }
  }
})

/** A minimal model of the rules. Times are in seconds, by a clock that only the test advances. */
class Rules {
  now = 0
  counter = 0
  refreshedAt = 0
  /** The day of the session's last doubtful repeat, and the number of repeats on that day. */
  doubtful = { day: 0, count: 0 }
  isThere = true

  refresh (
    behind: number
  ): 'rotate' | 'repeat' | 'refresh_token_already_used' | 'refresh_token_not_found' | 'session_expired' {
    if (!this.isThere) return 'refresh_token_not_found'
    if (this.hasExpired) return 'session_expired'
    if (behind === 0) {
      this.counter++
      this.refreshedAt = this.now
      return 'rotate'
    }
    const isLate = this.now - this.refreshedAt >= 10
    if (behind === 1 && !isLate) return 'repeat'
    const day = Math.floor(this.now / DAY)
    this.doubtful = { day, count: this.doubtful.day === day ? this.doubtful.count + 1 : 1 }
    if ((behind === 1 || !isLate) && this.doubtful.count <= 3) return 'repeat'
    this.isThere = false
    return 'refresh_token_already_used'
  }

  get hasExpired (): boolean {
    return this.now >= 90 * DAY || this.now - this.refreshedAt >= 14 * DAY
  }
}

const DAY = 86_400

type Step = { do: 'refresh', behind: number } | { do: 'wait', seconds: number } | { do: 'logout' }

// The first waits are shorter than the interval, even with the duration of a request. The others are not.
const waits = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(1, 3, 5) },
  { weight: 8, arbitrary: fc.constantFrom(10, 11, 60, 3599) },
  { weight: 1, arbitrary: fc.constantFrom(13 * DAY, 14 * DAY) }
)
const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.constantFrom(0, 0, 0, 0, 1, 1, 2, 3).map((behind) => ({ do: 'refresh' as const, behind }))
  },
  { weight: 10, arbitrary: waits.map((seconds) => ({ do: 'wait' as const, seconds })) },
  { weight: 1, arbitrary: fc.constant({ do: 'logout' as const }) }
)

/** Sets the age of the row by the model, so that a step's real duration does not matter. */
async function setClock (rules: Rules, { sessionId }: Holder): Promise<void> {
  const ago = (seconds: number) => app.sql`now() - ${rules.now - seconds} * interval '1 second'`
  await app.sql` update sessions set created_at = ${ago(0)}, not_after = ${ago(90 * DAY)},
      refreshed_at = ${rules.counter === 0 ? null : ago(rules.refreshedAt)} where id = ${sessionId}`
  await app.identity.waitForListeners()
}

async function behaves (list: Step[], tally: Map<string, number>): Promise<void> {
  const rules = new Rules()
  const anna = await holder(app)
  const tokens = [anna.first]
  let access = anna.access
  for (const step of list) {
    if (step.do === 'wait') {
      rules.now += step.seconds
      continue
    }
    await setClock(rules, anna)
    if (step.do === 'logout') {
      const out = await app.inject({
        method: 'POST', url: '/auth/v1/logout?scope=local', headers: { authorization: `Bearer ${access}` }
      })
      assert.equal(out.statusCode, rules.isThere && rules.now < 90 * DAY ? 204 : 403)
      if (out.statusCode === 204) rules.isThere = false
    } else {
      const token = tokens.at(-1 - step.behind) ?? tokens[0]!
      const expected = rules.refresh(tokens.length - 1 - tokens.indexOf(token))
      tally.set(expected, (tally.get(expected) ?? 0) + 1)
      const outcome = await refresh(app, token)
      if ('code' in outcome) {
        assert.deepEqual(outcome, { status: 400, code: expected })
      } else {
        access = outcome.access
        if (expected === 'rotate') tokens.push(outcome.refresh)
        else assert.deepEqual([expected, outcome.refresh], ['repeat', tokens.at(-1)])
      }
    }
    assert.equal(new Set(tokens).size, rules.counter + 1)
    assert.equal(await counter(app, anna), rules.isThere ? rules.counter : undefined)
    assert.deepEqual(await sessionStatus(app, access), rules.isThere && rules.now < 90 * DAY ? [200, 200] : [401, 403])
  }
}

t.test('refreshes follow the rules in every sequence of events', async (t) => {
  const tally = new Map<string, number>()
  await t.resolves(
    fc.assert(
      fc.asyncProperty(fc.array(steps, { minLength: 3, maxLength: 25, size: 'max' }), (list) => behaves(list, tally)),
      { numRuns: 16 }
    )
  )
  t.comment(JSON.stringify(Object.fromEntries(tally)))
})

t.test('refreshes follow the rules in the most important sequences', async (t) => {
  const turn = (behind = 0): Step => ({ do: 'refresh', behind })
  const wait = (seconds: number): Step => ({ do: 'wait', seconds })
  for (const list of [
    [turn(), turn(), turn(), wait(10), turn(2), turn()],
    [turn(), turn(), wait(5), turn(2), turn(1), turn(), wait(10), turn(1), turn(3)],
    [...Array.from({ length: 7 }, () => [wait(13 * DAY - 1), turn()]).flat(), turn(1)],
    [turn(), wait(14 * DAY), turn(1), turn()],
    [turn(), { do: 'logout' }, turn(), turn(1), { do: 'logout' }],
    [turn(), wait(60), turn(1), wait(3599), turn(1), turn(1), turn(1), turn()],
    [turn(), ...Array.from({ length: 4 }, () => [wait(3599), turn(), wait(60), turn(1)]).flat(), turn()],
    [turn(), ...Array.from({ length: 9 }, () => [turn(), wait(DAY / 3), turn(1)]).flat(), turn()]
  ] satisfies Step[][]) await t.resolves(behaves(list, new Map()))
})

/** Many concurrent refreshes with one token, alternately at each server. */
async function atOnce (apps: FastifyInstance[], token: string, times: number): Promise<Outcome[]> {
  return await Promise.all(Array.from({ length: times }, (_, n) => refresh(apps[n % apps.length]!, token)))
}

function tokens (outcomes: Outcome[]): Set<string> {
  return new Set(outcomes.map((outcome) => 'code' in outcome ? outcome.code : outcome.refresh))
}

t.test('ConcurrentReuse: two servers on one database also create only one next token', async (t) => {
  const anna = await holder(one.app)
  const outcomes = await atOnce([one.app, two.app], anna.first, 20)
  const [child, ...others] = tokens(outcomes)
  t.same(others, [])
  t.equal(await counter(two.app, anna), 1)
  for (const { app } of [one, two]) {
    for (const outcome of outcomes.slice(0, 2)) {
      t.same(await sessionStatus(app, 'access' in outcome ? outcome.access : ''), [200, 200])
    }
  }
  t.not((await refreshed(two.app, child!)).refresh, child)
})

t.test('ConcurrentReuse: the current and the previous token at the same time end no session', async (t) => {
  for (let round = 0; round < 5; round++) {
    const anna = await holder(app)
    const [parent, present] = await chain(app, anna.first, 2)
    await age(app, anna, 3600)
    const outcomes = await Promise.all([parent!, present!, parent!, present!].map((token) => refresh(app, token)))
    t.notOk(outcomes.some((outcome) => 'code' in outcome), JSON.stringify(outcomes.map((outcome) => 'code' in outcome)))
    t.equal(await counter(app, anna), 2)
  }
})

t.test('ConcurrentReuse: a refresh that waited for others sees their result', async (t) => {
  const anna = await holder(app)
  const waited = await app.sql.begin(async (sql) => {
    await sql`update sessions set refresh_counter = 5, refreshed_at = now() where id = ${anna.sessionId}`
    const outcome = refresh(app, anna.first)
    const blocked = () =>
      sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    for (let rows = await blocked(); rows.length === 0;) rows = await blocked()
    return { outcome }
  })
  const outcome = await waited.outcome
  t.notOk('code' in outcome)
  t.equal(await counter(app, anna), 5)
  t.equal('refresh' in outcome && outcome.refresh, (await refreshed(app, anna.first)).refresh)
})

t.test('MaliciousReuse: a reuse at one server ends the session at every other', async (t) => {
  const anna = await holder(one.app)
  const older = await chain(one.app, anna.first, 3)
  const { access, refresh: present } = await refreshed(one.app, older[2]!)
  for (const { app } of [one, two]) t.same(await sessionStatus(app, access), [200, 200])
  await age(one.app, anna, 10)
  t.same(await refresh(one.app, older[0]!), { status: 400, code: 'refresh_token_already_used' })
  await two.app.identity.waitForListeners()
  t.same(await sessionStatus(two.app, access), [401, 403])
  t.same(await refresh(two.app, present), { status: 400, code: 'refresh_token_not_found' })
  t.match(await reuses(anna.sessionId), [{ actor: 'sistema', details: { reason: 'refresh_token_reused' } }])
})

t.test('after a concurrent refresh and logout no session is left', async (t) => {
  for (let round = 0; round < 5; round++) {
    const anna = await holder(app)
    const headers = { authorization: `Bearer ${anna.access}` }
    const [outcome, out] = await Promise.all([
      refresh(app, anna.first),
      app.inject({ method: 'POST', url: '/auth/v1/logout', headers })
    ])
    t.equal(out.statusCode, 204)
    if ('access' in outcome) t.same(await sessionStatus(app, outcome.access), [401, 403])
    t.equal(await counter(app, anna), undefined)
  }
})

const EXPIRED = { status: 400, code: 'session_expired' }

t.test('SessionTimebox: a session and its access token end after ninety days', async (t) => {
  const anna = await holder(app)
  const [row] = await app.sql<
    { days: number }[]
  >`select extract(epoch from not_after - created_at)::float / 86400 as days from sessions where id = ${anna.sessionId}`
  t.equal(Math.round(row!.days), 90)
  await app.sql`update sessions set not_after = now() + interval '1 minute' where id = ${anna.sessionId}`
  const { access, refresh: last } = await refreshed(app, anna.first)
  t.same(await sessionStatus(app, access), [200, 200])
  await age(app, anna, 60)
  t.same(await refresh(app, last), EXPIRED)
  t.same(await sessionStatus(app, access), [401, 403], 'the access token has expired')
})

t.test('a token of a missing session, or with a future counter, is refused', async (t) => {
  const { refreshSecret } = app.identity.signer
  t.same(await refresh(app, encodeRefreshToken(refreshSecret, { sessionId: randomUUID(), counter: 0 })), NOT_FOUND)
  const anna = await holder(app)
  for (const counter of [1, 2, 2 ** 31 - 1]) {
    t.same(await refresh(app, encodeRefreshToken(refreshSecret, { sessionId: anna.sessionId, counter })), NOT_FOUND)
  }
  t.not((await refreshed(app, anna.first)).refresh, anna.first, 'the session continues')
})
