import { randomBytes } from 'node:crypto'
import t from 'tap'
import { held, productionEnviron, standIn, until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { build, temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'

t.test('a server catches a missed night up; killed in the middle of it, the next one does', async (t) => {
  const police = await standIn(t)
  const { url, sql } = await testDatabase(t)
  const environ = {
    ...productionEnviron(police),
    DATABASE_URL: url,
    DATA_DIR: temporaryFolder(t),
    MASTER_KEY: randomBytes(32).toString('base64')
  }
  const receipts = async () => (await sql`select * from jobs where name = 'receipts'`)[0]
  await sql`insert into jobs (name, cron, next_run_at) values ('receipts', '30 6 * * *', now() - interval '5 hours')`

  const login = held()
  police.on.GenerateToken = login.behaviour
  const killed = await startServer(environ)
  t.teardown(killed.kill)
  await login.arrived
  t.match(await receipts(), { outcome: null, finished_at: null, lease_until: /./ })
  await killed.kill()

  delete police.on.GenerateToken
  // Only the one that is killed needs a process of its own.
  const server = () => build(t, environ, undefined, { jobsByClock: true })
  const early = await server()
  await until(async () => (await sql`select from jobs where outcome = 'riuscito'`).length > 0)
  await early.app.close()
  t.match(await receipts(), { outcome: null, lease_until: /./ }, 'not before the lease is over')

  await sql`update jobs set lease_until = now() - interval '1 second' where name = 'receipts'`
  const next = await server()
  await until(async () => (await receipts())?.outcome === 'riuscito')
  const told = next.logs.filter(({ msg }) => msg === 'the process of a job has died: it is run again')
  t.match(told, [{ job: 'receipts' }])
  t.ok(police.callsOf('Ricevuta').length > 0)
  t.same(await sql`select from jobs where name = 'receipts' and next_run_at <= now()`, [])
})
