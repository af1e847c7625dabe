import { lstat, open, rename, rm } from 'node:fs/promises'
import type postgres from 'postgres'
import type { EventType } from '#schemas/event.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { VERSION } from '#src/lib/version.ts'
import { LOCKS } from '#src/database/locks.ts'
import { lastMigration } from '#src/database/journal.ts'
import type { Backend, OpenedFile } from '#src/services/files/backends/backend.ts'
import { encryptedSize } from '#src/services/files/encryption.ts'
import { OperationError } from './errors.ts'
import { copyOut, ownTables, readSequences, readTables, OUTPUT_FORMAT } from './saved-tables.ts'
import { atOnce, isSealed, readBackup, rowsIn, seal, type Entry, type Manifest, type Summary } from './sealed-tar.ts'

/** The parts of an installation that a backup reads. `sql` is a pool of one connection. */
export interface Source { sql: postgres.Sql, backend: Backend, keys: Pick<Keys, 'fingerprint'> }

/** A completed backup. `size` is the size of its file in bytes. */
export interface Made { size: number, summary: Summary }

/** A fingerprint of the master key. It shows whether a backup and an installation have the same key. */
export const masterKeyMark = (keys: Source['keys']) => keys.fingerprint('backup', 'master-key').toString('hex')

/**
 * Writes a backup: the rows of one snapshot, and the files that these rows name. Servers may run meanwhile. Files that
 * they discard are kept until the backup ends.
 * @param isNightly whether the nightly job makes the backup. Then the file is verified before it is renamed, and
 *   replaces a damaged file with its name
 * @throws OperationError
 */
export async function createBackup (
  source: Source, path: string, passphrase: string, { pace = atOnce, isNightly = false } = {}
): Promise<Made> {
  const { sql } = source
  // Lock before the snapshot, so that files discarded after it are kept. This also waits for another backup.
  await sql`select pg_advisory_lock(${LOCKS.backup})`
  try {
    const summary: Summary = { tables: {}, files: 0, bytes: 0, missing: [], foreign: [], sequences: {} }
    const size = await writeThroughPartial(path, isNightly, async (partial) => {
      const written = await sql.begin('isolation level repeatable read read only', async (tx) => {
        await tx.unsafe(OUTPUT_FORMAT)
        return await writePartial(partial, pace(seal(entriesOf(tx, source, summary), passphrase)))
      })
      // Verify after the transaction, because an idle transaction would time out, and would block VACUUM.
      if (isNightly) await readBackup(partial, passphrase, { pace })
      return written
    })
    // The backup is valid even when its event cannot be recorded.
    await noteBackup(sql, 'salvataggio.riuscito').catch(() => {})
    return { size, summary }
  } finally {
    await sql`select pg_advisory_unlock(${LOCKS.backup})`.catch(() => {})
  }
}

/** Records the event of a completed or failed backup. */
export async function noteBackup (sql: postgres.Sql, tipo: Extract<EventType, `salvataggio.${string}`>): Promise<void> {
  await sql`select evento_annota(${tipo}, 'salvataggio:' || (now() at time zone 'Europe/Rome')::date, null)`
}

async function * entriesOf (tx: postgres.TransactionSql, source: Source, summary: Summary): AsyncGenerator<Entry> {
  const migration = await lastMigration(tx)
  if (migration === undefined) throw new OperationError('il database è vuoto: non c’è nulla da salvare')
  await requireFileStore(tx, source.backend)
  const { own, foreign } = ownTables(await readTables(tx), migration)
  summary.foreign = foreign
  yield jsonEntry('manifest.json', {
    version: VERSION,
    created: new Date().toISOString(),
    migration,
    masterKey: masterKeyMark(source.keys),
    columns: Object.fromEntries(own.map(({ name, columns }) => [name, columns]))
  } satisfies Manifest)
  for (const table of own) {
    // Reads the table twice, because tar needs the size before the content. Both reads use the same snapshot.
    let [size, rows] = [0, 0]
    for await (const piece of copyOut(tx, table)) {
      size += piece.length
      rows += rowsIn(piece)
    }
    yield { name: `tables/${table.name}.copy`, size, content: copyOut(tx, table) }
    summary.tables[table.name] = rows
  }
  yield * filesOf(tx, source.backend, summary)
  summary.sequences = await readSequences(tx)
  yield jsonEntry('summary.json', summary)
}

function jsonEntry (name: string, value: object): Entry {
  const content = Buffer.from(`${JSON.stringify(value, null, 2)}\n`)
  return { name, size: content.length, content: [content] }
}

/** Refuses a wrong or unmounted file store, because the backup would lack all files. */
async function requireFileStore (tx: postgres.TransactionSql, backend: Backend): Promise<void> {
  const [store] = await tx<{ id: string }[]>`select id from file_store where adopted_at is not null`
  if (store === undefined || await backend.head(store.id).catch(unlessFileError)) return
  throw new OperationError('l’archivio dei file (la cartella files di DATA_DIR, o il bucket S3) manca, non è ' +
    'montato, o è di un altro database: nulla è stato salvato')
}

async function * filesOf (tx: postgres.TransactionSql, backend: Backend, summary: Summary): AsyncGenerator<Entry> {
  const batches = tx<{ id: string, size: string }[]>`select id, size from objects order by id`.cursor(500)
  for await (const batch of batches) {
    for (const { id, size: contentSize } of batch) {
      const size = encryptedSize(Number(contentSize))
      const file = await backend.get(id).catch(unlessFileError)
      if (file?.size === size) {
        yield { name: `files/${id}`, size, content: inFull(file, () => { summary.missing.push(id) }) }
        summary.files++
        summary.bytes += size
      } else {
        file?.close()
        summary.missing.push(id)
      }
    }
  }
}

const ZEROS = Buffer.alloc(64 * 1024)

/** Reads a file. Missing or unreadable bytes are replaced by zeros, so that the backup continues. */
async function * inFull ({ content, size, close }: OpenedFile, onCut: () => void): AsyncGenerator<Buffer> {
  let length = 0
  try {
    for await (const piece of content) {
      length += piece.length
      yield piece
    }
  } catch (err) {
    unlessFileError(err)
  } finally {
    close()
  }
  if (length < size) onCut()
  for (; length < size; length += ZEROS.length) yield ZEROS.subarray(0, size - length)
}

/** Error codes that concern a single file or bad sectors. Other codes concern the whole file store. */
const FILE_ERRORS = ['EACCES', 'EPERM', 'EIO', 'EISDIR', 'ELOOP', 'EUCLEAN', 'EBADMSG']

/** Ignores an error that concerns a single file. @throws OperationError for other codes, and errors without a code */
function unlessFileError (err: unknown): undefined {
  const code = err instanceof Error && 'code' in err ? String(err.code) : undefined
  if (code === undefined) throw err
  if (!FILE_ERRORS.includes(code)) throw new OperationError(`i file non si possono leggere (${code})`, { cause: err })
}

/**
 * Calls the writer of `<file>.partial`, and renames it to `file`. After an error, the partial file is removed.
 * @param isOwnName whether the name is reserved: any existing file is replaced. Otherwise only an empty file or a
 *   backup is replaced
 * @throws OperationError, and errors of the writer
 */
export async function writeThroughPartial<T> (
  file: string, isOwnName: boolean, write: (partial: string) => Promise<T>
): Promise<T> {
  const existing = await lstat(file).catch(() => undefined)
  // The operator may have typed the name of another file, for example `master.key`.
  const isBackup = async () => await reportAsUnwritable(file, isSealed(file))
  if (existing && !(existing.isFile() && (isOwnName || existing.size === 0 || await isBackup()))) {
    throw new OperationError(`${file} c’è già, e non è un salvataggio`)
  }
  const partial = `${file}.partial`
  try {
    const written = await write(partial)
    await reportAsUnwritable(file, rename(partial, file))
    return written
  } catch (err) {
    await rm(partial, { force: true }).catch(() => {})
    throw err
  }
}

/** Writes a file that only its owner can read, with fsync. @returns its size in bytes */
export async function writePartial (partial: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  // A killed process may have left a partial file.
  await reportAsUnwritable(partial, rm(partial, { force: true }))
  const handle = await reportAsUnwritable(partial, open(partial, 'wx', 0o600))
  let size = 0
  try {
    for await (const piece of content) {
      await reportAsUnwritable(partial, handle.writeFile(piece))
      size += piece.length
    }
    await reportAsUnwritable(partial, handle.sync())
  } finally {
    await handle.close()
  }
  return size
}

/** @throws OperationError, which says that the file cannot be written, for every error of `work` */
async function reportAsUnwritable<T> (file: string, work: Promise<T>): Promise<T> {
  return await work.catch((err: NodeJS.ErrnoException) => {
    throw new OperationError(`${file} non si può scrivere (${err.code ?? err.name})`, { cause: err })
  })
}
