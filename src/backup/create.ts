import { finished } from 'node:stream/promises'
import type postgres from 'postgres'
import type { Keys } from '#src/lib/secrets.ts'
import { VERSION } from '#src/lib/version.ts'
import { LOCKS } from '#src/database/locks.ts'
import { schemaAfter } from '#src/database/known-schema.ts'
import { lastMigration } from '#src/database/last-migration.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { encryptedSize } from '#src/services/files/encryption.ts'
import { OperationError } from './errors.ts'
import { writeContainer } from './container.ts'
import { rowsIn, type FileHead, type Manifest, type Summary, type TableHead } from './contents.ts'
import { atOnce, type Pace } from './pace.ts'
import { section } from './sections.ts'
import { copyTarget, onlyKnown, readSequences, readTables, SPELLING, type Table } from './tables.ts'
import type { Unnamed } from './whole-file.ts'

export interface Source {
  /** Of one session. */
  sql: postgres.Sql
  backend: Backend
  keys: Pick<Keys, 'fingerprint'>
}

/** A backup that was made. */
export interface Made {
  /** Bytes of its file. */
  size: number
  summary: Summary
}

/** By this a backup and an installation know that they have the same master key. */
export function masterKeyMark (keys: Pick<Keys, 'fingerprint'>): string {
  return keys.fingerprint('backup', 'master-key').toString('hex')
}

export interface BackupOptions {
  /** Looks at the file before it takes its name. */
  check?: (partial: string) => Promise<unknown>
  pace?: Pace
  /** Whether the name is for backups alone: a file that has it is replaced, however damaged it is. */
  isOwnName?: boolean
}

/**
 * Writes a backup: the rows of one instant, and the files that they name. Servers work meanwhile; files that they
 * discard are removed once the backup has ended.
 * @throws OperationError
 */
export async function createBackup (
  source: Source,
  path: string,
  passphrase: string,
  { check, pace = atOnce, isOwnName }: BackupOptions = {}
): Promise<Made> {
  const { sql } = source
  // Before the snapshot: whatever is discarded after it stays until the end. Another backup is waited for.
  await sql`select pg_advisory_lock(${LOCKS.backup})`
  try {
    const summary: Summary = { kind: 'end', tables: {}, files: 0, bytes: 0, missing: [], foreign: [], sequences: {} }
    let writing: Promise<Unnamed> | undefined
    const { size, settle } = await sql.begin('isolation level repeatable read read only', async (tx) => {
      await requireLock(tx)
      await tx.unsafe(SPELLING)
      writing = writeContainer(path, passphrase, pace(contentOf(tx, source, summary)), isOwnName)
      return await writing
    }).catch(async (err: unknown) => {
      // A transaction whose connection is lost is over at once, and the file may be on its way to the disk still.
      await writing?.then(({ remove }) => remove(), () => {})
      throw err
    })
    // Behind the transaction: the server ends one that does nothing for so long, and keeps all dead rows meanwhile.
    await settle(check)
    return { size, summary }
  } finally {
    await sql`select pg_advisory_unlock(${LOCKS.backup})`.catch(() => {})
  }
}

/**
 * The lock belongs to the session: a connection that was opened again since has none. Files that the snapshot names
 * could then be removed.
 */
async function requireLock (tx: postgres.TransactionSql): Promise<void> {
  const held = await tx`
    select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and granted
      and database = (select oid from pg_database where datname = current_database())
      and classid = 0 and objid = ${LOCKS.backup}`
  if (held.length === 0) {
    throw new OperationError('la connessione al database è cambiata durante il salvataggio: ripeterlo')
  }
}

async function * contentOf (tx: postgres.TransactionSql, source: Source, summary: Summary): AsyncGenerator<Buffer> {
  const migration = await lastMigration(tx)
  if (migration === undefined) throw new OperationError('il database è vuoto: non c’è nulla da salvare')
  await requirePlace(tx, source.backend)
  yield * section({
    kind: 'manifest',
    version: VERSION,
    created: new Date().toISOString(),
    migration,
    masterKey: masterKeyMark(source.keys)
  } satisfies Manifest)
  const tables = await readTables(tx)
  const schema = schemaAfter(migration)
  // Of a newer program's database this one cannot tell what is whose: all of it is saved.
  const { own, foreign } = schema ? onlyKnown(tables, schema) : { own: tables, foreign: [] }
  summary.foreign = foreign
  for (const table of own) yield * tableSection(tx, table, summary)
  yield * fileSections(tx, source.backend, summary)
  summary.sequences = await readSequences(tx)
  yield * section(summary)
}

/**
 * One file that is missing is named, and the rest is saved. Where the place itself is another one all of them would be,
 * and backup after backup without them would take the place of those that have them.
 */
async function requirePlace (tx: postgres.TransactionSql, backend: Backend): Promise<void> {
  const [store] = await tx<{ id: string }[]>`select id from file_store where adopted_at is not null`
  if (store === undefined) return
  if (await backend.head(store.id).catch((err: unknown) => { throw storeError(err) }) === undefined) {
    throw new OperationError('il posto dei file (la cartella files di DATA_DIR, o il bucket S3) non c’è, non è ' +
      'montato, o non è quello di questo database: nulla è stato salvato')
  }
}

async function * tableSection (tx: postgres.TransactionSql, table: Table, { tables }: Summary): AsyncGenerator<Buffer> {
  async function * noted (): AsyncGenerator<Buffer> {
    const rows = await tx.unsafe(`copy ${copyTarget(table)} to stdout`).readable()
    let total = 0
    try {
      for await (const piece of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        total += rowsIn(piece)
        yield piece
      }
      tables[table.name] = total
    } finally {
      // The connection takes no other statement before the copy has ended: what nobody wants of it is passed over.
      await finished(rows.resume()).catch(() => {})
    }
  }
  yield * section({ kind: 'table', ...table } satisfies TableHead, noted())
}

/** Rows of files in memory at a time. */
const BATCH = 500

async function * fileSections (
  tx: postgres.TransactionSql,
  backend: Backend,
  summary: Summary
): AsyncGenerator<Buffer> {
  for (let last = '00000000-0000-0000-0000-000000000000', more = true; more;) {
    const rows = await tx<{ id: string, size: string }[]>`
      select id, size from objects where id > ${last} order by id limit ${BATCH}`
    for (const { id, size: contentSize } of rows) {
      const size = encryptedSize(Number(contentSize))
      const file = await readable(backend.get(id))
      try {
        // What is missing here is missing there: the backup says so, and has the rest.
        if (file?.size !== size) {
          summary.missing.push(id)
          continue
        }
        const content = inFull(file.content, size, () => { summary.missing.push(id) })
        yield * section({ kind: 'file', id, size } satisfies FileHead, content)
        summary.files++
        summary.bytes += size
      } finally {
        file?.close()
      }
    }
    last = rows.at(-1)?.id ?? last
    more = rows.length === BATCH
  }
}

/**
 * As many bytes as were announced: those of a file that ends too early, or cannot be read to its end, are made up with
 * zeros. Otherwise one file that a disk has lost would leave no backup at all.
 */
async function * inFull (content: AsyncIterable<Buffer>, size: number, onCut: () => void): AsyncGenerator<Buffer> {
  let length = 0
  try {
    for await (const piece of content) {
      length += piece.length
      yield piece
    }
  } catch (err) {
    if (!isOfFile(err)) throw storeError(err)
  }
  if (length < size) onCut()
  for (; length < size; length += ZEROS.length) yield ZEROS.subarray(0, size - length)
}

const ZEROS = Buffer.alloc(64 * 1024)

/** Undefined: the file cannot be read. */
async function readable<T> (opening: Promise<T>): Promise<T | undefined> {
  try {
    return await opening
  } catch (err) {
    if (isOfFile(err)) return undefined
    throw storeError(err)
  }
}

/** What the place of the files says: else it would be taken for the database's word, or the backup's own file. */
function storeError (err: unknown): unknown {
  const code = err instanceof Error && 'code' in err ? String(err.code) : undefined
  return code === undefined ? err : new OperationError(`i file non si possono leggere (${code})`, { cause: err })
}

/** Of one file, or of a part of the disk. Other errors are of the whole place, or ours. */
const OF_FILE = ['EACCES', 'EPERM', 'EIO', 'EISDIR', 'ELOOP', 'EUCLEAN', 'EBADMSG']

function isOfFile (err: unknown): boolean {
  return err instanceof Error && 'syscall' in err && 'code' in err && OF_FILE.includes(String(err.code))
}
