import { randomBytes } from 'node:crypto'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import type { AuthSession } from '#schemas/auth/session.ts'
import { createSigningKeys } from '#src/identity/tokens/signing-keys.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { changeFeed } from '#src/database/changes.ts'
import { connect, type Connection } from '#src/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const CHANNEL = 'locanda_identity'
/** Longer than any test: who is waited for must answer. */
const PATIENCE_MS = 60_000
/** Streams of requests at once on each server. */
const STREAMS = 2
/** Requests that each of them begins after the answer. */
const AFTERWARDS = 4

type Sql = Connection['sql']

interface Answer { statusCode: number }
interface Asked { isAfter: boolean, status: number }

/**
 * Asks all servers over and over, while `change` is made, and some times after it is answered. What was begun before
 * may come to anything; what is begun later must not.
 */
async function during (
  apps: readonly FastifyInstance[],
  request: { url: string; headers: Record<string, string> },
  change: () => Promise<Answer>
) {
  const asked: Asked[] = []
  let isAnswered = false
  const { promise: underWay, resolve: begin } = Promise.withResolvers<void>()
  const streams = apps.flatMap((app) =>
    Array.from({ length: STREAMS }, async () => {
      for (let left = AFTERWARDS; left > 0;) {
        // Cached answers leave the event loop no moment for anything else: without a short rest the streams would
        // keep the change waiting.
        await (isAnswered ? turn() : sleep(1))
        const isAfter = isAnswered
        const { statusCode: status } = await app.inject(request)
        asked.push({ isAfter, status })
        if (isAfter) left--
        if (asked.length >= apps.length * STREAMS * 2) begin()
      }
    })
  )
  await underWay
  const { statusCode } = await change()
  isAnswered = true
  await Promise.all(streams)
  const statuses = (wanted: boolean) =>
    [...new Set(asked.filter(({ isAfter }) => isAfter === wanted).map(({ status }) => status))].sort()
  return {
    change: statusCode,
    before: statuses(false),
    after: statuses(true),
    count: asked.filter(({ isAfter }) => isAfter).length
  }
}

const OWN = '/api/v1/paesi'

/** A change that takes rights away, the request that it stops, and the status of the refusal. */
type Case = [
  name: string,
  url: string,
  status: number,
  change: (apps: Pair, service: string, whom: AuthSession) => Promise<Answer>
]
type Pair = readonly [FastifyInstance, FastifyInstance]
const put = (app: FastifyInstance, service: string, { user }: AuthSession, body: object) =>
  as(app, service, 'PUT', `/auth/v1/admin/users/${user.id}`, body)
const CASES: readonly Case[] = [
  [
    'demotion',
    '/api/users',
    403,
    ([app], service, whom) => put(app, service, whom, { app_metadata: { role: 'operator' } })
  ],
  [
    'loss of the role',
    OWN,
    403,
    ([app], service, whom) => put(app, service, whom, { app_metadata: { role: 'pending' } })
  ],
  ['a ban', OWN, 401, ([app], service, whom) => put(app, service, whom, { ban_duration: '1h' })],
  ['deletion', OWN, 401, ([app], service, { user }) => as(app, service, 'DELETE', `/auth/v1/admin/users/${user.id}`)],
  [
    'soft deletion',
    OWN,
    401,
    ([app], service, { user }) =>
      as(app, service, 'DELETE', `/auth/v1/admin/users/${user.id}`, { should_soft_delete: true })
  ],
  [
    'a new password',
    OWN,
    401,
    ([app], service, whom) => put(app, service, whom, { password: 'una-frase-lunga-e-nuova' })
  ],
  [
    'signing out',
    OWN,
    401,
    ([app], _service, { access_token }) => as(app, access_token, 'POST', '/auth/v1/logout?scope=local')
  ],
  [
    'signing out everywhere',
    OWN,
    401,
    ([, other], _service, { access_token }) => as(other, access_token, 'POST', '/auth/v1/logout')
  ],
  [
    'revoking all sessions',
    OWN,
    401,
    ([app], _service, { access_token }) => as(app, access_token, 'POST', '/api/sessions/revoke-all')
  ]
]

t.test('after the answer to a change that takes rights away, no new request has them, on any server', async (t) => {
  const [{ app, token }, { app: other }] = await twoServers(t)
  const apps = [app, other] as const
  const service = await token({ service: true })
  await signIn(app, 'ada', 'admin')

  for (const [n, [name, url, status, change]] of CASES.entries()) {
    const whom = await signIn(app, `persona-${n}`, 'admin')
    const seen = await during(apps, { url, headers: bearer(whom.access_token) }, () => change(apps, service, whom))
    t.ok(seen.change === 200 || seen.change === 204, `${name}: ${seen.change}`)
    t.ok(seen.before.includes(200), `${name}: before it they were let in`)
    t.same(seen.after, [status], name)
    t.equal(seen.count, apps.length * STREAMS * AFTERWARDS)
  }

  const { access_token: second } = await signIn(app, 'bruno', 'operator')
  const { access_token: first } = await signIn(app, 'bruno', 'operator')
  const others = await during(apps, { url: OWN, headers: bearer(first) }, () =>
    as(app, second, 'POST', '/auth/v1/logout?scope=others')
  )
  t.same(others.after, [401], 'signing out the others')
  t.same([await isLetIn(app, bearer(second)), await isLetIn(other, bearer(second))], [200, 200],
    'which leaves the one that asked')

  const { apiKey, id } = (await as(app, second, 'GET', '/api/cli/auth/key')).json() as { apiKey: string, id: string }
  t.same(
    (
      await during(apps, { url: OWN, headers: { 'x-api-key': apiKey } }, () =>
        as(other, second, 'DELETE', `/api/v1/keys/${id}`)
      )
    ).after,
    [401],
    'a revoked key'
  )
  const rotated = await during(apps, { url: OWN, headers: bearer(second) }, () =>
    as(app, service, 'POST', '/api/v1/signing-keys/rotate', { immediate: true })
  )
  t.same(rotated.after, [401], 'a rotation at once')
})

t.test('a change is heard by every process', async (t) => {
  const { url } = await testDatabase(t)
  const connections = Array.from({ length: 4 }, () => connect(url, 2))
  t.teardown(() => Promise.all(connections.map(({ close }) => close())))
  const [asking, other, slow, mute] = connections.map(({ sql }) => sql) as [Sql, Sql, Sql, Sql]
  const complaints: unknown[] = []
  const log = {
    warn: (...words: unknown[]) => {
      complaints.push(words)
    },
    error: (...words: unknown[]) => {
      complaints.push(words)
    }
  }
  const echo = Promise.withResolvers<void>()
  const heard: string[] = []
  const changes = changeFeed(asking, log, PATIENCE_MS).subscribe(
    { user: (id) => { if (id === 'echo') echo.resolve() } },
    () => {}
  )
  const others = changeFeed(other, log, PATIENCE_MS).subscribe({ user: (id) => { heard.push(id) } }, () => {})
  const notify = (sql: Sql, payload: string) => sql`select pg_notify(${CHANNEL}, ${payload})`

  await t.test('a process that is alone waits only for itself', async () => {
    await changes.waitForListeners()
    await changes.waitForListeners()
  })

  await t.test('a process waits until the others have heard every earlier change', async (t) => {
    await others.ready()
    for (let n = 0; n < 20; n++) {
      await notify(asking, `user:${n}`)
      await changes.waitForListeners()
      t.equal(heard.at(-1), String(n))
    }
  })

  await t.test('a process waits for another one that is slow', async (t) => {
    const asked = Promise.withResolvers<string>()
    const answered = Promise.withResolvers<void>()
    await slow.listen(CHANNEL, (payload) => {
      const [what, id = ''] = payload.split(':')
      if (what === 'sync') asked.resolve(id)
      if (what === 'ack') answered.resolve()
    })
    let isSettled = false
    const settled = changes.waitForListeners().then(() => { isSettled = true })
    const id = await asked.promise
    await answered.promise
    // The asking process has heard the other's answer when it hears this.
    await notify(slow, 'user:echo')
    await echo.promise
    t.equal(isSettled, false)
    await notify(slow, `ack:${id}`)
    await settled
  })

  await t.test('a process does not wait long for another one that does not answer', async () => {
    await mute.listen(CHANNEL, () => {})
    await changeFeed(slow, log).subscribe({}, () => {}).waitForListeners(100)
  })

  t.same(complaints, [])
})

t.test('a server that was cut off drops its caches as soon as it listens again', async (t) => {
  const [{ app }, { app: other }] = await twoServers(t)
  const listeners = async () =>
    (
      await app.sql<{ pid: number }[]>`
    select pid from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}`
    ).map(({ pid }) => pid)
  const { user, access_token } = await signIn(app, 'anna', 'operator')
  for (const each of [app, other]) t.equal(await isLetIn(each, bearer(access_token)), 200)
  const before = await listeners()
  t.equal(before.length, 2)
  // A change that nobody is told of.
  await app.sql.begin(async (tx) => {
    await tx`alter table users disable trigger users_changed`
    await tx`update users set banned_until = now() + interval '1 hour' where id = ${user.id}`
    await tx`alter table users enable trigger users_changed`
  })
  t.same([await isLetIn(app, bearer(access_token)), await isLetIn(other, bearer(access_token))], [200, 200],
    'it is remembered')
  for (const pid of before) await app.sql`select pg_terminate_backend(${pid})`
  while ((await listeners()).filter((pid) => !before.includes(pid)).length < 2);
  // Both have answered, so both listen.
  await app.identity.waitForListeners()
  for (const each of [app, other]) t.equal(await isLetIn(each, bearer(access_token)), 401)
  const { access_token: second } = await signIn(app, 'bruno', 'operator')
  t.equal(await isLetIn(other, bearer(second)), 200)
  t.equal((await as(app, second, 'POST', '/auth/v1/logout')).statusCode, 204)
  t.equal(await isLetIn(other, bearer(second)), 401, 'and hears again')
})

t.test('a signing key is accepted for at most a minute without reading it again', async (t) => {
  const { db, sql } = await testDatabase(t)
  const secrets = createKeys(randomBytes(32))
  const clock = { now: Date.now() }
  const keys = createSigningKeys(db, secrets, () => clock.now)
  const { kid } = await keys.current()
  await sql`update signing_keys set retires_at = now() - interval '1 second'`
  t.ok(keys.isLive(kid), 'nobody has said anything')
  clock.now += 60_001
  t.notOk(keys.isLive(kid))
  t.equal(await keys.find(kid), undefined)
})
