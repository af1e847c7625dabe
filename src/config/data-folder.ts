import { accessSync, constants, mkdirSync, statSync } from 'node:fs'

/** An invalid setting that prevents the start. The message is one line and starts with the variable's name. */
export class ConfigError extends Error {
  constructor (variable: string, reason: string) {
    super(`${variable}: ${reason}`)
    this.name = 'ConfigError'
  }
}

/** Errors that an operator can fix. For others the message has the code. */
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
 * @throws ConfigError naming DATA_DIR
 */
export function makeDataFolder (folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // root would pass the check below even on a file.
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error('a file'), { code: 'ENOTDIR' })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (err) {
    throw dataFolderError(folder, err)
  }
}

/** The error of a file operation in `DATA_DIR`. */
export function dataFolderError (folder: string, err: unknown): ConfigError {
  const code = err instanceof Error && 'code' in err ? String(err.code) : 'illeggibile'
  return new ConfigError('DATA_DIR', `la cartella ${folder} non si può usare: ${REASONS[code] ?? code}`)
}
