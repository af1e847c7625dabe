import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { createSigningKeys } from '#src/identity/tokens/signing-keys.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { changeFeed } from '#src/plugins/changes.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { signIn } from '#test/helper.ts'
import { as, bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'

const CHANNEL = 'locanda_identity'
/** Longer than any test: who is waited for must answer. */
const PATIENCE_MS = 60_000

t.test('a process whose first attempts to listen failed acknowledges a change once, and only for itself', async (t) => {
  const [{ url, sql: asking }, { sql: outside }] = await Promise.all([testDatabase(t), testDatabase(t)])
  const name = new URL(url).pathname.slice(1)
  const { sql: late, close } = connect(url, 1)
  t.teardown(close)
  const log = { warn: () => {}, error: () => {} }
  const slow = Promise.withResolvers<string>()
  // A process of another kind, that is slow to answer.
  const { sql: other, close: closeOther } = connect(url, 1)
  t.teardown(closeOther)
  await other.listen(CHANNEL, (payload) => {
    const [what, id = ''] = payload.split(':')
    if (what === 'sync') slow.resolve(id)
  })
  await asking`select 1`
  await outside.unsafe(`alter database ${name} allow_connections false`)
  const heard: string[] = []
  const echo = Promise.withResolvers<void>()
  const changes = changeFeed(late, log, PATIENCE_MS).subscribe(
    {
      user: (id) => {
        heard.push(id)
        if (id === 'echo') echo.resolve()
      }
    },
    () => {}
  )
  for (let n = 0; n < 3; n++) t.equal(await changes.ready(), false)
  await outside.unsafe(`alter database ${name} allow_connections true`)
  while (!await changes.ready()) await turn()
  let isSettled = false
  const settled = changes.waitForListeners().then(() => { isSettled = true })
  const id = await slow.promise
  await asking`select pg_notify(${CHANNEL}, 'user:echo')`
  await echo.promise
  // The only connection has answered how many listen.
  await late`select 1`
  t.equal(isSettled, false, 'the other one has not answered')
  await asking`select pg_notify(${CHANNEL}, ${`ack:${id}:x`})`
  await settled
  t.same(heard, ['echo'], 'a change is heard once')
})

t.test('a process waits for the others no longer than its limit, also when the database hangs', async (t) => {
  const { sql, url } = await testDatabase(t)
  const { sql: busy, close } = connect(url, 1)
  t.teardown(close)
  const complaints: unknown[] = []
  const log = { warn: (...words: unknown[]) => { complaints.push(words) }, error: () => {} }
  const changes = changeFeed(busy, log, 50).subscribe({}, () => {})
  await changes.ready()
  const gate = Promise.withResolvers<void>()
  const held = busy.begin(async (tx) => {
    await tx`select 1`
    await gate.promise
  })
  // The only connection is taken: the question itself has to wait.
  await changes.waitForListeners()
  gate.resolve()
  await held
  await sql`select 1`
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
  t.same(
    [await isLetIn(app, bearer(access_token)), await isLetIn(other, bearer(access_token))],
    [200, 200],
    'it is remembered'
  )
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
