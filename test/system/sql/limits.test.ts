import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { buildConsole } from './console.ts'

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
const { app, run, url } = await buildConsole(t, { MASTER_KEY })

t.test('a value of a gigabyte does not enter the memory of the server', async (t) => {
  await run('select 1')
  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => { peak = Math.max(peak, process.memoryUsage().rss) }, 5)
  const answer = await run("select repeat('x', 1000000000)")
  clearInterval(watch)
  // On a busy machine PostgreSQL needs more than ten seconds to make it.
  t.match(answer.json(), { status: 400, codice: /^SQL_(RISPOSTA_TROPPO_GRANDE|NON_VALIDO)$/ })
  t.match((await run("select repeat('x', 50000000)")).json(), { status: 400, codice: 'SQL_RISPOSTA_TROPPO_GRANDE' })
  t.ok(peak - before < 150_000_000, `${peak - before} bytes`)
})

t.test('a statement whose answer is too large has done nothing', async (t) => {
  const answer = await run(`insert into prenotazioni
    (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'x', 'IT', 1, '2026-03-01', '2026-03-02', 1 from generate_series(1, 10001) returning id`)
  t.match(answer.json(), { codice: 'SQL_RISPOSTA_TROPPO_GRANDE' })
  t.same((await run('select count(*)::int as n from prenotazioni')).json().data, [{ n: 0 }])
  t.equal((await run('select generate_series(1, 10000)')).json().rowCount, 10_000, 'ten thousand rows are not too many')
})

t.test('what lasts longer than ten seconds is ended, though it catches that; a third at once is a 503', async (t) => {
  const stubborn = `do $$ begin loop
    begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`
  const both = Promise.all([run('select pg_sleep(60)'), run(stubborn)])
  while ((await running()) < 2) await sleep(50)
  const third = await run('select 1')
  t.equal(third.statusCode, 503)
  t.ok(third.headers['retry-after'])
  for (const answer of await both) t.match(answer.json(), { status: 400, sqlstate: '57014' })
  while ((await running()) > 0) await sleep(50)
  t.equal((await run('select 1')).statusCode, 200)
})

t.test('after five wrong passwords in a quarter of an hour the right one is a 429, in every process', async (t) => {
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
