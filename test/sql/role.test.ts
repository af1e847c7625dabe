import { randomBytes } from 'node:crypto'
import t from 'tap'
import { LOCKS } from '#src/database/locks.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { databaseUrl, forgetKey, testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { ATTACKS } from './attacks.ts'
import { buildConsole, PASSWORD } from './console.ts'

const { app, logs, run, call } = await buildConsole(t)
const { sql } = app

await sql`insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
  values ('Ada Prova', 'IT', 1, '2026-03-01', '2026-03-04', 2)`

await sql`insert into invii (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato,
    proprietario, lease_fino_al)
  values ('AW-20260301-1', 'prova', 'server', 'Send', '2026-03-01', 3, now() + interval '1 day', 'pronto', 'un altro',
    now() + interval '1 day')`

await run('select 1')
const [{ last } = { last: 0 }] = await sql<{ last: number }[]>`select max(id) as last from audit_log`

const [{ role } = { role: '' }] = await sql<{ role: string }[]>`
  select 'locanda_sql_' || oid as role from pg_database where datname = current_database()`

const tables = await sql<{ name: string }[]>`
  select relname as name from pg_class
  where relnamespace = 'public'::regnamespace and relkind = 'r'
    and relname not in ('audit_log', 'jobs', 'sessions', 'prenotazioni_per_paese')`

/** Of every row, in whatever order: the rows of a table take a tenth of the time that their text takes in order. */
const SUM = "select count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) from"

/** What the database is made of, and a sum over every row that no statement may change: in one statement. */
const FINGERPRINT = `
  with lines as (
    select concat('rel ', relname, relkind, relowner, relacl, relhastriggers) as line
      from pg_class where relnamespace in ('public'::regnamespace, 'drizzle'::regnamespace)
    union all select concat('tg ', tgname, tgenabled, tgrelid) from pg_trigger
    union all select concat('fn ', proname, proacl, prosecdef) from pg_proc where oid >= 16384
    union all select concat('ns ', nspname, nspacl) from pg_namespace where nspname !~ 'temp'
    union all select concat('db ', datacl) from pg_database where datname = current_database()
    -- Other tests have roles of their own in this cluster, which come and go meanwhile.
    union all select concat('role ', rolname, rolsuper, rolcreaterole, rolcreatedb) from pg_roles
      where rolname in (current_user, '${role}')
    union all select concat('member ', roleid, member) from pg_auth_members where '${role}'::regrole in (roleid, member)
    union all select concat('ext ', extname) from pg_extension
  )
  select 'schema' as what, (${SUM} lines t) as sum
  union all select 'audit', (${SUM} audit_log t where id <= ${last})
  ${tables.map(({ name }) => `union all select '${name}', (${SUM} ${name} t)`).join('\n')}`

const fingerprint = async () => (await sql.unsafe(FINGERPRINT, [], { prepare: true })).map((row) => ({ ...row }))
const AT_A_TIME = 12

t.test('the corpus is larger than sixty statements, each of its own', async (t) => {
  t.ok(ATTACKS.length >= 80)
  t.equal(new Set(ATTACKS.map(({ sql }) => sql)).size, ATTACKS.length)
})

t.test('no statement leaves the SQL role: each ends as it must, and what is protected is as it was', async (t) => {
  const before = await fingerprint()
  // What one of them changes, another one does not put back: it is enough to look after some.
  for (let at = 0; at < ATTACKS.length; at += AT_A_TIME) {
    const some = ATTACKS.slice(at, at + AT_A_TIME)
    for (const { sql: statement, ends } of some) {
      const answer = await run(statement)
      const { sqlstate, codice } = answer.json()
      t.equal(sqlstate ?? codice ?? String(answer.statusCode), ends, statement)
    }
    t.same(await fingerprint(), before, `unchanged after: ${some.map(({ sql: statement }) => statement).join('; ')}`)
  }
})

t.test('afterwards the server and the console work as before', async (t) => {
  t.equal((await run('select 1')).statusCode, 200)
  t.equal((await call('GET', '/api/v1/prenotazioni')).statusCode, 200)
  t.match(await app.audit.verify(), { integro: true })
  // Sessions end a little after their answer.
  await until(async () => (await sql`select from pg_stat_activity where usename = ${role}`).length === 0)
  const [locks] = await sql`select count(*)::int as n from pg_locks
    where locktype = 'advisory' and objid in ${sql(Object.values(LOCKS))}
      and database = (select oid from pg_database where datname = current_database())`
  t.same(locks, { n: 0 })
  t.notMatch(JSON.stringify(logs.filter(({ level }) => Number(level) >= 50)), /request failed/)
})

/** Credentials, and addresses that may hold a secret: the role may not even read them. */
const CLOSED = [
  'users', 'identities', 'sessions', 'seen_sessions', 'flow_states', 'one_time_tokens', 'signing_keys', 'api_keys',
  'factors', 'factor_challenges', 'recovery_codes', 'webauthn_credentials', 'webauthn_challenges', 'admin_sessions',
  'mails', 'idempotency_keys', 'forgotten_answers', 'sandbox_token', 'counters', 'storage_keys', 'webhooks'
]

t.test('the role reads all tables but the closed ones, and writes bookings and guests without ids', async (t) => {
  const granted = await sql<{
    name: string,
    columns: number,
    reads: number,
    inserts: string[],
    updates: string[],
    others: string
  }[]>`
    select relname as name, count(*)::int as columns,
      count(*) filter (where has_column_privilege(${role}, c.oid, attnum, 'SELECT'))::int as reads,
      json_agg(attname) filter (where has_column_privilege(${role}, c.oid, attnum, 'INSERT')) as inserts,
      json_agg(attname) filter (where has_column_privilege(${role}, c.oid, attnum, 'UPDATE')) as updates,
      (select coalesce(string_agg(p, ' '), '') from unnest('{DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) p
        where has_table_privilege(${role}, c.oid, p)) as others
    from pg_class c join pg_attribute on attrelid = c.oid and attnum > 0 and not attisdropped
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'v', 'm') group by c.oid, relname`
  for (const { name, columns, reads, inserts, updates, others } of granted) {
    t.equal(reads, CLOSED.includes(name) ? 0 : columns, `reads ${name}`)
    const isWritten = name === 'prenotazioni' || name === 'ospiti'
    t.equal(inserts !== null, isWritten, `inserts into ${name}`)
    t.equal(updates !== null, isWritten, `updates ${name}`)
    t.notOk(inserts?.includes('id') || updates?.includes('id'), `ids of ${name}`)
    t.equal(others, name === 'ospiti' ? 'DELETE' : '', `other rights on ${name}`)
  }
  t.same(CLOSED.filter((name) => !granted.some((table) => table.name === name)), [], 'every closed table exists')
  const elsewhere = await sql`
    select relname from pg_class c join pg_namespace n on n.oid = relnamespace
    where nspname = 'drizzle' and relkind = 'r' and has_table_privilege(${role}, c.oid, 'SELECT')
    union all select relname from pg_class
    where relnamespace = 'public'::regnamespace
      and case when relkind = 'S' then has_sequence_privilege(${role}, oid, 'USAGE') end`
  t.same(elsewhere, [])
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

t.test('with another master key the console works; without a password its role cannot log in', async (t) => {
  const { sql, url } = await testDatabase(t)
  const roles = () => sql`select rolcanlogin from pg_roles
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
  t.match(await roles(), [{ rolcanlogin: true }])
  await sql`delete from signing_keys`
  await forgetKey(sql)
  await build(t, { DATABASE_URL: url })
  t.match(await roles(), [{ rolcanlogin: false }])
})
