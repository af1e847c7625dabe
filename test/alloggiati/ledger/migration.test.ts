import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { migrate as drizzleMigrate } from 'drizzle-orm/postgres-js/migrator'
import t, { type Test } from 'tap'
import { connect, type Connection } from '#src/plugins/database/connect.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { databaseUrl, testDatabase } from '#test/database.ts'
import { temporaryFolder } from '#test/helper.ts'

const MIGRATIONS = fileURLToPath(new URL('../../../drizzle/migrations', import.meta.url))

t.test('a database with schedine is migrated whole, and the version before can still write to it', async (t) => {
  const { url, db, sql } = await emptyDatabase(t)
  await drizzleMigrate(db, { migrationsFolder: migrationsBefore(t, '0004_content_fingerprint_optional') })
  await sql`
    insert into invii (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
    values ('AW-20261121-1', 'RM000001', 'prova', 'Send', '2026-11-21', 3, now(), 'pronto', now())`
  await sql`
    insert into invii_schedine
      (invio_id, indice, capo, utente, riga, permanenza, impronta_contenuto, impronta_identita, esito)
    values (1, 0, 0, 'RM000001', 'riga', 3, 'contenuto', 'identità', 'in_corso')`
  await migrate(url)
  t.match(await sql`select * from invii_schedine`, [
    {
      invio_id: 1,
      riga: Buffer.from('riga'),
      impronta_identita: Buffer.from('identità'),
      impronta_contenuto: Buffer.from('contenuto')
    }
  ])
  await sql`update invii_schedine set esito = 'acquisita'`
  await sql`
    insert into invii_schedine
      (invio_id, indice, capo, utente, riga, permanenza, impronta_contenuto, impronta_identita, esito)
    values (1, 1, 1, 'RM000001', 'riga', 3, 'contenuto', 'altra identità', 'in_corso')`
  for (const change of ["riga = 'altra'", "impronta_identita = 'altra'", 'permanenza = 4', 'capo = 1']) {
    await t.rejects(sql.unsafe(`update invii_schedine set ${change}`), { code: 'LC002' }, change)
  }
})

/** A database without any table. */
async function emptyDatabase (t: Test): Promise<Connection & { url: string }> {
  const { url } = await testDatabase(t)
  const name = new URL(url).pathname.slice(1)
  const administration = connect(databaseUrl(url, 'postgres'), 1)
  await administration.sql.unsafe(`drop database ${name} with (force)`)
  await administration.sql.unsafe(`create database ${name}`)
  await administration.close()
  const connection = connect(url, 1)
  t.teardown(connection.close)
  return { ...connection, url }
}

/** A folder with the migrations that come before one. */
function migrationsBefore (t: Test, tag: string): string {
  const folder = temporaryFolder(t)
  cpSync(MIGRATIONS, folder, { recursive: true })
  const path = join(folder, 'meta/_journal.json')
  const journal = JSON.parse(readFileSync(path, 'utf8')) as { entries: { tag: string }[] }
  const entries = journal.entries.slice(0, journal.entries.findIndex((entry) => entry.tag === tag))
  writeFileSync(path, JSON.stringify({ ...journal, entries }))
  return folder
}
