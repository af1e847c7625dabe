import { access, readFile, readlink, rename, rm, statfs } from 'node:fs/promises'
import { platform } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { dataArgument, makeFolder, run, type Account } from './account.ts'
import { EmbeddedError, ignoring, type Log } from './embedded-error.ts'

/** The facts that starting, finding and stopping the cluster of one `DATA_DIR` need. */
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
  /** For the loopback address. */
  password: string | undefined
  settings: Readonly<Record<string, string>>
  log: Log
}

/** A connection that stays open: its end tells that the cluster has broken down. */
export interface Held { sql: postgres.Sql, url: string, port: number, closed: Promise<void> }

/**
 * Settings of the running cluster, given at every start so that they follow the program and not the day of the first
 * start.
 */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  cluster_name: 'locanda',
  max_connections: '100',
  shared_buffers: '128MB',
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  TimeZone: 'UTC',
  log_timezone: 'UTC',
  jit: 'off',
  // Of one process: a statement that sorts without end does not fill the disk on which the ledger lies.
  temp_file_limit: '2GB',
  // Guests' data stay out of the log: no statements, no values of violated constraints.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  // The message of an error holds values, too, and a statement can raise as many messages as it likes.
  log_min_messages: 'fatal',
  log_checkpoints: 'off',
  unix_socket_permissions: '0700'
}

const POLL_MS = 20
const RETRY_MS = 200
/** Crash recovery replays at most `max_wal_size`, which takes its time on a slow disk. */
const START_LIMIT_SECONDS = 300
const STOP_LIMIT_SECONDS = 30
const REACH_LIMIT_MS = 10_000
/** Free bytes below which nothing is taken for written. */
const LOG_BYTES = 2 ** 20
/** Codes of a server that is starting, stopping or gone. */
const PASSING_CODES = /^(?:57P0[123]|ENOENT|ECONNREFUSED|ECONNRESET|EPIPE|CONNECTION_CLOSED|CONNECT_TIMEOUT)$/
/** Words of PostgreSQL while the processes of a killed postmaster are still ending. */
const PASSING_WORDS = /is still in use|lock file ".*" already exists/

/** Connects to the cluster that runs on the folder, or starts it. @throws EmbeddedError when it cannot run */
export async function attachOrStart (site: Site, user: string, database: string): Promise<Held> {
  const begun = Date.now()
  for (; Date.now() < begun + START_LIMIT_SECONDS * 1000; await sleep(POLL_MS)) {
    const held = await reach(site, user, database)
    if (held) return held
    if (!await isRunning(site)) await start(site)
    // Its socket was removed, or lies elsewhere.
    else if (Date.now() > begun + REACH_LIMIT_MS && (await readNote(site)).isReady) await stopPostmaster(site)
  }
  throw new EmbeddedError(`non risponde: vedere ${site.folder}/postgres.log`)
}

/** Connects to the cluster that runs on the folder; undefined: it is starting, stopping or gone. */
export async function reach (site: Site, user: string, database: string): Promise<Held | undefined> {
  const { port, isReady } = await readNote(site)
  if (!isReady || !await isRunning(site)) return undefined
  const { promise: closed, resolve: onclose } = Promise.withResolvers<void>()
  // The driver takes the host of a URL for a path only when it holds a comma, and then the port is a part of the path.
  const login = site.password === undefined ? user : `${user}:${site.password}`
  const url = `postgres://${login}@${encodeURIComponent(site.host)}:${port}/${database}`
  // The driver would otherwise replace the connection after an hour.
  const sql = postgres(url, { max: 1, max_lifetime: null, fetch_types: false, onclose: () => onclose() })
  try {
    await sql`select 1`
    return { sql, url, port, closed }
  } catch (err) {
    await sql.end({ timeout: 0 })
    if (err instanceof Error && 'code' in err && PASSING_CODES.test(String(err.code))) return undefined
    throw err
  }
}

/**
 * Stops the cluster: open transactions are rolled back, then a checkpoint. One that is slow or hangs is left to finish
 * alone, and the next start waits for it.
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

async function isRunning (site: Site): Promise<boolean> {
  return await ownerOf((await readNote(site)).pid, site) === 'postmaster'
}

/** Tells a postmaster of this folder from another program that has got its number since. */
async function ownerOf (pid: number, { folder }: Site): Promise<'postmaster' | 'other' | undefined> {
  if (!(pid > 0)) return undefined
  if (platform() === 'linux') {
    if (await readlink(`/proc/${pid}/cwd`).catch(() => '') === folder) return 'postmaster'
    return await access(`/proc/${pid}`).then(() => 'other', () => undefined)
  }
  const [command, args, sign] = platform() === 'win32'
    ? ['tasklist', ['/fi', `pid eq ${pid}`, '/fo', 'csv', '/nh'], '"postgres.exe"'] as const
    : ['/bin/ps', ['-o', 'pid=,command=', '-p', String(pid)], folder] as const
  const found = await run(command, args, undefined, '.').catch(() => '')
  return found.includes(sign) ? 'postmaster' : found.includes(String(pid)) ? 'other' : undefined
}

/**
 * Starts a postmaster. `pg_ctl` gives it a session of its own: Ctrl-C and the end of this process do not reach it.
 * Returns, too, when the next attempt may succeed. @throws EmbeddedError when it cannot run
 */
async function start (site: Site): Promise<void> {
  const { folder, account, bin, version, log } = site
  const { pid } = await readNote(site)
  // PostgreSQL gives up on an empty file, and on one with the number of any living process.
  if (Number.isNaN(pid) || await ownerOf(pid, site) === 'other') await rm(join(folder, 'postmaster.pid'))
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
    // On a full disk PostgreSQL cannot say so in its log.
    if (fatal === undefined && bavail * bsize < LOG_BYTES) throw new EmbeddedError('No space left on device')
    throw fatal === undefined ? err : new EmbeddedError(`non si avvia: ${fatal}`, { cause: err })
  }
}

async function listenSettings ({ folder, account, host, port }: Site): Promise<Record<string, string>> {
  if (!host.startsWith('/')) return { listen_addresses: host, unix_socket_directories: '', port: String(port) }
  const sockets = `${host}:${port}`
  // A new folder: a stale lock file beside the socket would mislead PostgreSQL, too.
  await rm(sockets, { recursive: true, force: true })
  await makeFolder(sockets, account)
  // The account may be unable to reach the data folder by name. PostgreSQL works in it.
  const path = sockets.startsWith(`${folder}/`) ? relative(folder, sockets) : sockets
  return { listen_addresses: '', unix_socket_directories: `"${path}"`, port: String(port) }
}
