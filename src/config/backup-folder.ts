import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { ConfigError } from './data-folder.ts'

/** What the server keeps in `DATA_DIR` and takes to be its own altogether. */
const OWN = ['postgres', 'files'] as const

/**
 * Sees that backups are not put among the files of the database or of the documents: they would be lost with them, and
 * taken for some of them.
 * @throws ConfigError naming BACKUP_DIR
 */
export function requireOtherPlace (folder: string, dataDir: string): void {
  for (const name of OWN) {
    if (!isWithin(join(dataDir, name), folder)) continue
    throw new ConfigError('BACKUP_DIR',
      `non può essere la cartella ${name} di DATA_DIR, né una in essa: i salvataggi starebbero fra i dati che salvano`)
  }
}

/** Whether a folder is another one, or in it, wherever links lead. */
export function isWithin (outer: string, folder: string): boolean {
  return (realFolder(folder) + sep).startsWith(realFolder(outer) + sep)
}

/** Where the links of a path lead; what is not there yet is taken as it is written. */
function realFolder (folder: string): string {
  const path = resolve(folder)
  try {
    return realpathSync.native(path)
  } catch {
    return dirname(path) === path ? path : join(realFolder(dirname(path)), basename(path))
  }
}
