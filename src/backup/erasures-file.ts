import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type postgres from 'postgres'
import type { Keys } from '#src/lib/secrets.ts'
import type { Executor } from '#src/database/connect.ts'
import { bansInForce, presentPeople, type Ban } from '#src/identity/index.ts'
import { writeThroughPartial, writePartial } from './create.ts'

/*
 * The file of erased ids in the folder of the nightly backups. A restored backup contains people, bookings, scans and
 * files that were erased later. The file lists only their ids, and the ids of banned users with the end of each ban. A
 * restored database assigns the same ids again to other data. So the file's name depends on the last restore, and later
 * erasures are written to a new file.
 */

/** The ids that a restore erases again. */
export interface ErasedIds { utenti: string[], prenotazioni: string[], scansioni: string[], file: string[] }

export interface Erasures {
  /** The instant up to which the file is complete. */
  fino_a: string
  cancellati: ErasedIds
  bloccati: Ban[]
}

type FileKeys = Pick<Keys, 'fingerprint'>

/** The path of the erasures file for the database of this connection, in a folder of backups. */
async function pathFor (sql: postgres.ISql, keys: FileKeys, folder: string): Promise<string> {
  const [{ origin }] = await sql<[{ origin: string }]>`
    select coalesce(
      (select encode(hash, 'hex') from audit_log where action = 'ripristino' order by id desc limit 1),
      (select id::text from file_store)) as origin`
  const name = keys.fingerprint('erasures', 'name', origin).toString('hex', 0, 8)
  return join(folder, `locanda-cancellazioni-${name}.json`)
}

/** Writes the erasures file from the audit log and the current bans. */
export async function writeErasures (
  { sql, db, keys }: { sql: postgres.ISql, db: Executor, keys: FileKeys }, folder: string
): Promise<void> {
  const [{ now }] = await sql<[{ now: Date }]>`select now()`
  const erasures: Erasures = {
    fino_a: new Date(now).toISOString(), cancellati: await erasedIds(sql, db), bloccati: await bansInForce(db)
  }
  const content = JSON.stringify({ ...erasures, impronta: markOf(keys, erasures) }, null, 2)
  await writeThroughPartial(await pathFor(sql, keys, folder), true, (partial) =>
    writePartial(partial, pieces(`${content}\n`)))
}

async function erasedIds (sql: postgres.ISql, db: Executor): Promise<ErasedIds> {
  const rows = await sql<{ kind: keyof ErasedIds, id: string }[]>`
    select distinct kind, id from (
      select 'utenti' as kind, split_part(object, ':', 2) as id from audit_log where action = 'utente_eliminato'
      union all
      select 'prenotazioni', split_part(object, ':', 2) from audit_log where action = 'dati_cancellati'
      union all
      select 'prenotazioni', jsonb_array_elements_text(details -> 'ids') from audit_log
        where action = 'prenotazioni_eliminate'
      union all
      select 'scansioni', split_part(object, ':', 2) from audit_log where action = 'scansione_eliminata'
      union all
      select 'scansioni', jsonb_array_elements_text(details -> 'scansioni') from audit_log
        where action = 'scansioni_scadute'
      union all
      select 'file', jsonb_array_elements_text(details -> 'file') from audit_log where action = 'file_eliminati'
    ) as erased order by kind, id`
  const erased: ErasedIds = { utenti: [], prenotazioni: [], scansioni: [], file: [] }
  for (const { kind, id } of rows) erased[kind].push(id)
  const present = new Set(await presentPeople(db, erased.utenti))
  return { ...erased, utenti: erased.utenti.filter((id) => !present.has(id)) }
}

/**
 * Reads the erasures file in the folder of a backup, for the restored database of this connection.
 * @returns the path, and the erasures, which are undefined when the file is missing, unreadable or tampered with
 */
export async function readErasures (
  sql: postgres.ISql, keys: FileKeys, backup: string
): Promise<{ path: string, erasures: Erasures | undefined }> {
  const path = await pathFor(sql, keys, dirname(backup))
  try {
    const { impronta, ...erasures } = JSON.parse(await readFile(path, 'utf8')) as Erasures & { impronta: string }
    return { path, erasures: impronta === markOf(keys, erasures) ? erasures : undefined }
  } catch {
    return { path, erasures: undefined }
  }
}

/** A keyed hash detects tampering. The folder may be on another machine, and a restore deletes the listed ids. */
function markOf (keys: FileKeys, erasures: Erasures): string {
  return keys.fingerprint('erasures', 'content', JSON.stringify(erasures)).toString('hex')
}

async function * pieces (text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}
