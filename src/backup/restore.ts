import { mkdir } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { drizzle } from 'drizzle-orm/postgres-js'
import type postgres from 'postgres'
import { suspendSending } from '#src/alloggiati/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { LOCKS } from '#src/database/locks.ts'
import { carryOut, knownMigrations } from '#src/database/migrate.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { OperationError } from './errors.ts'
import { opener, type Opener } from './container.ts'
import { readBackup, type Manifest, type Summary } from './contents.ts'
import { masterKeyMark } from './create.ts'
import { filePlace } from './file-place.ts'
import { withoutRules } from './rules.ts'
import { copyTarget, setSequences, SPELLING } from './tables.ts'

export interface Target {
  /** Of one session. */
  sql: postgres.Sql
  backend: Backend
  /** Where files are kept when not in S3: made when it is missing. */
  folder: string | undefined
}

/** A backup that is whole, and that this program and its master key can restore. */
export interface FittingBackup { path: string, open: Opener, manifest: Manifest }

/** What a person reads who asks why nothing is sent. */
const SUSPENDED = 'È stato ripristinato un salvataggio del %: ciò che è stato inviato dopo non vi è registrato. ' +
  'Confrontare le ricevute dei giorni seguenti, poi riprendere gli invii'

/**
 * Reads all of a backup, for which no database is needed: what is refused here has made none.
 * @throws OperationError
 */
export async function readFitting (
  path: string,
  passphrase: string,
  keys: Pick<Keys, 'fingerprint'>
): Promise<FittingBackup> {
  const open = opener(passphrase)
  const { manifest } = await readBackup(path, open)
  requireFitting(manifest, keys)
  return { path, open, manifest }
}

/**
 * Puts a backup into an empty database and an empty place of files: the rows in one transaction, which is the last that
 * happens. Sending to the police is suspended in the same transaction: what was sent since the backup is not known.
 * @throws OperationError; then nothing is there
 */
export async function restoreBackup (target: Target, { path, open, manifest }: FittingBackup): Promise<Summary> {
  const { sql } = target
  // A server that starts meanwhile waits.
  await sql`select pg_advisory_lock(${LOCKS.migrations})`
  await requireEmpty(sql)
  if (target.folder !== undefined) await mkdir(target.folder, { recursive: true, mode: 0o700 })
  const place = await filePlace(target.backend, manifest)
  const summary = await sql.begin(async (tx) => {
    await tx.unsafe(SPELLING)
    return await load(tx, sql, place.put, path, open)
  }).catch(async (err: unknown) => {
    if (await isUndone(sql).catch(() => false)) await place.clear().catch(() => {})
    throw err
  })
  // What was made up with zeros is missing, and found missing.
  for (const id of summary.missing) await target.backend.delete(id).catch(() => {})
  // From here on the rows are there, and need their files: a mark that stays is removed by the server, when it is old.
  await place.settle().catch(() => {})
  await sql`analyze`.catch(() => {})
  return summary
}

/**
 * Whether nothing is there after a failure. A connection that was lost at the commit does not say so: its session,
 * which may still be at it, has the lock to its end.
 */
async function isUndone (sql: postgres.Sql): Promise<boolean> {
  await sql`select pg_advisory_lock(${LOCKS.migrations})`
  return await isEmpty(sql)
}

async function load (
  tx: postgres.TransactionSql,
  { options }: postgres.Sql,
  put: (id: string, content: AsyncIterable<Buffer>) => Promise<void>,
  path: string,
  open: Opener
): Promise<Summary> {
  const known = knownMigrations()
  const { manifest, summary } = await readBackup(path, open, {
    async manifest ({ migration }) {
      await carryOut(tx, known.filter(({ folderMillis }) => folderMillis <= migration))
      await withoutRules.begin(tx)
    },
    async table (head, rows) {
      const target = await tx.unsafe(`copy ${copyTarget(head)} from stdin`).writable()
      await pipeline(Readable.from(rows, { objectMode: false }), target)
    },
    file: ({ id }, content) => put(id, content)
  })
  await setSequences(tx, summary.sequences)
  await withoutRules.end(tx)
  await carryOut(tx, known.filter(({ folderMillis }) => folderMillis > manifest.migration))
  const [store] = await tx<{ id: string }[]>`select id from file_store where adopted_at is not null`
  if (store) await put(store.id, Readable.from([]))
  // The driver's types and drizzle want the settings that only the pool itself has.
  await suspendSending(drizzle(Object.assign(tx, { options }) as unknown as postgres.Sql), 'sistema',
    SUSPENDED.replace('%', manifest.created.slice(0, 10)))
  return summary
}

function requireFitting ({ migration, version, masterKey }: Manifest, keys: Pick<Keys, 'fingerprint'>): void {
  if (!knownMigrations().some(({ folderMillis }) => folderMillis === migration)) {
    throw new OperationError(`il salvataggio è di Locanda ${version}, più recente di questa: usare quella versione`)
  }
  if (masterKey !== masterKeyMark(keys)) {
    throw new OperationError('MASTER_KEY non è quella del salvataggio: rimettere il file master.key di allora, o ' +
      'dare la chiave in MASTER_KEY')
  }
}

async function requireEmpty (sql: postgres.Sql): Promise<void> {
  if (await isEmpty(sql)) return
  throw new OperationError('il database non è vuoto: un ripristino vuole un database nuovo (di quello incorporato, ' +
    'spostare via la cartella postgres di DATA_DIR)')
}

async function isEmpty (sql: postgres.Sql): Promise<boolean> {
  const [{ tables }] = await sql<[{ tables: number }]>`
    select count(*)::int as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p') and n.nspname in (current_schema(), 'drizzle')
      and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
        and d.deptype = 'e')`
  return tables === 0
}
