import { auditLog } from '#src/plugins/audit/log.ts'
import { filesFolder } from '#src/plugins/storage/backends/of-config.ts'
import { s3Settings } from '#src/plugins/storage/backends/s3.ts'
import { onInstallation, type Environ } from '../installation.ts'
import { readBackup, type Manifest, type Summary } from './contents.ts'
import { createBackup, type Made } from './create.ts'
import { noteBackup } from './note.ts'
import { unlessBrokenOff } from './pace.ts'
import { restoreBackup } from './restore.ts'

/**
 * Makes a backup of the installation whose environment this is.
 * @param signal breaks it off: nothing of its file stays
 * @throws OperationError
 */
export function backUp (environ: Environ, path: string, passphrase: string, signal: AbortSignal): Promise<Made> {
  return onInstallation(environ, false, async (installation) => {
    const { sql } = installation
    // It may be waiting for the database, which without its connection is over at once.
    const leave = () => { void sql.end({ timeout: 0 }) }
    signal.addEventListener('abort', leave, { once: true })
    if (signal.aborted) leave()
    const made = await createBackup(installation, path, passphrase, { pace: unlessBrokenOff(signal) })
      .finally(() => signal.removeEventListener('abort', leave))
    // The database may be of a version that has no events yet.
    await noteBackup(sql, 'salvataggio.riuscito').catch(() => {})
    return made
  })
}

/**
 * Puts a backup into the empty installation whose environment this is, and writes it down in the audit log.
 * @throws OperationError
 */
export function restore (environ: Environ, path: string, passphrase: string): Promise<Summary> {
  return onInstallation(environ, true, async ({ config, keys, sql, db, backend }) => {
    const folder = s3Settings(config) ? undefined : filesFolder(config)
    const summary = await restoreBackup({ sql, backend, folder, keys }, path, passphrase)
    await auditLog(keys, { error: () => {} }).append(db, { actor: 'sistema', action: 'ripristino' })
    return summary
  })
}

/**
 * Reads a whole backup, and counts; no installation is needed.
 * @throws OperationError
 */
export function verify (path: string, passphrase: string): Promise<{ manifest: Manifest, summary: Summary }> {
  return readBackup(path, passphrase)
}
