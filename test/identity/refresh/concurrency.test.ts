import t from 'tap'
import type { FastifyInstance } from 'fastify'
import { twoServers } from '#test/identity/two-servers.ts'
import { age, chain, holder, refresh, refreshed, standing, turns, type Outcome } from './holder.ts'

const [one, two] = await twoServers(t)
const { app } = one

/** The same refresh many times at once, in turn at each of the servers. */
async function atOnce (apps: FastifyInstance[], token: string, times: number): Promise<Outcome[]> {
  return await Promise.all(Array.from({ length: times }, (_, n) => refresh(apps[n % apps.length]!, token)))
}

function tokens (outcomes: Outcome[]): Set<string> {
  return new Set(outcomes.map((outcome) => 'code' in outcome ? outcome.code : outcome.refresh))
}

t.test('ConcurrentReuse: of twenty refreshes at once one makes the next token, which all get', async (t) => {
  const anna = await holder(app)
  const outcomes = await atOnce([app], anna.first, 20)
  const [child, ...others] = tokens(outcomes)
  t.same(others, [])
  t.equal(await turns(app, anna), 1)
  for (const outcome of outcomes) if ('access' in outcome) t.same(await standing(app, outcome.access), [200, 200])
  const [grandchild, ...more] = tokens(await atOnce([app], child!, 20))
  t.same(more, [])
  t.not(grandchild, child)
  t.equal(await turns(app, anna), 2)
})

t.test('ConcurrentReuse: two servers on one database make one next token, too', async (t) => {
  const anna = await holder(one.app)
  const outcomes = await atOnce([one.app, two.app], anna.first, 20)
  const [child, ...others] = tokens(outcomes)
  t.same(others, [])
  t.equal(await turns(two.app, anna), 1)
  for (const { app } of [one, two]) {
    for (const outcome of outcomes.slice(0, 2)) {
      t.same(await standing(app, 'access' in outcome ? outcome.access : ''), [200, 200])
    }
  }
  t.not((await refreshed(two.app, child!)).refresh, child)
})

t.test('ConcurrentReuse: the current token and the one before it at once end no session', async (t) => {
  for (let round = 0; round < 5; round++) {
    const anna = await holder(app)
    const [parent, present] = await chain(app, anna.first, 2)
    await age(app, anna, 3600)
    const outcomes = await Promise.all([parent!, present!, parent!, present!].map((token) => refresh(app, token)))
    t.notOk(outcomes.some((outcome) => 'code' in outcome), JSON.stringify(outcomes.map((outcome) => 'code' in outcome)))
    t.equal(await turns(app, anna), 2)
  }
})

t.test(
  'ConcurrentReuse: a refresh that had to wait for others sees their result',
  async (t) => {
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
    t.equal(await turns(app, anna), 5)
    t.equal('refresh' in outcome && outcome.refresh, (await refreshed(app, anna.first)).refresh)
  }
)

t.test('MaliciousReuse: a reuse at one server ends the session at every other', async (t) => {
  const anna = await holder(one.app)
  const older = await chain(one.app, anna.first, 3)
  const { access, refresh: present } = await refreshed(one.app, older[2]!)
  for (const { app } of [one, two]) t.same(await standing(app, access), [200, 200])
  await age(one.app, anna, 10)
  t.same(await refresh(one.app, older[0]!), { status: 400, code: 'refresh_token_already_used' })
  await two.app.identity.waitForListeners()
  t.same(await standing(two.app, access), [401, 403])
  t.same(await refresh(two.app, present), { status: 400, code: 'refresh_token_not_found' })
})

t.test('a refresh and a logout at once leave no session behind', async (t) => {
  for (let round = 0; round < 5; round++) {
    const anna = await holder(app)
    const headers = { authorization: `Bearer ${anna.access}` }
    const [outcome, out] = await Promise.all([
      refresh(app, anna.first),
      app.inject({ method: 'POST', url: '/auth/v1/logout', headers })
    ])
    t.equal(out.statusCode, 204)
    if ('access' in outcome) t.same(await standing(app, outcome.access), [401, 403])
    t.equal(await turns(app, anna), undefined)
  }
})
