import type postgres from 'postgres'
import type { Executor } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { banAgain, deleteAgain, endRestoredAccess, type RevokedKey } from '#src/identity/index.ts'
import { auditLog } from '#src/services/audit/log.ts'
import { readErasures, type ErasedIds } from './erasures-file.ts'

/** The access that a restore revoked, and the erasures and bans that it repeated. */
export interface SettledRestore {
  sessions: number
  keys: RevokedKey[]
  /** The file of erased ids, which may be missing. */
  path: string
  /** Erasures and bans up to this instant were repeated. Without the file, this is the instant of the backup. */
  until: string
  /**
   * The ids that the restore deleted or banned again (people), and those that the next start of the server erases.
   * Undefined when the file is missing or invalid.
   */
  repeated?: ErasedIds & { bloccati: string[] }
}

/**
 * Revokes the access that a restore would make valid again, and repeats erasures and bans. Bookings, scans and files to
 * erase are listed in the audit log. The server erases them at its next start (`restored-erasures.ts`).
 * @param created the instant of the backup
 */
export async function settleRestore (
  tx: postgres.TransactionSql, db: Executor, { keys, path: backup, created }:
  { keys: Pick<Keys, 'fingerprint'>, path: string, created: string }
): Promise<SettledRestore> {
  // Read before the entry below is added, because the file's name depends on the audit log.
  const { path, erasures } = await readErasures(tx, keys, backup)
  const access = await endRestoredAccess(db)
  const repeated = erasures && {
    utenti: await deleteAgain(db, erasures.cancellati.utenti),
    ...await presentIds(tx, erasures.cancellati),
    bloccati: await banAgain(db, erasures.bloccati)
  }
  await auditLog({ error: () => {} }).append(db, {
    actor: 'sistema',
    action: 'ripristino',
    details: { sessioni: access.sessions, chiavi: access.keys.map(({ id }) => id), ...repeated }
  })
  return { ...access, path, until: erasures?.fino_a ?? created, ...repeated && { repeated } }
}

/** The erased ids that exist in the backup. An id that the backup lacks may be assigned again later. */
async function presentIds (
  tx: postgres.TransactionSql, { utenti, prenotazioni, scansioni, file }: ErasedIds
): Promise<Omit<ErasedIds, 'utenti'>> {
  const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
  const among = (ids: readonly string[]) => tx`in (select jsonb_array_elements_text(${JSON.stringify(ids)}::jsonb))`
  return {
    prenotazioni: idsOf(await tx`select id::text from prenotazioni where id::text ${among(prenotazioni)} order by 1`),
    scansioni: idsOf(await tx`select id::text from scansioni where id::text ${among(scansioni)} order by 1`),
    // Includes the pictures of deleted people. A picture is named after the id of its owner.
    file: idsOf(await tx`select id::text from objects where object_id::text ${among(file)}
      or (bucket = 'avatars' and split_part(name, '.', 1) ${among(utenti)}) order by 1`)
  }
}
