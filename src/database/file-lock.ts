import { DatabaseSync } from 'node:sqlite'

const SQLITE_BUSY = 5

/**
 * Locks a file exclusively until the returned handle is closed. Undefined if another process has the lock.
 *
 * Node has no `flock`. An exclusive transaction of SQLite uses a lock of the kernel, which ends with the process, even
 * after kill -9.
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
