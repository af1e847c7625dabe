import { DatabaseSync } from 'node:sqlite'

const SQLITE_BUSY = 5

/**
 * Takes an exclusive lock on a file until it is closed; undefined: another process has it. Node has no `flock`.
 * SQLite's exclusive transaction uses the kernel lock of each system, which ends with the process, even on kill -9.
 */
export function lockFile (file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // The transaction writes no page. Without a journal file SQLite can take the lock even on a full disk.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (err) {
    lock.close()
    if (err instanceof Error && 'errcode' in err && err.errcode === SQLITE_BUSY) return undefined
    throw err
  }
}
