import { drizzle } from 'drizzle-orm/postgres-js'
import t from 'tap'
import { allUsers, pageOfUsers, USERS_AT_A_TIME } from '#src/identity/people/user-lists.ts'
import { testDatabase } from '#test/database.ts'

const USERS = 2 * USERS_AT_A_TIME + 5

t.test('lists of many users', async (t) => {
  const { sql } = await testDatabase(t)
  const queries: { text: string, values: unknown[] }[] = []
  const db = drizzle(sql, { logger: { logQuery: (text, values) => queries.push({ text, values }) } })
  // Ten of each instant.
  await sql`
    insert into users (email, created_at)
    select 'utente' || n || '@example.org', now() - n / 10 * interval '1 minute'
    from generate_series(1, ${USERS}::int) n`
  await sql`insert into users (email, deleted_at) values ('tolta@example.org', now())`
  await sql`analyze users`

  t.test('all come once, in batches and in pages alike', async (t) => {
    const batches: string[] = []
    for await (const users of allUsers(db)) batches.push(...users.map(({ id }) => id))
    t.equal(new Set(batches).size, USERS)
    const pages: string[] = []
    for (let offset = 0; offset < USERS; offset += 500) {
      const { users, total } = await pageOfUsers(db, { limit: 500, offset, where: undefined })
      t.equal(total, USERS)
      pages.push(...users.map(({ id }) => id))
    }
    t.strictSame(pages, batches)
    const beyond = await pageOfUsers(db, { limit: 500, offset: 5000, where: undefined })
    t.same(beyond, { users: [], total: USERS })
  })

  t.test('no list sorts users: an index has them in order', async (t) => {
    const lists = queries.filter(({ text }) => text.includes('from "users"') && text.includes('order by'))
    t.ok(lists.length > 5)
    await sql.begin(async (tx) => {
      // So few rows are read faster without an index.
      await tx`set local enable_seqscan = off`
      await tx`set local enable_bitmapscan = off`
      for (const { text, values } of lists) {
        t.notMatch(JSON.stringify(await tx.unsafe(`explain ${text}`, values as never[])), /Sort/)
      }
    })
  })

  t.test('a page that is not full is not counted', async (t) => {
    queries.length = 0
    t.equal((await pageOfUsers(db, { limit: 50, offset: USERS - 5, where: undefined })).total, USERS)
    t.notMatch(queries.map(({ text }) => text).join(), /count\(/)
  })
})
