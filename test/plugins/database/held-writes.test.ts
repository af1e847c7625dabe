import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connect } from '#src/plugins/database/connect.ts'
import { createSockets } from '#src/plugins/database/sockets.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'

/** A table with rows 1 and 2, and a pool of so many connections. */
async function table (t: Test, max = 1) {
  const { url, sql: other } = await testDatabase(t)
  const sockets = createSockets()
  const { sql, close } = connect(url, max, {}, sockets)
  t.teardown(close)
  await other`create table probe (n int primary key deferrable initially deferred, word text)`
  await other`insert into probe values (1, 'uno'), (2, 'due')`
  const rows = () => other`select n, word from probe order by n`
  return { sql, other, sockets, rows }
}

const WRITES: Record<string, [statement: string, parameters: (string | number)[]]> = {
  insert: ['insert into probe (n, word) values ($1, $2)', [3, 'tre']],
  update: ['update probe set word = $1', ['altro']],
  delete: ['DELETE FROM probe WHERE n = $1', [1]],
  'a part of a query': ['with gone as (delete from probe where n > $1 returning n) select n from gone', [0]]
}

for (const [name, [statement, parameters]] of Object.entries(WRITES)) {
  for (const prepare of [true, false]) {
    const how = prepare ? 'prepared' : 'not prepared'
    t.test(`what a server that hangs is asked to write is not written when it goes on: ${name}, ${how}`, async (t) => {
      const { sql, other, sockets, rows } = await table(t)
      const write = () => sql.unsafe(statement, parameters, { prepare })
      // From now on the connection sends it in one piece.
      await write()
      await other`truncate probe`
      await other`insert into probe values (1, 'uno'), (2, 'due')`
      const [{ pid } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      process.kill(pid!, 'SIGSTOP')
      const told = t.rejects(write(), { code: 'ETIMEDOUT' })
      await sleep(200)
      sockets.cut()
      await told
      process.kill(pid!, 'SIGCONT')
      await until(async () => (await other`select from pg_stat_activity where pid = ${pid!}`).length === 0)
      t.same(await rows(), [{ n: 1, word: 'uno' }, { n: 2, word: 'due' }])
    })
  }
}

t.test('what is written is committed when its caller is told so, and each query has its own result', async (t) => {
  const { sql, rows } = await table(t, 2)
  const twice = { code: '23505' }
  for (let round = 0; round < 3; round++) {
    await Promise.all([
      sql`insert into probe values (${10 + round}, 'nuova')`,
      t.resolveMatch(sql`select word from probe where n = ${1}`, [{ word: 'uno' }]),
      // Refused when it is committed.
      t.rejects(sql`insert into probe values (${1}, 'doppia')`, twice),
      t.resolveMatch(sql`update probe set word = 'due' where n = ${2} returning n`, [{ n: 2 }]),
      t.rejects(sql`insert into probe values (${'parola'}, 'sbagliata')`, { code: '22P02' }),
      t.rejects(sql`insert into nowhere values (${1})`, { code: '42P01' }),
      t.resolveMatch(sql`select ${round}::int as round`, [{ round }]),
      sql.begin(async (tx) => {
        await tx`update probe set word = ${'uno'} where n = 1`
        await tx`savepoint before`
        await tx`delete from probe`
        await tx`rollback to before`
      }),
      // What was prepared before the table changed is prepared anew.
      sql`alter table probe add column ${sql(`more_${round}`)} int`.simple()
    ])
    t.match(await sql`update probe set word = word where n = ${1} returning *`, [{ n: 1, word: 'uno' }])
  }
  t.same(await rows(), [
    { n: 1, word: 'uno' }, { n: 2, word: 'due' }, ...[10, 11, 12].map((n) => ({ n, word: 'nuova' }))
  ])
})
