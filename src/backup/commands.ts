import { accessSync, constants, existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { addAbortSignal, Readable } from 'node:stream'
import type postgres from 'postgres'
import { Environment } from '#schemas/config.ts'
import { ConfigError } from '#src/config/data-folder.ts'
import { readConfig, type Config } from '#src/config/config.ts'
import { createKeys, type Keys } from '#src/lib/secrets.ts'
import { connect, type Database } from '#src/database/connect.ts'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { EmbeddedError } from '#src/database/embedded/embedded-error.ts'
import { isDiskFull, startProblem } from '#src/database/problems.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { chooseBackend, filesFolder } from '#src/services/files/backends/choose-backend.ts'
import { s3Settings } from '#src/services/files/backends/s3-backend.ts'
import { createBackup, type Made } from './create.ts'
import { InterruptedError, OperationError } from './errors.ts'
import { requireCompatible, restoreBackup, type Restored } from './restore.ts'
import { LONG_TIMEOUTS } from './saved-tables.ts'
import { readBackup, type Pace } from './sealed-tar.ts'

export type Environ = Readonly<Record<string, string | undefined>>

/** The parts of an installation, for commands that may run at the same time as its servers. */
export interface Installation {
  config: Config
  keys: Keys
  /** A pool of one connection. */
  sql: postgres.Sql
  db: Database
  backend: Backend
}

/**
 * Reads the configuration from a server's environment. It generates no master key.
 * @throws OperationError
 */
export function readEnvironment (environ: Environ): Config {
  const dataDir = resolve(environ.DATA_DIR || Environment.properties.DATA_DIR.default)
  if (!environ.MASTER_KEY) requireKeyFile(join(dataDir, 'master.key'))
  try {
    return readConfig(environ)
  } catch (err) {
    throw err instanceof ConfigError ? new OperationError(err.message, { cause: err }) : err
  }
}

/** Fails when the key file is missing or unreadable. The messages differ: an unreadable key must not be replaced. */
function requireKeyFile (path: string): void {
  try {
    accessSync(path, constants.R_OK)
  } catch (err) {
    const code = err instanceof Error && 'code' in err ? err.code : undefined
    if (code === 'ENOTDIR') throw new OperationError(`DATA_DIR: ${dirname(path)} non è una cartella`, { cause: err })
    throw new OperationError(code === 'ENOENT'
      ? `MASTER_KEY manca, e non c’è ${path}: servono l’ambiente (DATA_DIR) e la chiave del server`
      : `${path} non si può leggere (${String(code)}): eseguire il comando come l’utente del server`, { cause: err })
  }
}

/**
 * Connects to an installation and runs work on it.
 * @param mayBeNew creates the embedded database when it is missing
 * @throws OperationError for a problem of the configuration, the database or the disk that the operator can fix
 */
export async function onInstallation<T> (
  environ: Environ,
  mayBeNew: boolean,
  work: (installation: Installation) => Promise<T>
): Promise<T> {
  const config = readEnvironment(environ)
  const { DATA_DIR, DATABASE_URL } = config
  if (DATABASE_URL === undefined && !mayBeNew && !existsSync(join(DATA_DIR, 'postgres'))) {
    throw new OperationError(`DATA_DIR: nessun server ha i suoi dati in ${DATA_DIR}`)
  }
  const keys = createKeys(config.MASTER_KEY)
  try {
    const embedded = DATABASE_URL === undefined ? await startEmbedded({ dataDir: DATA_DIR, log: () => {} }) : undefined
    const { sql, db, close } = connect(DATABASE_URL ?? embedded!.url, 1, LONG_TIMEOUTS)
    try {
      return await work({ config, keys, sql, db, backend: chooseBackend(config) })
    } finally {
      await close()
      await embedded?.stop()
    }
  } catch (err) {
    const reason = reasonOf(err)
    throw reason === undefined ? err : new OperationError(reason, { cause: err })
  }
}

/** One line about a problem that the operator can fix. Undefined for other errors, and for an OperationError. */
function reasonOf (err: unknown): string | undefined {
  if (err instanceof OperationError) return undefined
  if (err instanceof EmbeddedError) return err.message
  if (isDiskFull(err)) return 'il disco è pieno'
  const problem = startProblem(err)
  return problem === undefined ? undefined : `DATABASE_URL: ${problem}`
}

/** Registers a function that interrupts the work. Returns a function that unregisters it. */
type OnInterrupt = (leave: () => void) => () => void

/**
 * Backs up the installation of this environment.
 * @throws InterruptedError after an interruption, once the partial file is removed. OperationError otherwise
 */
export function backUp (environ: Environ, path: string, passphrase: string, onInterrupt: OnInterrupt): Promise<Made> {
  return onInstallation(environ, false, (installation) => interruptible('Salvataggio interrotto', installation.sql,
    onInterrupt, (pace) => createBackup(installation, path, passphrase, { pace })))
}

/**
 * Restores a backup into the empty installation of this environment. It verifies the whole backup first, so a refused
 * backup creates no database.
 * @throws InterruptedError after an interruption, once rows and files are removed. OperationError otherwise
 */
export async function restore (
  environ: Environ, path: string, passphrase: string, onInterrupt: OnInterrupt
): Promise<Restored> {
  const { manifest } = await readBackup(path, passphrase)
  requireCompatible(manifest, createKeys(readEnvironment(environ).MASTER_KEY))
  return await onInstallation(environ, true, async ({ config, keys, sql, backend }) => {
    if (!s3Settings(config)) await mkdir(filesFolder(config), { recursive: true, mode: 0o700 })
    return await interruptible('Ripristino interrotto', sql, onInterrupt, (pace) =>
      restoreBackup({ sql, backend, keys }, path, passphrase, pace))
  })
}

async function interruptible<T> (
  message: string, sql: postgres.Sql, onInterrupt: OnInterrupt, work: (pace: Pace) => Promise<T>
): Promise<T> {
  const interruption = new AbortController()
  const { signal } = interruption
  const unregister = onInterrupt(() => {
    interruption.abort()
    // The work may be waiting for the database. Closing the connection ends the wait at once.
    void sql.end({ timeout: 0 })
  })
  return await work((pieces) => addAbortSignal(signal, Readable.from(pieces))).catch((err: unknown) => {
    throw signal.aborted ? new InterruptedError(message, { cause: err }) : err
  }).finally(unregister)
}
