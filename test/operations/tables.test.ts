import t from 'tap'
import { onlyKnown, readTables } from '#src/operations/backup/tables.ts'
import { schemaAfter } from '#src/plugins/database/known-schema.ts'
import { lastMigration } from '#src/plugins/database/last-migration.ts'
import { testDatabase } from '#test/database.ts'

t.test('the program knows all of its own tables and columns', async (t) => {
  const { sql } = await testDatabase(t)
  const tables = await readTables(sql)
  t.ok(tables.length > 50)
  t.same(onlyKnown(tables, schemaAfter((await lastMigration(sql))!)!), { own: tables, foreign: [] })
  t.equal(schemaAfter(1), undefined)
})
