import {
  access, chmod, mkdir, mkdtemp, open, readdir, readFile, readlink, rename, rm, rmdir, stat, statfs
} from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { dataArgument, give, run, type Account } from './account.ts'
import { EmbeddedError, ignoring, type Log } from './embedded-error.ts'

/** The parameters for finding, starting and stopping the cluster of one `DATA_DIR`. */
export interface Site {
  /** `DATA_DIR`. */
  home: string
  /** The data folder. */
  folder: string
  bin: string
  version: string
  account: Account
  /** The loopback address, or the path of the socket's folder up to the colon: its name ends with `,:5432`. */
  host: string
  port: number
  /** Needed only at the loopback address. */
  password: string | undefined
  settings: Readonly<Record<string, string>>
  log: Log
}

/** A connection that stays open. It closes when the cluster crashes. */
export interface Held { sql: postgres.Sql, port: number, closed: Promise<void> }

/** Passed at every start, so that a new version of the program can change them. */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  fsync: 'on',
  TimeZone: 'UTC',
  jit: 'off',
  // Limit per process, so that a huge sort does not fill the disk of the ledger.
  temp_file_limit: '2GB',
  // Keeps personal data out of the log: no statements, no values of violated constraints.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // Error messages contain values, too, and a statement can raise any number of messages.
  log_min_messages: 'fatal'
}

/** Options of a new cluster. The builtin provider sorts the same on every system and with every C library. */
const INITDB_OPTIONS: readonly string[] = [
  '--username=postgres',
  '--encoding=UTF8',
  '--locale=C',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--data-checksums',
  // The socket lies in a folder that only its owner can enter; over TCP there is a password.
  '--auth-local=trust',
  '--auth-host=scram-sha-256',
  '--no-instructions'
]

export const PASSWORD_FILE = 'postgres.password'
const POLL_MS = 20
const RETRY_MS = 200
/** Crash recovery replays at most `max_wal_size`, which is slow on a slow disk. */
const START_LIMIT_SECONDS = 300
const STOP_LIMIT_SECONDS = 30
/** Below this many free bytes we assume that writes fail. */
const LOG_BYTES = 2 ** 20
/** Error codes of a server that is starting, stopping or stopped. */
const PASSING_CODES = /^(?:57P0[123]|ENOENT|ECONNREFUSED|ECONNRESET|EPIPE|CONNECTION_CLOSED|CONNECT_TIMEOUT)$/
/** Log messages of PostgreSQL while child processes of a killed postmaster are still exiting. */
const PASSING_WORDS = /is still in use|lock file ".*" already exists/

/**
 * Creates the cluster when the folder is empty or missing. Otherwise it fixes owner and mode, which may be wrong after
 * a restore as root and which PostgreSQL would refuse.
 * @throws EmbeddedError for a cluster of another major version, and for a folder with other content
 */
export async function prepareFolder (site: Site): Promise<void> {
  const { folder, account, version, log } = site
  const [major] = version.split('.')
  const names = await readdir(folder).catch(ignoring('ENOENT'))
  if (!names?.length) {
    log(`PostgreSQL incorporato: preparo una base dati nuova in ${folder}`)
    return await initialise(site)
  }
  const found = (await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(ignoring('ENOENT')))?.trim()
  if (found !== major) {
    throw new EmbeddedError(`la cartella ${folder} contiene ${found ? `PostgreSQL ${found}` : 'altri file'}, ` +
      `il programma installato è PostgreSQL ${major}: nulla è stato toccato; convertire i dati (dump e ripristino)`)
  }
  await chmod(folder, 0o700)
  if (account && (await stat(folder)).uid !== account.uid) await give(folder, account)
}

/** Renames the new cluster to its final name when it is complete. A killed initdb leaves only a folder to remove. */
async function initialise ({ home, folder, account, bin, password }: Site): Promise<void> {
  const [parent, prefix] = [dirname(folder), `${basename(folder)}.partial-`]
  const left = (await readdir(parent)).filter((name) => name.startsWith(prefix))
  for (const name of left) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 3 })
  // A new name, because the initdb of a killed server may still be writing to the old folder.
  const partial = await mkdtemp(join(parent, prefix))
  await give(partial, account)
  // Removes an empty folder, but fails for a symbolic link to a disk that is not mounted.
  await rmdir(folder).catch(ignoring('ENOENT'))
  const options = ['-D', dataArgument(partial, account), ...INITDB_OPTIONS]
  if (password !== undefined) options.push(`--pwfile=${join(home, PASSWORD_FILE)}`)
  await run(join(bin, 'initdb'), options, account, partial)
  await rename(partial, folder)
  if (platform() === 'win32') return
  // Without fsync a power failure could undo the rename, and the next start would delete committed rows.
  const handle = await open(parent)
  await handle.sync().finally(() => handle.close())
}

/** Connects as superuser to the running cluster, or starts it. @throws EmbeddedError when it cannot run */
export async function attachOrStart (site: Site): Promise<Held> {
  for (const limit = Date.now() + START_LIMIT_SECONDS * 1000; Date.now() < limit; await sleep(POLL_MS)) {
    const held = await reach(site, 'postgres', 'postgres')
    if (held) return held
    if (!await isRunning(site)) await start(site)
  }
  throw new EmbeddedError(`non risponde: vedere ${site.folder}/postgres.log`)
}

/** Connects to the running cluster; undefined: it is starting, stopping or stopped. */
export async function reach (site: Site, user: string, database: string): Promise<Held | undefined> {
  const { port, isReady } = await readNote(site)
  if (!isReady || !await isRunning(site)) return undefined
  const { promise: closed, resolve: onclose } = Promise.withResolvers<void>()
  // The driver would otherwise replace the connection after an hour.
  const options = { max: 1, max_lifetime: null, fetch_types: false, onclose: () => onclose() }
  const sql = postgres(urlOf({ ...site, port }, user, database), options)
  try {
    await sql`select 1`
    return { sql, port, closed }
  } catch (err) {
    await sql.end({ timeout: 0 })
    if (err instanceof Error && 'code' in err && PASSING_CODES.test(String(err.code))) return undefined
    throw err
  }
}

/** The URL for the driver, which treats a host with a comma as a socket path that includes the port. */
export function urlOf ({ host, port, password }: Site, user: string, database: string): string {
  const login = password === undefined ? user : `${user}:${password}`
  return `postgres://${login}@${encodeURIComponent(host)}:${port}/${database}`
}

/**
 * Stops the cluster: it rolls back open transactions and writes a checkpoint. After a time limit it continues alone,
 * and the next start waits for it.
 */
export async function stopPostmaster (site: Site): Promise<void> {
  const { folder, bin, account, log } = site
  if (!await isRunning(site)) return
  const args = ['stop', '-D', dataArgument(folder, account), '-m', 'fast', '-t', String(STOP_LIMIT_SECONDS)]
  const failure = await run(join(bin, 'pg_ctl'), args, account, folder).then(() => undefined, (err: Error) => err)
  log(failure?.message ?? 'PostgreSQL incorporato: fermato')
}

/** Reads the lines of `postmaster.pid` (PostgreSQL source, miscadmin.h: LOCK_FILE_LINE_…). */
async function readNote ({ folder }: Site): Promise<{ pid: number, port: number, isReady: boolean }> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(ignoring('ENOENT'))
  const [pid = '0', , , port, , , , status = ''] = text?.split('\n') ?? []
  return { pid: Number.parseInt(pid, 10), port: Number(port), isReady: status.trim() === 'ready' }
}

/** Whether the postmaster runs. Only on Linux it detects that another program has got its pid. */
async function isRunning (site: Site): Promise<boolean> {
  const { folder, account, bin } = site
  const { pid } = await readNote(site)
  if (!(pid > 0)) return false
  if (platform() !== 'linux') {
    return await run(join(bin, 'pg_ctl'), ['status', '-D', folder], account).then(() => true, () => false)
  }
  // In a container root may be unable to read the processes of other users. The account can read its own.
  const link = `/proc/${pid}/cwd`
  const cwd = await readlink(link).catch(() => run('readlink', [link], account)).catch(() => '')
  return cwd.trimEnd() === folder
}

/**
 * Starts a postmaster. `pg_ctl` starts it in its own session, so Ctrl-C and the exit of this process do not stop it.
 * Also returns after a failure that a retry may fix. @throws EmbeddedError when it cannot run
 */
async function start (site: Site): Promise<void> {
  const { folder, account, bin, version, log } = site
  const { pid } = await readNote(site)
  // PostgreSQL refuses to start with an empty pid file, or with the pid of another program.
  const isForeign = await access(`/proc/${pid}`).then(() => true, () => false)
  if (Number.isNaN(pid) || isForeign) await rm(join(folder, 'postmaster.pid'), { force: true })
  const logFile = join(folder, 'postgres.log')
  await rename(logFile, `${logFile}.old`).catch(ignoring('ENOENT'))
  const quote = platform() === 'win32' ? '' : "'"
  const settings = { ...SERVER_SETTINGS, ...site.settings, ...await listenSettings(site) }
  const options = Object.entries(settings).map(([name, value]) => `-c ${quote}${name}=${value}${quote}`).join(' ')
  const args = ['start', '-D', dataArgument(folder, account), '-l', 'postgres.log', '-o', options]
  try {
    await run(join(bin, 'pg_ctl'), [...args, '-t', String(START_LIMIT_SECONDS)], account, folder)
    log(`PostgreSQL incorporato: ${version} avviato su ${folder}`)
  } catch (err) {
    const said = await readFile(logFile, 'utf8').catch(() => '')
    if (PASSING_WORDS.test(said)) return await sleep(RETRY_MS)
    const fatal = said.split('\n').findLast((line) => /FATAL|PANIC/.test(line))
    const { bavail, bsize } = await statfs(folder)
    // On a full disk PostgreSQL cannot write the error to its log.
    if (fatal === undefined && bavail * bsize < LOG_BYTES) throw new EmbeddedError('No space left on device')
    throw fatal === undefined ? err : new EmbeddedError(`non si avvia: ${fatal}`, { cause: err })
  }
}

async function listenSettings ({ folder, account, host, port }: Site): Promise<Record<string, string>> {
  if (!host.startsWith('/')) return { listen_addresses: host, unix_socket_directories: '', port: String(port) }
  const sockets = `${host}:${port}`
  // Recreated, because PostgreSQL would also refuse to start with a stale lock file beside the socket.
  await rm(sockets, { recursive: true, force: true })
  await mkdir(sockets, { mode: 0o700 })
  await give(sockets, account)
  // A relative path, because the account may be unable to reach the data folder by its absolute path.
  const path = sockets.startsWith(`${folder}/`) ? relative(folder, sockets) : sockets
  return { listen_addresses: '', unix_socket_directories: `"${path}"`, port: String(port) }
}
