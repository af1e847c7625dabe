import { accessSync, constants, mkdirSync, statSync } from 'node:fs'

/** An invalid setting that prevents the start. The message is one line and starts with the variable's name. */
export class ConfigError extends Error {
  constructor (variable: string, reason: string) {
    super(`${variable}: ${reason}`)
    this.name = 'ConfigError'
  }
}

/** Error codes that an operator can fix, with a text. For others the message contains the code. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'l’utente del server non può scriverci',
  EPERM: 'l’utente del server non può scriverci',
  EROFS: 'il disco è di sola lettura',
  EEXIST: 'non è una cartella',
  ENOTDIR: 'non è una cartella, o è dentro un file',
  ENOENT: 'lì non si possono creare cartelle',
  ENOSPC: 'il disco è pieno',
  EDQUOT: 'lo spazio concesso sul disco è finito'
}

/**
 * Creates `DATA_DIR` if it is missing (mode 0700), and checks that it is writable.
 * @throws ConfigError, which names DATA_DIR
 */
export function makeDataFolder (folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    requireUsable(folder)
  } catch (err) {
    throw dataFolderError(folder, err)
  }
}

/**
 * Checks that `BACKUP_DIR` exists and is writable. It is not created, because its disk may not be mounted.
 * @throws ConfigError, which names BACKUP_DIR
 */
export function requireBackupFolder (folder: string): void {
  try {
    requireUsable(folder)
  } catch (err) {
    throw folderError('BACKUP_DIR', folder, err, { ...REASONS, ENOENT: 'non c’è: crearla, o montare il suo disco' })
  }
}

function requireUsable (folder: string): void {
  // On a file, the check below succeeds for root.
  if (!statSync(folder).isDirectory()) throw Object.assign(new Error('a file'), { code: 'ENOTDIR' })
  accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
}

/** The error for a failed file operation in `DATA_DIR`. */
export function dataFolderError (folder: string, err: unknown): ConfigError {
  return folderError('DATA_DIR', folder, err, REASONS)
}

function folderError (variable: string, folder: string, err: unknown, reasons: typeof REASONS): ConfigError {
  const code = err instanceof Error && 'code' in err ? String(err.code) : 'illeggibile'
  return new ConfigError(variable, `la cartella ${folder} non si può usare: ${reasons[code] ?? code}`)
}
