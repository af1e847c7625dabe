import { createKeys } from '#src/lib/secrets.ts'
import { auditLog } from '#src/services/audit/log.ts'
import { filesFolder } from '#src/services/files/backends/of-config.ts'
import { s3Settings } from '#src/services/files/backends/s3.ts'
import { BrokenOff } from './errors.ts'
import { onInstallation, readEnvironment, type Environ } from './installation.ts'
import { readBackup, type Manifest, type Summary } from './contents.ts'
import { createBackup, type Made } from './create.ts'
import { noteBackup } from './note.ts'
import { unlessBrokenOff } from './pace.ts'
import { readFitting, restoreBackup } from './restore.ts'

/**
 * Makes a backup of the installation whose environment this is.
 * @param onInterrupt is given a function that interrupts the work, and returns one that takes it back. It is called
 * when the database is open: before that there is nothing to remove, and a signal ends the process as usual.
 * @throws OperationError; BrokenOff after an interruption, when nothing of the file is left
 */
export function backUp (
  environ: Environ, path: string, passphrase: string, onInterrupt: (leave: () => void) => () => void
): Promise<Made> {
  return onInstallation(environ, false, async (installation) => {
    const { sql } = installation
    const interrupted = new AbortController()
    const letGo = onInterrupt(() => {
      interrupted.abort()
      // It may be waiting for the database, which without its connection is over at once.
      void sql.end({ timeout: 0 })
    })
    const made = await createBackup(installation, path, passphrase, { pace: unlessBrokenOff(interrupted.signal) })
      .catch((err: unknown) => {
        throw interrupted.signal.aborted ? new BrokenOff('Salvataggio interrotto', { cause: err }) : err
      })
      .finally(letGo)
    // The backup is made, also when its event cannot be written.
    await noteBackup(sql, 'salvataggio.riuscito').catch(() => {})
    return made
  })
}

/**
 * Puts a backup into the empty installation whose environment this is, and writes it down in the audit log.
 * @throws OperationError
 */
export async function restore (environ: Environ, path: string, passphrase: string): Promise<Summary> {
  const backup = await readFitting(path, passphrase, createKeys(readEnvironment(environ).MASTER_KEY))
  return await onInstallation(environ, true, async ({ config, keys, sql, db, backend }) => {
    const folder = s3Settings(config) ? undefined : filesFolder(config)
    const summary = await restoreBackup({ sql, backend, folder }, backup)
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
