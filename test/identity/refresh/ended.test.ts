import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { encodeRefreshToken } from '#src/identity/tokens/refresh-token.ts'
import { deleteUser } from '#src/identity/people/users.ts'
import { forgetKey } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { age, chain, holder, refresh, refreshed, standing, turns } from './holder.ts'

const DAY = 86_400
const EXPIRED = { status: 400, code: 'session_expired' }
const NOT_FOUND = { status: 400, code: 'refresh_token_not_found' }

const { app, url, call } = await build(t)

/** The ids of the sessions that somebody is shown as their own. */
async function shown (access: string): Promise<string[]> {
  const answer = await app.inject({ url: '/api/sessions', headers: { authorization: `Bearer ${access}` } })
  return answer.json<{ id: string }[]>().map(({ id }) => id)
}

t.test('SessionTimebox: after ninety days a session has ended, however often it was refreshed', async (t) => {
  const anna = await holder(app)
  const [row] = await app.sql<
    { days: number }[]
  >`select extract(epoch from not_after - created_at)::float / 86400 as days from sessions where id = ${anna.sessionId}`
  t.equal(Math.round(row!.days), 90)
  let token = anna.first
  for (let day = 0; day < 89; day += 10) {
    await age(app, anna, 10 * DAY - (day === 80 ? DAY : 0))
    token = (await refreshed(app, token)).refresh
  }
  await app.sql`update sessions set not_after = now() + interval '1 minute' where id = ${anna.sessionId}`
  const { access, refresh: last } = await refreshed(app, token)
  t.same(await standing(app, access), [200, 200])
  await age(app, anna, 60)
  t.same(await refresh(app, last), EXPIRED)
  t.same(await standing(app, access), [401, 403], 'and so has its access token')
})

t.test(
  'InactivityTimeout: after fourteen days without a refresh a session has ended, and is not listed any more',
  async (t) => {
    const anna = await holder(app, 'anna')
    await age(app, anna, 14 * DAY - 60)
    const { refresh: token } = await refreshed(app, anna.first)
    await age(app, anna, 14 * DAY - 60)
    const { refresh: next } = await refreshed(app, token)
    const { sessionId, access } = await holder(app, 'anna')
    t.same(await shown(access), [sessionId, anna.sessionId])
    await age(app, anna, 14 * DAY)
    t.same(await refresh(app, next), EXPIRED)
    t.same(await shown(access), [sessionId])
  }
)

t.test('InactivityTimeout: a session that was never refreshed counts from its beginning', async (t) => {
  const anna = await holder(app)
  await age(app, anna, 14 * DAY)
  t.same(await refresh(app, anna.first), EXPIRED)
})

t.test('RefreshWithExpiredSession: an expired session stays expired for each of its tokens', async (t) => {
  const anna = await holder(app)
  const tokens = await chain(app, anna.first, 3)
  await app.sql`update sessions set not_after = now() where id = ${anna.sessionId}`
  for (const token of [...tokens, ...tokens]) t.same(await refresh(app, token), EXPIRED)
  t.equal(await turns(app, anna), 2)
})

t.test('a banned person cannot refresh, and their session goes on when the ban ends', async (t) => {
  const anna = await holder(app)
  const [older, present] = await chain(app, anna.first, 2)
  await app.sql`update users set banned_until = now() + interval '1 hour' where id = ${anna.userId}`
  for (const token of [older!, present!]) t.same(await refresh(app, token), { status: 400, code: 'user_banned' })
  t.equal(await turns(app, anna), 1)
  await app.sql`update users set banned_until = now() where id = ${anna.userId}`
  t.not((await refreshed(app, present!)).refresh, present)
})

t.test('a deleted person cannot refresh', async (t) => {
  for (const soft of [false, true]) {
    const anna = await holder(app)
    await app.db.transaction(async (tx) => { await deleteUser(tx, anna.userId, soft) })
    t.same(await refresh(app, anna.first), NOT_FOUND)
  }
})

t.test('after a sign-out none of the session’s tokens can be refreshed', async (t) => {
  const anna = await holder(app)
  const tokens = await chain(app, anna.first, 3)
  const out = await app.inject({
    method: 'POST',
    url: '/auth/v1/logout?scope=local',
    headers: { authorization: `Bearer ${anna.access}` }
  })
  t.equal(out.statusCode, 204)
  for (const token of tokens) t.same(await refresh(app, token), NOT_FOUND)
})

t.test('a token of another installation is refused, even for a session of the same id', async (t) => {
  const there = await build(t, { MASTER_KEY: randomBytes(32).toString('base64') })
  const anna = await holder(there.app)
  t.same(await refresh(app, anna.first), NOT_FOUND)
  await forgetKey(app.sql)
  const sameDatabase = await build(t, { MASTER_KEY: randomBytes(32).toString('base64'), DATABASE_URL: url })
  const piero = await holder(app)
  t.same(await refresh(sameDatabase.app, piero.first), NOT_FOUND)
  t.equal(await turns(app, piero), 0)
})

t.test('a token of a missing session, or with a counter to come, is refused', async (t) => {
  const { refreshSecret } = app.identity.signer
  t.same(await refresh(app, encodeRefreshToken(refreshSecret, { sessionId: randomUUID(), counter: 0 })), NOT_FOUND)
  const anna = await holder(app)
  for (const counter of [1, 2, 2 ** 31 - 1]) {
    t.same(await refresh(app, encodeRefreshToken(refreshSecret, { sessionId: anna.sessionId, counter })), NOT_FOUND)
  }
  t.not((await refreshed(app, anna.first)).refresh, anna.first, 'and the session is none the worse for it')
})

t.test('RateLimitTokenRefresh: refreshes count against the general limit, which ends no session', async (t) => {
  const strict = await build(t, { RATE_LIMIT_MAX: '6', RATE_LIMIT_WINDOW: '3600' })
  const anna = await holder(strict.app)
  const tokens = await chain(strict.app, anna.first, 7)
  const ask = async (remoteAddress?: string) =>
    await strict.app.inject({
      method: 'POST',
      url: '/auth/v1/token?grant_type=refresh_token',
      payload: { refresh_token: tokens.at(-1)! },
      ...(remoteAddress ? { remoteAddress } : {})
    })
  const limited = await ask()
  t.match(limited, {
    statusCode: 429,
    headers: { 'retry-after': /^\d+$/, 'x-sb-error-code': 'over_request_rate_limit' }
  })
  t.match(limited.json(), { code: 429, error_code: 'over_request_rate_limit' })
  t.equal(await turns(strict.app, anna), 6)
  t.equal((await ask('192.0.2.9')).statusCode, 200)
})

t.test('the server key has no sessions to refresh or to list', async (t) => {
  t.same((await call('GET', '/api/sessions')).json(), [])
})
