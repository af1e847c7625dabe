import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { drizzle } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import { suspendFor } from '#src/alloggiati/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { LOCKS } from '#src/database/locks.ts'
import { lastMigration } from '#src/database/journal.ts'
import { applyMigrations, knownMigrations } from '#src/database/migrate.ts'
import { settleRestore, type SettledRestore } from './settle-restore.ts'
import { masterKeyMark, type Source } from './create.ts'
import { OperationError } from './errors.ts'
import { copyTarget, prepareTables, readTables, OUTPUT_FORMAT } from './saved-tables.ts'
import { readBackup, type Manifest, type Pace, type Reader, type Summary } from './sealed-tar.ts'

/** The reason of the suspension, which hosts see. */
const SUSPENDED = 'È stato ripristinato un salvataggio del %: gli invii successivi non sono registrati. ' +
  'Confrontare le ricevute dei giorni seguenti, poi riprendere gli invii'

const USED_DATABASE = 'il database non è vuoto: usare un database nuovo (per quello incorporato, spostare ' +
  'altrove la cartella postgres di DATA_DIR)'
/** Two databases must not share a file store, because each would delete the files of the other. */
const USED_FILE_STORE = 'l’archivio dei file (la cartella files di DATA_DIR, o il bucket S3) non è vuoto: usarne uno ' +
  'vuoto, senza resti di un altro ripristino'

/** A completed restore. */
export interface Restored { summary: Summary, settled: SettledRestore }

/** @throws OperationError when this version or this master key cannot restore the backup */
export function requireCompatible ({ migration, version, masterKey }: Manifest, keys: Pick<Keys, 'fingerprint'>): void {
  if (!knownMigrations().some(({ folderMillis }) => folderMillis === migration)) {
    throw new OperationError(`il salvataggio è di Locanda ${version}, più recente di questa: usare quella versione`)
  }
  if (masterKey !== masterKeyMark(keys)) {
    throw new OperationError('MASTER_KEY non è quella del salvataggio: usare il file master.key di allora, o ' +
      'indicare la chiave in MASTER_KEY')
  }
}

/**
 * Restores a backup into an empty database and an empty file store. All rows are in one transaction, which commits
 * last. It suspends sending to the police, because the database does not contain submissions sent after the backup. It
 * revokes all sessions and keys, and records the restore in the audit log. After a failure it rolls back the rows and
 * removes the files that it has written. Only when the connection is lost during the commit, the files stay.
 * @throws OperationError
 */
export async function restoreBackup (
  { sql, backend, keys }: Source, path: string, passphrase: string, pace?: Pace
): Promise<Restored> {
  // A server that starts meanwhile has to wait for this lock.
  await sql`select pg_advisory_lock(${LOCKS.migrations})`
  if ((await readTables(sql)).length > 0 || await lastMigration(sql)) throw new OperationError(USED_DATABASE)
  if (!(await backend.list()[Symbol.asyncIterator]().next()).done) throw new OperationError(USED_FILE_STORE)
  let loading: Promise<Restored> | undefined
  const restored = await sql.begin((tx) => {
    loading = load(tx, { sql, backend, keys }, path, (reader) => readBackup(path, passphrase, { reader, pace }))
    return loading
  }).catch(async (err: unknown) => {
    // If the connection is lost during the commit, the rows may exist, and then their files must stay.
    const isLoaded = await loading?.then(() => true, () => false)
    if (!isLoaded) for await (const { id } of backend.list()) await backend.delete(id).catch(() => {})
    throw err
  })
  // Deletes files that the backup padded with zeros, so that they are reported as missing.
  for (const id of restored.summary.missing) await backend.delete(id).catch(() => {})
  await sql`analyze`.catch(() => {})
  return restored
}

async function load (
  tx: postgres.TransactionSql, { sql: { options }, backend, keys }: Source, path: string,
  read: (reader: Reader) => ReturnType<typeof readBackup>
): Promise<Restored> {
  const known = knownMigrations()
  let columns: Manifest['columns'] = {}
  let restoreConstraints = async () => {}
  await tx.unsafe(OUTPUT_FORMAT)
  const { manifest, summary } = await read({
    async manifest (manifest) {
      columns = manifest.columns
      await applyMigrations(tx, known.filter(({ folderMillis }) => folderMillis <= manifest.migration))
      restoreConstraints = await prepareTables(tx)
    },
    async table (name, rows) {
      const target = await tx.unsafe(`copy ${copyTarget({ name, columns: columns[name] ?? [] })} from stdin`).writable()
      await pipeline(Readable.from(rows, { objectMode: false }), target)
    },
    file: (id, content) => backend.put(id, content)
  })
  for (const [name, last] of Object.entries(summary.sequences)) {
    // Ignores sequences that an operator had added, because they do not exist here.
    await tx`select setval(to_regclass(quote_ident(${name})), ${last}::bigint)`
  }
  await restoreConstraints()
  await applyMigrations(tx, known.filter(({ folderMillis }) => folderMillis > manifest.migration))
  const [store] = await tx<{ id: string }[]>`select id from file_store where adopted_at is not null`
  if (store) await backend.put(store.id, Readable.from([]))
  // Drizzle's type requires a pool. A transaction lacks only one field that Drizzle uses, `options`.
  const db = drizzle(Object.assign(tx, { options }) as unknown as postgres.Sql)
  await suspendFor(db, SUSPENDED.replace('%', manifest.created.slice(0, 10)))
  return { summary, settled: await settleRestore(tx, db, { keys, path, created: manifest.created }) }
}
