import { randomInt } from 'node:crypto'
import { access, chmod, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, rmdir, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { isOutOfSpace } from '#src/lib/disk-space.ts'
import { ignoring } from '#src/lib/ignoring.ts'
import { syncFolder } from '#src/lib/sync-folder.ts'
import { changeOwner, HERE, run } from './account.ts'
import { EmbeddedError } from './embedded-error.ts'
import type { Site } from './site.ts'

/** An open connection. `closed` resolves when the connection ends, for example because the cluster has crashed. */
export interface Held { sql: postgres.Sql, port: number, closed: Promise<void> }

/** Settings passed at every start, so that a new version of the program can change them. */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  max_wal_size: '256MB',
  min_wal_size: '32MB',
  fsync: 'on',
  TimeZone: 'UTC',
  jit: 'off',
  // Limit per process, so that a huge sort does not fill the disk of the ledger.
  temp_file_limit: '2GB',
  // Keeps personal data out of the log. Statements, violating values and messages about them may contain such data.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_min_messages: 'fatal'
}

/** The builtin provider gives the same sort order on every system and with every C library. */
const LOCALE = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
/** The socket is in a folder that only its owner can enter. TCP needs a password. */
const ACCESS = ['--username=postgres', '--auth-local=trust', '--auth-host=scram-sha-256']

const POLL_MS = 50
/** Crash recovery replays at most `max_wal_size`, which is slow on a slow disk. */
const START_LIMIT_MS = 300_000
const STOP_LIMIT_SECONDS = '30'
/** Error codes of a server that is starting, stopping or stopped. A retry may succeed. */
const PASSING_CODES = /^(?:57P0[123]|ENOENT|ECONNREFUSED|ECONNRESET|EPIPE|CONNECTION_CLOSED|CONNECT_TIMEOUT)$/
/** Log messages of a start that a retry may fix: processes of a killed postmaster still exit, or the port is in use. */
const PASSING_WORDS = /is still in use|lock file ".*" already exists|could not create any TCP\/IP sockets/

/**
 * Creates the cluster when the folder is empty or missing. Otherwise it corrects owner and mode. After a restore as
 * root these may be wrong, and PostgreSQL would refuse them.
 * @throws EmbeddedError for a cluster of another major version, and for a folder with other content
 */
export async function prepareFolder (site: Site): Promise<void> {
  const { folder, account, version, log } = site
  const [major] = version.split('.')
  const found = (await readFile(join(folder, 'PG_VERSION'), 'utf8').catch(ignoring('ENOENT')))?.trim()
  if (found === major) {
    await chmod(folder, 0o700)
    if (account && (await stat(folder)).uid !== account.uid) await changeOwner(folder, account)
  } else if ((await readdir(folder).catch(ignoring('ENOENT')))?.length) {
    throw new EmbeddedError(`la cartella ${folder} contiene ${found ? `PostgreSQL ${found}` : 'altri file'}, ` +
      `il programma installato è PostgreSQL ${major}: nulla è stato toccato; convertire i dati (dump e ripristino)`)
  } else {
    log(`embedded PostgreSQL: creating a new cluster in ${folder}`)
    await initialise(site)
  }
}

/**
 * Creates the cluster in a partial folder, and renames the folder when it is complete. After a killed initdb, the next
 * start removes the partial folder.
 */
async function initialise ({ folder, account, bin, passwordFile }: Site): Promise<void> {
  const [parent, prefix] = [dirname(folder), `${basename(folder)}.partial-`]
  const left = (await readdir(parent)).filter((name) => name.startsWith(prefix))
  for (const name of left) await rm(join(parent, name), { recursive: true, force: true, maxRetries: 3 })
  // Use a new name, because the initdb of a killed server may still be writing to the old folder.
  const partial = await mkdtemp(join(parent, prefix))
  await changeOwner(partial, account)
  // Removes an empty folder, but fails for a symbolic link to a disk that is not mounted.
  await rmdir(folder).catch(ignoring('ENOENT'))
  const options = [...LOCALE, ...ACCESS, ...passwordFile === undefined ? [] : [`--pwfile=${passwordFile}`]]
  await run(join(bin, 'initdb'), ['-D', HERE, ...options], account, partial)
  await rename(partial, folder)
  // Without fsync a power failure could undo the rename, and the next start would delete committed rows.
  await syncFolder(parent)
}

const pgCtl = ({ bin, account, folder }: Site, ...args: readonly string[]) =>
  run(join(bin, 'pg_ctl'), [...args, '-D', HERE], account, folder)

/** Connects as superuser to the running cluster, or starts it. @throws EmbeddedError when it cannot start */
export async function attachOrStart (site: Site): Promise<Held> {
  for (const limit = Date.now() + START_LIMIT_MS; Date.now() < limit; await sleep(POLL_MS)) {
    const held = await reach(site, 'postgres', 'postgres')
    if (held) return held
    if (await runningPort(site) === undefined) await start(site)
  }
  throw new EmbeddedError(`non risponde: vedere ${site.folder}/postgres.log`)
}

/** Connects to the running cluster. Undefined while the cluster is starting, stopping or stopped. */
export async function reach (site: Site, user: string, database: string): Promise<Held | undefined> {
  const port = await runningPort(site)
  if (port === undefined) return undefined
  const { promise: closed, resolve: onclose } = Promise.withResolvers<void>()
  // By default the driver would replace the connection after an hour.
  const options = { max: 1, max_lifetime: null, fetch_types: false, onclose: () => onclose() }
  const sql = postgres(urlOf(site, port, user, database), options)
  try {
    await sql`select 1`
    return { sql, port, closed }
  } catch (err) {
    await sql.end({ timeout: 0 })
    if (err instanceof Error && 'code' in err && PASSING_CODES.test(String(err.code))) return undefined
    throw err
  }
}

/** The URL for the driver. A host with a comma means a socket path, which includes the port. */
export function urlOf ({ host, password }: Site, port: number, user: string, database: string): string {
  const login = password === undefined ? user : `${user}:${password}`
  return `postgres://${login}@${encodeURIComponent(host)}:${port}/${database}`
}

/**
 * Stops the cluster, which rolls back open transactions and writes a checkpoint. This process waits at most 30 seconds.
 * The next start waits until the cluster has stopped.
 */
export async function stopPostmaster (site: Site): Promise<void> {
  if (await runningPort(site) === undefined) return
  await pgCtl(site, 'stop', '-m', 'fast', '-t', STOP_LIMIT_SECONDS)
    .then(() => site.log('embedded PostgreSQL: stopped'), (err: Error) => site.log(err.message))
}

/** Reads `postmaster.pid` (format: miscadmin.h of PostgreSQL, LOCK_FILE_LINE_…). The pid is 0 without a file. */
async function readPidFile ({ folder }: Site): Promise<{ pid: number, port: number }> {
  const text = await readFile(join(folder, 'postmaster.pid'), 'utf8').catch(ignoring('ENOENT'))
  const [pid = '0', , , port] = text?.split('\n') ?? []
  return { pid: Number.parseInt(pid, 10), port: Number(port) }
}

/** The port of a running postmaster. Only Linux shows whether another program has the pid of an ended postmaster. */
async function runningPort (site: Site): Promise<number | undefined> {
  const { pid, port } = await readPidFile(site)
  if (!(pid > 0)) return undefined
  if (platform() !== 'linux') return await pgCtl(site, 'status').then(() => port, () => undefined)
  // In a container root may be unable to read processes of other users. The account can read its own processes.
  const link = `/proc/${pid}/cwd`
  const cwd = await readlink(link).catch(() => run('readlink', [link], site.account)).catch(() => '')
  return cwd.trimEnd() === site.folder ? port : undefined
}

/**
 * Starts a postmaster. `pg_ctl` gives it a separate session, so Ctrl-C and the exit of this process do not stop it.
 * Also returns after a failure that a retry may fix. @throws EmbeddedError for any other failure
 */
async function start (site: Site): Promise<void> {
  const { folder, version, log } = site
  const { pid } = await readPidFile(site)
  // PostgreSQL refuses to start with an empty pid file, or with the pid of another program.
  const isForeign = await access(`/proc/${pid}`).then(() => true, () => false)
  if (Number.isNaN(pid) || isForeign) await rm(join(folder, 'postmaster.pid'), { force: true })
  const logFile = join(folder, 'postgres.log')
  await rename(logFile, `${logFile}.old`).catch(ignoring('ENOENT'))
  const quote = platform() === 'win32' ? '' : "'"
  const settings = { ...SERVER_SETTINGS, ...site.settings, ...await listenSettings(site) }
  const options = Object.entries(settings).map(([name, value]) => `-c ${quote}${name}=${value}${quote}`).join(' ')
  try {
    await pgCtl(site, 'start', '-l', 'postgres.log', '-o', options, '-t', String(START_LIMIT_MS / 1000))
    log(`embedded PostgreSQL: ${version} started on ${folder}`)
  } catch (err) {
    const logText = await readFile(logFile, 'utf8').catch(() => '')
    if (PASSING_WORDS.test(logText)) return
    const fatal = logText.split('\n').findLast((line) => /FATAL|PANIC/.test(line))
    if (fatal !== undefined) throw new EmbeddedError(`non si avvia: ${fatal}`, { cause: err })
    // On a full disk PostgreSQL cannot write the error to its log.
    throw await isOutOfSpace(folder) ? new EmbeddedError('No space left on device') : err
  }
}

async function listenSettings (site: Site): Promise<Record<string, string>> {
  // Outside the ephemeral range (Linux from 32768, others from 49152), which outgoing connections may take.
  const { folder, account, host, port = randomInt(20_000, 32_000) } = site
  if (!host.startsWith('/')) return { listen_addresses: host, unix_socket_directories: '', port: String(port) }
  const sockets = `${host}:${port}`
  // Recreate the folder, because PostgreSQL would also refuse a stale lock file next to the socket.
  await rm(sockets, { recursive: true, force: true })
  await mkdir(sockets, { mode: 0o700 })
  await changeOwner(sockets, account)
  // A relative path, because the account may be unable to use the absolute path of the data folder.
  const path = sockets.startsWith(`${folder}/`) ? relative(folder, sockets) : sockets
  return { listen_addresses: '', unix_socket_directories: `"${path}"`, port: String(port) }
}
