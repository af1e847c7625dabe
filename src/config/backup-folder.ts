import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { ConfigError } from './data-folder.ts'

/** Subfolders of `DATA_DIR` that must not contain backups. */
const FORBIDDEN = ['postgres', 'files'] as const

/**
 * Rejects a backup folder inside the folder of the database or of the stored files. A backup there would be lost
 * together with these data, or read as one of the files.
 * @throws ConfigError, which names BACKUP_DIR
 */
export function requireOtherPlace (folder: string, dataDir: string): void {
  for (const name of FORBIDDEN) {
    if (!isWithin(join(dataDir, name), folder)) continue
    throw new ConfigError('BACKUP_DIR',
      `non può essere la cartella ${name} di DATA_DIR, né una in essa: i salvataggi starebbero fra i dati che salvano`)
  }
}

/** Whether a folder equals another folder or is inside it, after symbolic links are resolved. */
export function isWithin (outer: string, folder: string): boolean {
  return (realFolder(folder) + sep).startsWith(realFolder(outer) + sep)
}

/** Resolves symbolic links in the existing part of a path. */
function realFolder (folder: string): string {
  const path = resolve(folder)
  try {
    return realpathSync.native(path)
  } catch {
    return dirname(path) === path ? path : join(realFolder(dirname(path)), basename(path))
  }
}
