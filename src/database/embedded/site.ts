import { createHash, randomBytes } from 'node:crypto'
import { readFile, realpath, writeFile } from 'node:fs/promises'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ignoring } from '#src/lib/ignoring.ts'
import { chooseAccount } from './account.ts'
import { findBinaries } from './binaries.ts'
import type { Log } from './embedded-error.ts'

/** Part of the socket's file name, not a TCP port. */
const SOCKET_PORT = 5432
/** Maximum bytes of a socket path on every Unix (`sun_path` has 104 on BSD and macOS, 108 on Linux). */
const PATH_LIMIT = 103

export interface EmbeddedOptions {
  /** The folder whose subfolder `postgres` contains the cluster. */
  dataDir: string
  log: Log
  /** Whether a server starts the cluster. A second server is refused, but a tool shares the cluster of a server. */
  isServer?: boolean
  /** Aborts the wait for another process that uses the cluster. */
  signal?: AbortSignal
  /** For tests: loopback TCP with a password, as on Windows. */
  tcp?: boolean
  /** For tests: PostgreSQL settings that override the defaults. */
  settings?: Readonly<Record<string, string>>
}

/** The parameters for finding, starting and stopping the cluster of one `DATA_DIR`. */
export type Site = Awaited<ReturnType<typeof describeSite>>

/** @param home `DATA_DIR`, without symbolic links */
export async function describeSite (home: string, { log, settings, tcp = platform() === 'win32' }: EmbeddedOptions) {
  const link = join(home, 'postgres')
  const folder = await realpath(link).catch(ignoring('ENOENT')) ?? link
  const account = await chooseAccount(folder)
  if (account) log(`embedded PostgreSQL: runs as user ${account.uid}, because it refuses root`)
  const passwordFile = tcp ? join(home, 'postgres.password') : undefined
  return {
    folder,
    account,
    ...await findBinaries(account, home, log),
    passwordFile,
    password: passwordFile && await readPassword(passwordFile),
    /** The loopback address, or the path of the socket folder without its suffix `:5432`. */
    host: tcp ? '127.0.0.1' : socketHost(folder),
    /** Undefined means a random port. */
    port: tcp ? undefined : SOCKET_PORT,
    settings,
    log
  }
}

/** The socket folder: in the data folder, or below the temporary folder when the path would be too long. */
function socketHost (folder: string): string {
  const host = join(folder, 'socket,')
  if (Buffer.byteLength(`${host}:${SOCKET_PORT}/.s.PGSQL.${SOCKET_PORT}`) <= PATH_LIMIT) return host
  return join(tmpdir(), `locanda-${createHash('sha256').update(folder).digest('hex').slice(0, 12)},`)
}

/** The password for loopback TCP, generated once. */
async function readPassword (file: string): Promise<string> {
  await writeFile(file, randomBytes(24).toString('base64url'), { flag: 'wx', mode: 0o600 }).catch(ignoring('EEXIST'))
  return await readFile(file, 'utf8')
}
