import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

const SQLITE_BUSY = 5
const SQLITE_FULL = 13
const RETRY_MS = 20

/**
 * Runs `work` while no other process, nor another call here, is inside the lock of the same file. Node has no `flock`;
 * SQLite's exclusive transaction is the same kernel lock on every system, so it dies with its process:
 * nothing to clean up after a kill -9, no pid that could be another program's by now.
 */
export async function withLock<T> (file: string, work: () => Promise<T>): Promise<T> {
  createPrivate(file)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    while (!acquire(lock)) await sleep(RETRY_MS)
    return await work()
  } finally {
    lock.close()
  }
}

/**
 * Only ever created, never reopened: closing any descriptor of the file would drop this process's kernel locks on it.
 */
function createPrivate (file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (err) {
    if (!(err instanceof Error && 'code' in err && err.code === 'EEXIST')) throw err
  }
}

function acquire (lock: DatabaseSync): boolean {
  try {
    // Nothing is ever written: without a journal the lock is had on a full disk, too.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return true
  } catch (err) {
    const code = err instanceof Error && 'errcode' in err ? Number(err.errcode) & 0xff : undefined
    if (code === SQLITE_BUSY) return false
    if (code === SQLITE_FULL) throw Object.assign(new Error('the disk is full', { cause: err }), { code: 'ENOSPC' })
    throw err
  }
}
