import { mkdir } from 'node:fs/promises'
import { addAbortSignal, Readable } from 'node:stream'
import type postgres from 'postgres'
import { createKeys } from '#src/lib/secrets.ts'
import { auditLog } from '#src/services/audit/log.ts'
import { filesFolder } from '#src/services/files/backends/of-config.ts'
import { s3Settings } from '#src/services/files/backends/s3.ts'
import { createBackup, type Made } from './create.ts'
import { BrokenOff } from './errors.ts'
import { onInstallation, readEnvironment, type Environ } from './installation.ts'
import { requireFitting, restoreBackup } from './restore.ts'
import { readBackup, type Pace, type Summary } from './sealed-tar.ts'

/** Is given a function that interrupts the work, once there is something to remove; gives one that takes it back. */
type OnInterrupt = (leave: () => void) => () => void

/**
 * Makes a backup of the installation whose environment this is.
 * @throws OperationError; BrokenOff after an interruption, when no part of the file is left
 */
export function backUp (environ: Environ, path: string, passphrase: string, onInterrupt: OnInterrupt): Promise<Made> {
  return onInstallation(environ, false, (installation) => interruptible('Salvataggio interrotto', installation.sql,
    onInterrupt, (pace) => createBackup(installation, path, passphrase, { pace })))
}

/**
 * Puts a backup into the empty installation whose environment this is, and writes it down in the audit log. The backup
 * is read whole first, for which no database is needed: one that is refused has made none.
 * @throws OperationError; BrokenOff after an interruption, when no row and no file is left
 */
export async function restore (
  environ: Environ, path: string, passphrase: string, onInterrupt: OnInterrupt
): Promise<Summary> {
  const { manifest } = await readBackup(path, passphrase)
  requireFitting(manifest, createKeys(readEnvironment(environ).MASTER_KEY))
  return await onInstallation(environ, true, async ({ config, sql, db, backend }) => {
    if (!s3Settings(config)) await mkdir(filesFolder(config), { recursive: true, mode: 0o700 })
    const summary = await interruptible('Ripristino interrotto', sql, onInterrupt, (pace) =>
      restoreBackup({ sql, backend }, path, passphrase, pace))
    await auditLog({ error: () => {} }).append(db, { actor: 'sistema', action: 'ripristino' })
    return summary
  })
}

async function interruptible<T> (
  message: string, sql: postgres.Sql, onInterrupt: OnInterrupt, work: (pace: Pace) => Promise<T>
): Promise<T> {
  const interruption = new AbortController()
  const { signal } = interruption
  const letGo = onInterrupt(() => {
    interruption.abort()
    // It may be waiting for the database, which without its connection is over at once.
    void sql.end({ timeout: 0 })
  })
  return await work((pieces) => addAbortSignal(signal, Readable.from(pieces))).catch((err: unknown) => {
    throw signal.aborted ? new BrokenOff(message, { cause: err }) : err
  }).finally(letGo)
}
