import { randomBytes } from 'node:crypto'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { LOCKS } from '#src/database/locks.ts'
import { maskStatement } from '#src/sql/masked-statement.ts'
import { distinctNames } from '#src/sql/rows.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { databaseUrl, forgetKey, testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { ATTACKS } from './attacks.ts'
import { buildConsole, PASSWORD } from './console.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
const { app, call, logs, run, url } = await buildConsole(t, { MASTER_KEY })

const { sql } = app

await sql`insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
  values ('Ada Prova', 'IT', 2, '2026-03-01', '2026-03-04', 2)`

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

/** Adds up the hashes of all rows, because sorting the text of a table would take ten times as long. */
const SUM = "select count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0) from"

/** The structure of the database, and a sum over every protected row, in one statement. */
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

t.test('no statement exceeds the SQL role: each ends as expected, and protected data are unchanged', async (t) => {
  const before = await fingerprint()
  // No attack can undo the change of another one, so it is enough to check after each batch.
  for (let at = 0; at < ATTACKS.length; at += AT_A_TIME) {
    const some = ATTACKS.slice(at, at + AT_A_TIME)
    for (const { sql: statement, ends } of some) {
      const response = await run(statement)
      const { sqlstate, codice } = response.json()
      t.equal(sqlstate ?? codice ?? String(response.statusCode), ends, statement)
    }
    t.same(await fingerprint(), before, `unchanged after: ${some.map(({ sql: statement }) => statement).join('; ')}`)
  }
})

t.test('the server and the console still work after the attacks', async (t) => {
  t.equal((await run('select 1')).statusCode, 200)
  t.equal((await call('GET', '/api/v1/prenotazioni')).statusCode, 200)
  t.match(await app.audit.verify(), { integro: true })
  // Sessions end shortly after their response.
  await until(async () => (await sql`select from pg_stat_activity where usename = ${role}`).length === 0)
  const [locks] = await sql`select count(*)::int as n from pg_locks
    where locktype = 'advisory' and objid in ${sql(Object.values(LOCKS))}
      and database = (select oid from pg_database where datname = current_database())`
  t.same(locks, { n: 0 })
  t.notMatch(JSON.stringify(logs.filter(({ level }) => Number(level) >= 50)), /request failed/)
})

/** Credentials, and addresses that may contain a secret: the role may not even read them. */
const CLOSED = [
  'users', 'identities', 'sessions', 'seen_sessions', 'flow_states', 'one_time_tokens', 'signing_keys', 'api_keys',
  'factors', 'factor_challenges', 'recovery_codes', 'webauthn_credentials', 'webauthn_challenges', 'admin_sessions',
  'mails', 'idempotency_keys', 'forgotten_answers', 'sandbox_token', 'counters', 'storage_keys', 'webhooks',
  'strutture_polizia'
]

t.test('the role reads all tables except the closed ones, and writes bookings and guests without ids', async (t) => {
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

t.test('a new table is closed by default', async (t) => {
  await app.sql`create table novita (a int)`
  t.teardown(() => app.sql`drop table novita`)
  t.match((await run('select * from novita')).json(), { sqlstate: '42501' })
})

t.test('without CREATEROLE the server starts, and the console is off and gives the reason', async (t) => {
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

t.test('with another master key the console works', async (t) => {
  const { sql, url } = await testDatabase(t)
  for (const key of [1, 2]) {
    // Encrypted with the previous key.
    await sql`delete from signing_keys`
    await forgetKey(sql)
    const MASTER_KEY = Buffer.alloc(32, key).toString('base64')
    const { app, run } = await buildConsole(t, { DATABASE_URL: url, MASTER_KEY })
    t.equal((await run('select 1', PASSWORD, `capo-${key}`)).statusCode, 200)
    await app.close()
  }
})

const BOOKING = {
  nome_cognome: 'Ada Prova',
  lingua: 'IT',
  paese_id: 1,
  check_in: '2026-03-01',
  check_out: '2026-03-04',
  numero_ospiti: 2
}

t.test('a statement without rows returns an empty list', async (t) => {
  t.match((await run('set work_mem = 64')).json(), { data: [], rowCount: 0, fields: [], status: 200 })
  t.match((await run('-- nothing')).json(), { data: [], rowCount: 0, fields: [], status: 200 })
  t.match((await run('select from prenotazioni where false')).json(), { data: [], rowCount: 0, fields: [] })
})

t.test('bookings and guests can be written, and the counts by country change with them', async (t) => {
  const columns = Object.keys(BOOKING).join(', ')
  const values = Object.values(BOOKING).map((value) => `'${value}'`).join(', ')
  const created = (await run(`insert into prenotazioni (${columns}) values (${values}) returning id`)).json()
  t.equal(created.rowCount, 1)
  const [{ id }] = created.data
  t.equal((await run(`insert into ospiti (prenotazione_id, indice, nome, cognome)
    values (${id}, 0, 'Ada', 'Prova'), (${id}, 1, 'Ugo', 'Prova')`)).json().rowCount, 2)
  const update = await run(`update prenotazioni set lingua = 'DE', versione = versione + 1 where id = ${id}`)
  t.equal(update.json().rowCount, 1)
  t.equal((await run(`delete from ospiti where prenotazione_id = ${id} and indice = 1`)).json().rowCount, 1)
  const booking = (await call('GET', `/api/v1/prenotazioni/${id}`)).json()
  t.match(booking, { data: { lingua: 'DE', ospiti: [{ nome: 'Ada' }] } })
  t.same((await run('select totale from prenotazioni_per_paese where paese_id = 1')).json().data, [{ totale: 1 }])
})

t.test('a statement that PostgreSQL rejects gets a 400 with the SQLSTATE, the position and the message', async (t) => {
  const response = await run('select nome from prenotazioni')
  t.equal(response.statusCode, 400)
  t.match(response.json(), {
    codice: 'SQL_NON_VALIDO', status: 400, sqlstate: '42703', posizione: 8, messaggio: 'column "nome" does not exist'
  })
  t.match((await run('select 1/0')).json(), { sqlstate: '22012', posizione: null })
  t.match((await run("select 'è', nome")).json(), { posizione: 13 }, 'the position counts characters')
  t.match((await run('select $1::int')).json(), { sqlstate: '08P01', codice: 'SQL_NON_VALIDO' })
})

t.test('settings that a statement gives to its role affect no other statement', async (t) => {
  for (const setting of ["transaction_timeout = '1ms'", 'default_transaction_read_only = on']) {
    // PostgreSQL knows the first one from version 17 on.
    await run(`alter role current_user set ${setting}`)
    t.equal((await run('update prenotazioni set lingua = lingua')).statusCode, 200, setting)
  }
})

t.test('a statement that fails changes nothing in the database', async (t) => {
  t.match((await run("update prenotazioni set lingua = 'fr' where 1 / (id - id) = 1")).json(), { sqlstate: '22012' })
  const inside = "with w as (update prenotazioni set lingua = 'fr' returning id) select 1 / (id - id) from w"
  t.match((await run(inside)).json(), { sqlstate: '22012' })
  t.same((await run("select count(*)::int as n from prenotazioni where lingua = 'fr'")).json().data, [{ n: 0 }])
})

t.test('every statement is audited before it runs, with personal data masked', async (t) => {
  await run("select 'Mario Rossi', 42 /* Via Roma */ from prenotazioni where nome_cognome = $$Ada$$ -- fine")
  const [row] = await app.sql`select actor, action, details, ip from audit_log order by id desc limit 1`
  t.match(row, {
    action: 'sql',
    actor: /^user:/,
    ip: '127.0.0.1',
    details: {
      esito: 'accettata',
      istruzione: 'select ?, ? from prenotazioni where nome_cognome = ?',
      impronta: /^[0-9a-f]{64}$/,
      caratteri: 94
    }
  })
  const found = await run('select count(*)::int as n from audit_log where details @> \'{"caratteri": 1}\'')
  t.equal(found.statusCode, 200, 'the entry exists before the statement runs')
})

t.test('a statement that cannot be audited does not run', async (t) => {
  await app.sql`alter table audit_log add constraint nothing_more check (id < 0) not valid`
  t.teardown(() => app.sql`alter table audit_log drop constraint nothing_more`)
  t.equal((await run("update prenotazioni set lingua = 'xx'")).statusCode, 503)
  await app.sql`alter table audit_log drop constraint nothing_more`
  t.same((await run("select count(*)::int as n from prenotazioni where lingua = 'xx'")).json().data, [{ n: 0 }])
  await app.sql`alter table audit_log add constraint nothing_more check (true)`
})

t.test('no log line contains SQL, a password or a value', async (t) => {
  await run("select 'canarino-nel-log'::int")
  await run('select canarino_nel_log')
  const text = JSON.stringify(logs)
  t.notMatch(text, /canarino/)
  t.notMatch(text, /una-password-per-le-prove/)
  t.notMatch(text, /Mario Rossi/)
})

t.test('without QUERY_PASSWORD the console is off, and any request gets this reason', async (t) => {
  const { app, token } = await build(t)
  for (const payload of [{ password: PASSWORD, sql: 'select 1' }, {}]) {
    const response = await app.inject({
      method: 'POST',
      url: '/api/querysql',
      headers: { authorization: `Bearer ${await token({ role: 'admin', name: 'capo' })}` },
      payload
    })
    t.equal(response.statusCode, 403)
    t.match(response.json(), { codice: 'SQL_SPENTO', error: /QUERY_PASSWORD/ })
  }
})

t.test('only the beginning of a message with millions of characters is shown', async (t) => {
  const response = await run('do $$ begin raise exception using message = repeat(chr(1), 9000000); end $$')
  t.equal(response.statusCode, 400)
  t.ok(response.body.length < 10_000)
})

t.test('processes ignore malformed `sync` notifications, and respond to valid ones', async (t) => {
  const own = '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'
  const answered: string[] = []
  const last = Promise.withResolvers<void>()
  const { unlisten } = await app.sql.listen('locanda_identity', (payload) => {
    const [what, id = ''] = payload.split(':')
    if (what === 'ack') answered.push(id)
    if (id === own && what === 'ack') last.resolve()
  })
  const flood = await run("select count(pg_notify('locanda_identity', 'sync:' || g)) from generate_series(1, 5000) g")
  t.equal(flood.statusCode, 200)
  t.equal((await run(`select pg_notify('locanda_identity', 'sync:${own}')`)).statusCode, 200)
  await last.promise
  await unlisten()
  t.same(answered, [own])
})

/** Values of the built-in types, each with its type and its text. */
const VALUES: readonly (readonly [type: string, ...texts: string[]])[] = [
  ['boolean', 'true', 'false'],
  ['smallint', '-32768', '32767'],
  ['integer', '-2147483648', '2147483647'],
  ['bigint', '-9223372036854775808', '9007199254740993'],
  ['numeric', '0.1000', '123456789012345678901234567890.123456789', 'NaN', 'Infinity', '1e-40'],
  ['real', '3.4028235e38', '1e-45', '0.1', '-0', 'NaN', '-Infinity'],
  ['double precision', '1.7976931348623157e308', '5e-324', '0.1', '-0', '1e21', '1e-7', 'NaN', 'Infinity'],
  ['text', '', 'è "una" \\ prova', '\u2028\n\t', '😀'],
  ['character varying', 'x'], ['character', 'y'], ['name', 'z'], ['"char"', 'c'], ['bytea', '\\x00ff10'],
  ['json', '{"a": 12345678901234567890.10,  "a":1e400}', ' null ', '"\\ud800"'],
  ['jsonb', '{"n": 123456789012345678901234567890.10}', '[]', 'null', '"testo"'],
  ['date', '0044-03-15 BC', 'infinity', '2026-11-21'],
  ['time without time zone', '24:00:00', '00:00:00.000001'], ['time with time zone', '12:00:00+05:30'],
  ['timestamp without time zone', '2026-11-21 09:30:00.123456', '-infinity'],
  ['timestamp with time zone', '294276-12-31 23:59:59.999999+00', '2026-11-21 09:30:00+02'],
  ['interval', '1 year -2 mons +3 days -04:05:06.789', '178000000 years'],
  ['uuid', '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f'], ['xml', '<a b="1">è</a>'], ['money', '12.34'],
  ['inet', '192.0.2.7/24', '2001:db8::1'], ['cidr', '192.0.2.0/24'], ['macaddr', '08:00:2b:01:02:03'],
  ['macaddr8', '08:00:2b:01:02:03:04:05'], ['bit varying', '10110'], ['bit', '1'],
  ['point', '(1.5,-2)'], ['line', '{1,2,3}'], ['lseg', '[(0,0),(1,1)]'], ['box', '(1,1),(0,0)'],
  ['path', '((0,0),(1,1))'], ['polygon', '((0,0),(1,1),(1,0))'], ['circle', '<(0,0),1>'],
  ['tsvector', "'a':1 'b':2"], ['tsquery', "'a' & 'b'"], ['int4range', '[1,5)', 'empty'],
  ['tstzrange', '["2026-01-01 00:00:00+00",infinity)'], ['nummultirange', '{[1.5,2),(3,4]}'],
  ['integer[]', '{1,NULL,3}', '[0:1]={1,2}'], ['text[]', '{"a,b",NULL,"NULL",""}'], ['numeric[]', '{{1.10,2},{3,4}}'],
  ['oid', '4294967295'], ['regclass', 'prenotazioni'], ['regtype', 'integer'], ['pg_lsn', '16/B374D848'],
  ['tid', '(0,1)'], ['xid', '42'], ['xid8', '18446744073709551615'], ['jsonpath', '$."a"[*]'],
  ['pg_snapshot', '10:20:10,14']
]

t.test('a value of every built-in type becomes JSON from which PostgreSQL restores the same value', async (t) => {
  const given = VALUES.flatMap(([type, ...texts]) => texts.map((text) => ({
    type, text, literal: `e'${text.replaceAll('\\', '\\\\').replaceAll("'", "''")}'::${type}`
  })))
  // All in one row, because each statement of the console opens a connection.
  const response = await run(`select ${
    given.map(({ literal }, n) => `${literal} as v${n}, (${literal})::text as t${n}`).join()}`)
  t.equal(response.statusCode, 200)
  const { data: [row], fields } = response.json<{ data: [Record<string, unknown>], fields: { type: string }[] }>()
  const { body } = response
  const values = given.map(({ type }, n) => {
    const value = row[`v${n}`]
    if (typeof value === 'string' && !/^jsonb?$/.test(type)) return value
    // The raw JSON text of the value, because a parsed number would already be a double.
    const begin = `"v${n}":`
    return body.slice(body.indexOf(begin) + begin.length, body.indexOf(`,"t${n}":`))
  })
  const [back] = await app.sql.unsafe<[Record<string, string>]>(`select ${given.map(({ type }, n) =>
    `$${n + 1}::text::${type}::text as text${n}, '${type}'::regtype::text as type${n}`).join()}`, values)
  for (const [n, { type, text }] of given.entries()) {
    t.equal(back[`text${n}`], row[`t${n}`], `${type} ${encodeURI(text.toWellFormed())}`)
    t.equal(fields[2 * n]!.type, back[`type${n}`])
  }
})

t.test('column names become unique, and the first column with a name keeps it', async () => {
  const name = fc.constantFrom('a', 'a_2', 'a_3', 'b', '__proto__')
  fc.assert(fc.property(fc.array(name), (names) => {
    const distinct = distinctNames(names)
    return new Set(distinct).size === names.length &&
      names.every((name, i) => names.indexOf(name) !== i || distinct[i] === name)
  }))
})

const KNOWN = new Set(['select', 'from', 'where', 'nome', 'ospiti', 'cognome', 'numero_documento'])

const CASES: readonly (readonly [string, string])[] = [
  ["select 'Ada', .5, 1e-5, 0x1F", 'select ?, .?, ?-?, ?'],
  ["SELECT E'a\\'b' -- Rossi\n FROM t1", 'SELECT E?b?'],
  ['select "nome", "Ada Prova" from t where a = $1', 'select "nome", "? ?" from t where a = $?'],
  ["select 'senza fine", 'select ?'],
  ["select from ospiti where cognome = 'D'Angelo'", 'select from ospiti where cognome = ???'],
  ['select from ospiti where cognome = ‘Rossi’', 'select from ospiti where cognome = ???'],
  ['select "rossi" from ospiti where nome = AA1234567', 'select "?" from ospiti where nome = ?'],
  ['select mario.rossi@example.it /* M a x */', 'select ?.?@?.?'],
  ["select $$nome$$, $x$ 'nome' $x$, 'From'", 'select ?, ?, ?'],
  ['select (nome,1990-05-12,12.5)', 'select (nome,?-?-?,?)']
]

t.test('words that the database does not know are masked in any position', async (t) => {
  for (const [statement, masked] of CASES) t.equal(maskStatement(statement, KNOWN), masked)
})

t.test('the masked text contains no part of a constant, and it is short', async () => {
  const text = fc.string().map((s) => s.replaceAll('\0', ''))
  const constant = fc.oneof(
    text.map((s) => `'${(s + 'canarino').replaceAll("'", "''")}'`),
    text.map((s) => `e'${(s + 'canarino').replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`),
    text.map((s) => `$z$${s.replaceAll('$', '')}canarino$z$`),
    text.map((s) => `/* ${s.replaceAll(/[*/]/g, '')} canarino */`),
    text.map((s) => `-- ${s.replaceAll(/[\r\n]/g, '')} canarino\n`)
  )
  fc.assert(fc.property(fc.array(constant, { maxLength: 20 }), (constants) => {
    const masked = maskStatement(`select ${constants.join(' , ')}`, KNOWN)
    return !masked.includes('canarino') && masked.length <= 501
  }))
})

t.test('a value of a gigabyte is never in the memory of the server', async (t) => {
  await run('select 1')
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage().rss) }, 5)
  const response = await run("select repeat('x', 1000000000)")
  clearInterval(watch)
  // On a busy machine PostgreSQL needs more than ten seconds to produce it.
  t.match(response.json(), { status: 400, codice: /^SQL_(RISPOSTA_TROPPO_GRANDE|NON_VALIDO)$/ })
  t.match((await run("select repeat('x', 50000000)")).json(), { status: 400, codice: 'SQL_RISPOSTA_TROPPO_GRANDE' })
  t.ok(peak - before < 150_000_000, `${peak - before} bytes`)
})

t.test('a statement whose response is too large is rolled back', async (t) => {
  const response = await run(`insert into prenotazioni
    (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'x', 'IT', 1, '2026-03-01', '2026-03-02', 1 from generate_series(1, 10001) returning id`)
  t.match(response.json(), { codice: 'SQL_RISPOSTA_TROPPO_GRANDE' })
  const left = await run("select count(*)::int as n from prenotazioni where nome_cognome = 'x'")
  t.same(left.json().data, [{ n: 0 }])
  t.equal((await run('select generate_series(1, 10000)')).json().rowCount, 10_000, 'ten thousand rows are not too many')
})

t.test('a statement that ignores its cancellation is ended', async (t) => {
  const stubborn = `do $$ begin loop
    begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`
  const both = Promise.all([run('select pg_sleep(60)'), run(stubborn)])
  while ((await running()) < 2) await sleep(50)
  for (const response of await both) t.match(response.json(), { status: 400, sqlstate: '57014' })
  while ((await running()) > 0) await sleep(50)
  t.equal((await run('select 1')).statusCode, 200)
})

t.test('a third statement waits until one of two others ends', async (t) => {
  const ended: string[] = []
  const first = ['a', 'b'].map((name) => run('select pg_sleep(1)').then(() => ended.push(name)))
  while ((await running()) < 2) await sleep(20)
  const { statusCode } = await run('select 1')
  t.equal(statusCode, 200)
  t.ok(ended.length > 0, 'one of the two has ended')
  await Promise.all(first)
})

t.test('after five wrong passwords in 15 minutes even the right one gets a 429, in every process', async (t) => {
  const other = await buildConsole(t, { DATABASE_URL: url, MASTER_KEY })
  const wrong = await Promise.all(Array.from({ length: 8 }, (_, i) =>
    (i % 2 === 0 ? run : other.run)('select 1', `sbagliata-${i}`)))
  t.same(wrong.map(({ statusCode }) => statusCode).sort(), [403, 403, 403, 403, 403, 429, 429, 429])
  const right = await other.run('select 1')
  t.equal(right.statusCode, 429)
  t.ok(Number(right.headers['retry-after']) > 800)
  const [log] = await app.sql`select count(*)::int as n from audit_log where details ->> 'esito' = 'password_errata'`
  t.same(log, { n: 5 })
})

async function running (): Promise<number> {
  const [row] = await app.sql<{ n: number }[]>`select count(*)::int as n from pg_stat_activity
    where application_name = 'locanda-sql' and datname = current_database() and query like '%pg_sleep%'`
  return row!.n
}
