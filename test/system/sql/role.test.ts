import { randomBytes } from 'node:crypto'
import t from 'tap'
import { CLOSED, RIGHTS } from '#src/system/sql/rights.ts'
import { build } from '#test/helper.ts'
import { databaseUrl, forgetKey, testDatabase } from '#test/database.ts'
import { buildConsole, PASSWORD } from './console.ts'

t.test('the lists of what may be read and of what is closed name every table that there is, each once', async (t) => {
  const { sql } = await testDatabase(t)
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm')`
  t.same([...RIGHTS.map(({ table }) => table), ...CLOSED].sort(), rows.map(({ name }) => name).sort())
})

t.test('a credential table that somebody opened to PUBLIC keeps the console off, and it says why', async (t) => {
  const { sql, url } = await testDatabase(t)
  await sql`grant select (email) on users to public`
  const { run, logs } = await buildConsole(t, { DATABASE_URL: url })
  t.match((await run('select 1')).json(), { status: 403, codice: 'SQL_SPENTO', error: /può SELECT su users/ })
  t.match(logs.find(({ msg }) => msg === 'the SQL console stays off'), { reason: /users/ })
  await sql`revoke select (email) on users from public`
  t.equal((await run('select 1')).statusCode, 200, 'without the grant it is on, without a restart')
  await sql`grant select on one_time_tokens to public`
  t.match((await run('select 1')).json(), { status: 403, error: /one_time_tokens/ }, 'a grant of later closes it again')
  await sql`revoke select on one_time_tokens from public`
  await sql`grant insert (id) on prenotazioni to public`
  t.match((await run('select 1')).json(), { status: 403, error: /può INSERT su prenotazioni/ }, 'one of a column, too')
})

/** For what comes into the database while the console is on. */
const { app, run } = await buildConsole(t)

t.test('a function that runs with its owner\'s rights keeps the console off', async (t) => {
  await app.sql.unsafe(`create function leak() returns bigint language sql security definer
    as 'select count(*) from users'`)
  t.teardown(() => app.sql`drop function leak`)
  t.match((await run('select leak()')).json(), { status: 403, error: /può eseguire la funzione leak/ })
})

t.test('a table that is new is closed', async (t) => {
  await app.sql`create table novita (a int)`
  t.teardown(() => app.sql`drop table novita`)
  t.match((await run('select * from novita')).json(), { sqlstate: '42501' })
})

t.test('without CREATEROLE the server starts, the console is off and says why', async (t) => {
  const owner = await testDatabase(t)
  const name = `semplice_${randomBytes(4).toString('hex')}`
  const database = decodeURIComponent(new URL(owner.url).pathname.slice(1))
  await owner.sql.unsafe(`create role ${name} login`)
  await owner.sql.unsafe(`grant ${name} to current_user; grant all on database ${database} to ${name};
    grant all on all tables in schema public to ${name}; grant all on all sequences in schema public to ${name};
    grant usage, create on schema public to ${name}; grant usage, create on schema drizzle to ${name};
    grant all on all tables in schema drizzle to ${name}`)
  t.teardown(() => owner.sql.unsafe(`drop owned by ${name}; drop role ${name}`))
  const url = new URL(databaseUrl(owner.url, database))
  url.username = name
  const { run, call } = await buildConsole(t, { DATABASE_URL: url.href })
  t.match((await run('select 1')).json(), { status: 403, codice: 'SQL_SPENTO', error: /non può essere creato \(42501\)/ })
  t.equal((await call('GET', '/api/v1/prenotazioni')).statusCode, 200)
})

t.test('processes that start at the same time share one role', async (t) => {
  const { url } = await testDatabase(t)
  const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
  const apps = await Promise.all([1, 2].map(() => buildConsole(t, { DATABASE_URL: url, MASTER_KEY })))
  for (const { logs } of apps) t.notOk(logs.some(({ msg }) => msg === 'the SQL console stays off'))
  for (const { run } of apps) t.equal((await run('select 1')).statusCode, 200)
})

t.test('with another master key the console works; without a password its role goes', async (t) => {
  const { sql, url } = await testDatabase(t)
  const roles = () => sql`select rolname from pg_roles
    where rolname = (select 'locanda_sql_' || oid from pg_database where datname = current_database())`
  for (const key of [1, 2]) {
    // Sealed with the key of before.
    await sql`delete from signing_keys`
    await forgetKey(sql)
    const MASTER_KEY = Buffer.alloc(32, key).toString('base64')
    const { app, run } = await buildConsole(t, { DATABASE_URL: url, MASTER_KEY })
    t.equal((await run('select 1', PASSWORD, `capo-${key}`)).statusCode, 200)
    await app.close()
  }
  t.equal((await roles()).length, 1)
  await sql`delete from signing_keys`
  await forgetKey(sql)
  await build(t, { DATABASE_URL: url })
  t.equal((await roles()).length, 0)
})
