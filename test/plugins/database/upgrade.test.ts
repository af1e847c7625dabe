import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { LOCKS } from '#src/plugins/database/locks.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

t.test('a start during an upgrade says that it waits, and waits longer than a statement may take', async (t) => {
  const { url } = await testDatabase(t, true)
  const other = connect(url, 1)
  t.teardown(other.close)
  await other.sql`select pg_advisory_lock(${LOCKS.migrations})`
  const said: string[] = []
  const upgrading = migrate(url, { statement_timeout: '500ms' }, (what) => { said.push(what) })
  await until(() => said.length > 0)
  t.same(said, ['another process starts on this database and may be upgrading it: waiting for it'])
  await sleep(800)
  await other.sql`select pg_advisory_unlock(${LOCKS.migrations})`
  t.match(await upgrading, { from: null })
})
