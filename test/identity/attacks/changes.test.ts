import t from 'tap'
import { listenToChanges, type Changes } from '#src/identity/changes.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { testDatabase } from '#test/database.ts'

const CHANNEL = 'locanda_identity'
/** Longer than any test: who is waited for must answer. */
const PATIENCE_MS = 60_000

t.test('a process whose first attempts to listen failed answers once for itself, and for nobody else', async (t) => {
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
  const changes: Changes = listenToChanges(late, log, (_change, id) => { heard.push(id); if (id === 'echo') echo.resolve() }, () => {}, PATIENCE_MS)
  for (let n = 0; n < 3; n++) t.equal(await changes.ready(), false)
  await outside.unsafe(`alter database ${name} allow_connections true`)
  while (!await changes.ready());
  let isSettled = false
  const settled = changes.settled().then(() => { isSettled = true })
  const id = await slow.promise
  await asking`select pg_notify(${CHANNEL}, 'user:echo')`
  await echo.promise
  t.equal(isSettled, false, 'the other one has not answered')
  await asking`select pg_notify(${CHANNEL}, ${`ack:${id}:x`})`
  await settled
  t.same(heard, ['echo'], 'a change is heard once')
})

t.test('whoever waits for others waits no longer than they may, whatever the database does', async (t) => {
  const { sql, url } = await testDatabase(t)
  const { sql: busy, close } = connect(url, 1)
  t.teardown(close)
  const complaints: unknown[] = []
  const changes = listenToChanges(busy, { warn: (...words) => { complaints.push(words) }, error: () => {} }, () => {}, () => {}, 50)
  await changes.ready()
  const gate = Promise.withResolvers<void>()
  const held = busy.begin(async (tx) => {
    await tx`select 1`
    await gate.promise
  })
  // The only connection is taken: the question itself has to wait.
  await changes.settled()
  gate.resolve()
  await held
  await sql`select 1`
})
