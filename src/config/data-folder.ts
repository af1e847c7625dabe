import { accessSync, constants, mkdirSync, statSync } from 'node:fs'

/** A setting that stops the start: the message is one line and begins with the variable's name. */
export class ConfigError extends Error {
  constructor (variable: string, reason: string) {
    super(`${variable}: ${reason}`)
    this.name = 'ConfigError'
  }
}

/** What a person can do something about; of other failures the code is said. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'l’utente del server non può scriverci',
  EPERM: 'l’utente del server non può scriverci',
  EROFS: 'il disco è di sola lettura',
  ENOTDIR: 'non è una cartella, o è dentro un file',
  ENOENT: 'lì non si possono creare cartelle',
  ENOSPC: 'il disco è pieno',
  EDQUOT: 'lo spazio concesso sul disco è finito'
}

/**
 * Makes `DATA_DIR` where it is missing (mode 0700), and sees that files can be made in it.
 * @throws ConfigError naming DATA_DIR
 */
export function makeDataFolder (folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Where it is a file, root may do all that is asked for below.
    if (!statSync(folder).isDirectory()) throw Object.assign(new Error('a file'), { code: 'ENOTDIR' })
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (err) {
    throw dataFolderError(folder, err)
  }
}

/** The failure of a file in `DATA_DIR`. */
export function dataFolderError (folder: string, err: unknown): ConfigError {
  const code = err instanceof Error && 'code' in err ? String(err.code) : 'illeggibile'
  return new ConfigError('DATA_DIR', `la cartella ${folder} non si può usare: ${REASONS[code] ?? code}`)
}
