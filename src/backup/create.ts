import { lstat, open, rename, rm } from 'node:fs/promises'
import type postgres from 'postgres'
import type { EventType } from '#schemas/event.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { VERSION } from '#src/lib/version.ts'
import { LOCKS } from '#src/database/locks.ts'
import { lastMigration, schemaAfter } from '#src/database/journal.ts'
import type { Backend, OpenedFile } from '#src/services/files/backends/backend.ts'
import { encryptedSize } from '#src/services/files/encryption.ts'
import { OperationError } from './errors.ts'
import { copyOut, onlyKnown, readSequences, readTables, SPELLING } from './saved-tables.ts'
import { atOnce, isSealed, readBackup, rowsIn, seal, type Entry, type Manifest, type Summary } from './sealed-tar.ts'

/** Of an installation; `sql` has one session. */
export interface Source { sql: postgres.Sql, backend: Backend, keys: Pick<Keys, 'fingerprint'> }

/** A backup that was made; `size` is the bytes of its file. */
export interface Made { size: number, summary: Summary }

/** By this a backup and an installation know that they have the same master key. */
export const masterKeyMark = (keys: Source['keys']) => keys.fingerprint('backup', 'master-key').toString('hex')

/**
 * Writes a backup: the rows of one instant, and the files that they name. Servers work meanwhile; files that they
 * discard are removed once the backup has ended.
 * @param isNightly whether the name is the program's own, and the file is read before it gets it
 * @throws OperationError
 */
export async function createBackup (
  source: Source, path: string, passphrase: string, { pace = atOnce, isNightly = false } = {}
): Promise<Made> {
  const { sql } = source
  // Before the snapshot: whatever is discarded after it stays until the end. Another backup is waited for.
  await sql`select pg_advisory_lock(${LOCKS.backup})`
  try {
    const summary: Summary = { tables: {}, files: 0, bytes: 0, missing: [], foreign: [], sequences: {} }
    const size = await writeWhole(path, isNightly, async (partial) => {
      const written = await sql.begin('isolation level repeatable read read only', async (tx) => {
        await tx.unsafe(SPELLING)
        return await writePartial(partial, pace(seal(entriesOf(tx, source, summary), passphrase)))
      })
      // Behind the transaction: the server ends one that does nothing for so long, and keeps all dead rows meanwhile.
      if (isNightly) await readBackup(partial, passphrase, { pace })
      return written
    })
    // The backup is made, also when its event cannot be written.
    await noteBackup(sql, 'salvataggio.riuscito').catch(() => {})
    return { size, summary }
  } finally {
    await sql`select pg_advisory_unlock(${LOCKS.backup})`.catch(() => {})
  }
}

/** Writes down the event of a backup that was made, or failed. */
export async function noteBackup (sql: postgres.Sql, tipo: Extract<EventType, `salvataggio.${string}`>): Promise<void> {
  await sql`select evento_annota(${tipo}, 'salvataggio:' || (now() at time zone 'Europe/Rome')::date, null)`
}

async function * entriesOf (tx: postgres.TransactionSql, source: Source, summary: Summary): AsyncGenerator<Entry> {
  const migration = await lastMigration(tx)
  if (migration === undefined) throw new OperationError('il database è vuoto: non c’è nulla da salvare')
  await requirePlace(tx, source.backend)
  const { own, foreign } = onlyKnown(await readTables(tx), schemaAfter(migration))
  summary.foreign = foreign
  yield jsonEntry('manifest.json', {
    version: VERSION,
    created: new Date().toISOString(),
    migration,
    masterKey: masterKeyMark(source.keys),
    columns: Object.fromEntries(own.map(({ name, columns }) => [name, columns]))
  } satisfies Manifest)
  for (const table of own) {
    // Twice, for the size that tar wants to know first: in one snapshot the rows stay the same.
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

/** Where the place of the files is another one, all of them would be missing, in one backup after the other. */
async function requirePlace (tx: postgres.TransactionSql, backend: Backend): Promise<void> {
  const [store] = await tx<{ id: string }[]>`select id from file_store where adopted_at is not null`
  if (store === undefined || await backend.head(store.id).catch(unlessOfFile)) return
  throw new OperationError('il posto dei file (la cartella files di DATA_DIR, o il bucket S3) non c’è, non è ' +
    'montato, o non è quello di questo database: nulla è stato salvato')
}

async function * filesOf (tx: postgres.TransactionSql, backend: Backend, summary: Summary): AsyncGenerator<Entry> {
  const batches = tx<{ id: string, size: string }[]>`select id, size from objects order by id`.cursor(500)
  for await (const batch of batches) {
    for (const { id, size: contentSize } of batch) {
      const size = encryptedSize(Number(contentSize))
      const file = await backend.get(id).catch(unlessOfFile)
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

/** The bytes of a file; what a disk has lost of them is made up with zeros, so that the rest is saved. */
async function * inFull ({ content, size, close }: OpenedFile, onCut: () => void): AsyncGenerator<Buffer> {
  let length = 0
  try {
    for await (const piece of content) {
      length += piece.length
      yield piece
    }
  } catch (err) {
    unlessOfFile(err)
  } finally {
    close()
  }
  if (length < size) onCut()
  for (; length < size; length += ZEROS.length) yield ZEROS.subarray(0, size - length)
}

/** Faults of one file, or of a part of the disk. Others are of the whole place, and not of the database. */
const OF_FILE = ['EACCES', 'EPERM', 'EIO', 'EISDIR', 'ELOOP', 'EUCLEAN', 'EBADMSG']

function unlessOfFile (err: unknown): undefined {
  const code = err instanceof Error && 'code' in err ? String(err.code) : undefined
  if (code === undefined) throw err
  if (!OF_FILE.includes(code)) throw new OperationError(`i file non si possono leggere (${code})`, { cause: err })
}

/**
 * Has `<file>.partial` written, and gives it its name. Where that fails, no part of it stays.
 * @param isOwnName whether the name is for backups alone: a file that has it is replaced, however damaged it is
 */
export async function writeWhole<T> (
  file: string, isOwnName: boolean, write: (partial: string) => Promise<T>
): Promise<T> {
  const there = await lstat(file).catch(() => undefined)
  // A name that is mistyped may be that of the master key.
  if (there && !(there.isFile() && (isOwnName || there.size === 0 || await orTell(file, isSealed(file))))) {
    throw new OperationError(`${file} c’è già, e non è un salvataggio`)
  }
  const partial = `${file}.partial`
  try {
    const written = await write(partial)
    await orTell(file, rename(partial, file))
    return written
  } catch (err) {
    await rm(partial, { force: true }).catch(() => {})
    throw err
  }
}

/** Writes a file that its owner alone can read, to the disk; gives its bytes. */
export async function writePartial (partial: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  // One that is there was left by a process that was killed.
  await orTell(partial, rm(partial, { force: true }))
  const handle = await orTell(partial, open(partial, 'wx', 0o600))
  let size = 0
  try {
    for await (const piece of content) {
      await orTell(partial, handle.writeFile(piece))
      size += piece.length
    }
    await orTell(partial, handle.sync())
  } finally {
    await handle.close()
  }
  return size
}

/** The content may fail as well: a lost connection is no fault of the file. */
async function orTell<T> (file: string, work: Promise<T>): Promise<T> {
  return await work.catch((err: NodeJS.ErrnoException) => {
    throw new OperationError(`${file} non si può scrivere (${err.code ?? err.name})`, { cause: err })
  })
}
