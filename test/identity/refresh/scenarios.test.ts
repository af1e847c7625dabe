import t from 'tap'
import { REUSE_INTERVAL_MS } from '#src/identity/tokens/refresh-token.ts'
import { build } from '#test/helper.ts'
import { age, chain, holder, refresh, refreshed, standing, turns } from './holder.ts'

const INTERVAL = REUSE_INTERVAL_MS / 1000
const USED = { status: 400, code: 'refresh_token_already_used' }
const NOT_FOUND = { status: 400, code: 'refresh_token_not_found' }

const { app, logs } = await build(t)

async function reuses (sessionId: string) {
  return await app.sql`
    select actor, action, details from audit_log
    where object = ${`session:${sessionId}`} and action = 'sessioni_revocate'`
}

t.test('NormalUse: each token gives the next, and every access token on the way is good', async (t) => {
  const anna = await holder(app)
  let token = anna.first
  const seen = new Set([token])
  for (let turn = 1; turn <= 5; turn++) {
    const next = await refreshed(app, token)
    t.notOk(seen.has(next.refresh))
    seen.add(next.refresh)
    t.same(await standing(app, next.access), [200, 200])
    t.equal(await turns(app, anna), turn)
    await age(app, anna, 3300)
    token = next.refresh
  }
  t.same(await standing(app, anna.access), [200, 200])
})

t.test('NormalUse: the session records the device and the time of its last refresh', async (t) => {
  const anna = await holder(app)
  const before = Date.now()
  await app.inject({
    method: 'POST',
    url: '/auth/v1/token?grant_type=refresh_token',
    headers: { 'user-agent': 'un altro' },
    remoteAddress: '192.0.2.7',
    payload: { refresh_token: anna.first }
  })
  const [row] =
    await app.sql`select ip, user_agent, refreshed_at, updated_at from sessions where id = ${anna.sessionId}`
  t.match(row, { ip: '192.0.2.7', user_agent: 'un altro' })
  for (const moment of [row?.refreshed_at, row?.updated_at].map(Date.parse)) {
    t.ok(moment >= before && moment <= Date.now())
  }
})

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

t.test('FailToSaveReuse: a client that lost the answer gets the current token again, at any time', async (t) => {
  const anna = await holder(app)
  const { refresh: present } = await refreshed(app, anna.first)
  for (const seconds of [0, 5, 6, 3600, 86_400 * 3]) {
    await age(app, anna, seconds)
    const again = await refreshed(app, anna.first)
    t.equal(again.refresh, present, `${seconds} s later`)
    t.same(await standing(app, again.access), [200, 200])
  }
  t.equal(await turns(app, anna), 1)
  t.not((await refreshed(app, present)).refresh, present)
  t.same(await reuses(anna.sessionId), [])
})

t.test('FailToSaveReuse: asking again does not keep a session alive', async (t) => {
  const anna = await holder(app)
  const { refresh: present } = await refreshed(app, anna.first)
  await age(app, anna, 13 * 86_400)
  await refreshed(app, anna.first)
  await age(app, anna, 86_400)
  for (const token of [anna.first, present]) t.same(await refresh(app, token), { status: 400, code: 'session_expired' })
})

t.test('MaliciousReuse: two sides that take turns with the token before the current one are found out', async (t) => {
  const anna = await holder(app)
  // The thief has a copy of the first token; each side refreshes an hour after the other one.
  const sides = [anna.first, anna.first]
  let rounds = 0
  for (; rounds < 20; rounds++) {
    await age(app, anna, 3600)
    const outcome = await refresh(app, sides[rounds % 2]!)
    if ('code' in outcome) {
      t.same(outcome, USED)
      break
    }
    // Whoever was given the current token again refreshes with it.
    const next = rounds === 0 ? outcome : await refresh(app, outcome.refresh)
    sides[rounds % 2] = 'refresh' in next ? next.refresh : ''
  }
  t.equal(rounds, 4, 'with the fourth repeat of the day')
  t.equal(await turns(app, anna), undefined)
  t.match(await reuses(anna.sessionId), [{ actor: 'sistema', details: { reason: 'refresh_token_reused' } }])
})

t.test('MaliciousReuse: a thief who refreshes all the time does not keep the interval open', async (t) => {
  const anna = await holder(app)
  let thief = anna.first
  let owner = anna.first
  for (let hour = 0; hour < 4; hour++) {
    const tokens = await chain(app, thief, 4)
    thief = tokens.at(-1)!
    await age(app, anna, INTERVAL - 5)
    const outcome = await refresh(app, owner)
    if (hour < 3) owner = 'refresh' in outcome ? outcome.refresh : ''
    else t.same(outcome, USED)
  }
  t.same(await refresh(app, thief), NOT_FOUND)
})

t.test('FailToSaveReuse: a client that loses a reply three times a day is not', async (t) => {
  const anna = await holder(app)
  let token = anna.first
  for (let time = 0; time < 15; time++) {
    await age(app, anna, 8 * 3600)
    await refreshed(app, token)
    await age(app, anna, INTERVAL)
    token = (await refreshed(app, token)).refresh
  }
  t.same(await reuses(anna.sessionId), [])
  t.not((await refreshed(app, token)).refresh, token)
})

t.test('within the interval older tokens give the current one and change nothing', async (t) => {
  const anna = await holder(app)
  const tokens = await chain(app, anna.first, 4)
  await age(app, anna, INTERVAL - 5)
  for (const token of tokens.slice(0, -1)) t.equal((await refreshed(app, token)).refresh, tokens[3])
  t.equal(await turns(app, anna), 3)
  t.same(await standing(app, anna.access), [200, 200])
})

t.test(
  'MaliciousReuse: an older token after the interval ends the session, for the thief and for the owner',
  async (t) => {
    const anna = await holder(app)
    const other = await holder(app)
    const tokens = await chain(app, anna.first, 3)
    const { access } = await refreshed(app, tokens[2]!)
    t.same(await standing(app, access), [200, 200])
    await age(app, anna, INTERVAL)
    t.same(await refresh(app, tokens[0]!), USED)
    t.same(await standing(app, access), [401, 403], 'the access token is refused at once')
    t.same(await standing(app, anna.access), [401, 403])
    for (const token of [...tokens, tokens[0]!]) t.same(await refresh(app, token), NOT_FOUND)
    t.equal(await turns(app, anna), undefined)
    t.match(await reuses(anna.sessionId), [{ actor: 'sistema', details: { reason: 'refresh_token_reused' } }])
    t.same(await standing(app, other.access), [200, 200], 'nobody else is touched')
  }
)

t.test('MaliciousReuse: the interval counts from the last refresh, not from the reuse', async (t) => {
  const anna = await holder(app)
  const tokens = await chain(app, anna.first, 3)
  await age(app, anna, INTERVAL - 4)
  for (let n = 0; n < 3; n++) t.equal((await refreshed(app, tokens[0]!)).refresh, tokens[2])
  await age(app, anna, 4)
  t.same(await refresh(app, tokens[0]!), USED)
})

t.test(
  'MaliciousReuse: after thief or owner has refreshed, the other one’s next refresh ends the session',
  async (t) => {
    const anna = await holder(app)
    const stolen = anna.first
    const thief = await chain(app, stolen, 3)
    await age(app, anna, INTERVAL)
    t.same(await refresh(app, stolen), USED, 'the owner, with the token that was stolen')
    t.same(await refresh(app, thief.at(-1)!), NOT_FOUND)
  }
)
