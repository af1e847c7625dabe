import { sql as text } from 'drizzle-orm'
import t from 'tap'
import { connect } from '#src/database/connect.ts'
import { keptStatements } from '#src/database/kept-statements.ts'
import { testDatabase } from '#test/database.ts'

t.test('PostgreSQL prepares a limited number of statements, and further ones run as well', async (t) => {
  const { db, sql, close } = connect((await testDatabase(t)).url, 1)
  t.teardown(close)
  const run = keptStatements()
  for (let at = 0; at < 250; at++) {
    const [row] = await run<{ sum: number }[]>(db, String(at), { at }, () => db.select({
      sum: text<number>`${text.placeholder('at')}::int + ${text.raw(String(at))}`.as('sum')
    }).from(text`(select) as nothing`))
    t.equal(row!.sum, 2 * at)
  }
  const prepared = await sql`
    select statement from pg_prepared_statements where statement like ${'%(select) as nothing'}`
  t.equal(prepared.length, 200)
})
