import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { platform, tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type postgres from 'postgres'
import { chooseAccount } from './account.ts'
import { findBinaries } from './binaries.ts'
import { EmbeddedError, ignoring, type Log } from './embedded-error.ts'
import {
  attachOrStart, PASSWORD_FILE, prepareFolder, reach, type Site, stopPostmaster, urlOf
} from './postmaster.ts'

const USER = 'locanda'
const DATABASE = 'locanda'
const DUPLICATE_ROLE = '42710'
const DUPLICATE_DATABASE = '42P04'

/**
 * Creates the application's role and database when they are missing. The role owns its database and may create
 * databases and roles (the SQL console has its own). It is no superuser, so SQL injection cannot reach files or
 * programs of the host. Since PostgreSQL 16 it can change only the roles that it has created.
 */
async function prepareDatabase (sql: postgres.Sql, password: string | undefined): Promise<void> {
  // A generated password has no quote in it (base64url); utility statements take no parameters.
  const secret = password === undefined ? '' : `password '${password}'`
  await sql.unsafe(`create role ${USER} login createdb createrole ${secret}`).catch(ignoring(DUPLICATE_ROLE))
  await sql.unsafe(`create database ${DATABASE} owner ${USER}`).catch(ignoring(DUPLICATE_DATABASE))
}

const POLL_MS = 100
const REATTACH_MS = 1000
const SQLITE_BUSY = 5
/** Part of the socket's file name, not a TCP port. */
const SOCKET_PORT = 5432
/** Maximum bytes of a socket path on every Unix (`sun_path` has 104 on BSD and macOS, 108 on Linux). */
const PATH_LIMIT = 103

interface EmbeddedCluster {
  /** As a `DATABASE_URL`, for the driver. */
  url: string
  /** Stops the cluster if this process owns it. */
  stop (): Promise<void>
}

interface EmbeddedOptions {
  /** The cluster is in its subfolder `postgres`. */
  dataDir: string
  log: Log
  /** A second server is refused. A tool shares the cluster of a running server. */
  isServer?: boolean
  /** Aborts the wait of a server for a tool. */
  signal?: AbortSignal
  /** For tests: loopback TCP with a password, as on Windows. */
  tcp?: boolean
  /** For tests: PostgreSQL settings that override the defaults. */
  settings?: Readonly<Record<string, string>>
}

/**
 * The PostgreSQL of one `DATA_DIR`. The process that holds the lock file owns it: it starts the cluster, or takes it
 * over when its owner was killed, restarts it after a crash, and stops it. A server waits for a tool that owns it.
 * @throws EmbeddedError, one line for the operator, when it cannot run
 */
export async function startEmbedded (options: EmbeddedOptions): Promise<EmbeddedCluster> {
  const { dataDir, log, isServer = false, signal } = options
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const home = await realpath(dataDir)
  const serverLock = isServer ? takeLock(join(home, 'server.lock')) : undefined
  if (isServer && !serverLock) {
    throw new EmbeddedError(`un altro server usa già la base dati di ${home}: fermarlo, ` +
      'oppure avviarli tutti e due con lo stesso DATABASE_URL')
  }
  let lock: DatabaseSync | undefined
  const release = () => [lock, serverLock].forEach((each) => each?.close())
  try {
    const site = await describe(home, options)
    for (let n = 0; !(lock = takeLock(join(home, 'postgres.lock'))); n++) {
      // The owner may not have created the role yet.
      const shared = isServer ? undefined : await reach(site, USER, DATABASE).catch(() => undefined)
      if (shared) {
        await shared.sql.end()
        return { url: urlOf({ ...site, port: shared.port }, USER, DATABASE), stop: async () => {} }
      }
      if (n === 0) log('PostgreSQL incorporato: lo usa un altro comando di Locanda, ne attendo la fine')
      await sleep(POLL_MS, undefined, { signal })
    }
    const { url, stop } = await own(site)
    return { url, stop: () => stop().finally(release) }
  } catch (err) {
    release()
    throw err
  }
}

async function own (site: Site): Promise<EmbeddedCluster> {
  try {
    await prepareFolder(site)
    let held = await attachOrStart(site)
    await prepareDatabase(held.sql, site.password)
    // Keep the port after a takeover or a restart, because clients know it.
    const found = { ...site, port: held.port }
    const ending = new AbortController()
    const watch = async () => {
      await held.closed
      while (!ending.signal.aborted) {
        site.log('PostgreSQL incorporato: collegamento perso, lo riprendo')
        await attachOrStart(found).then((next) => { held = next }, (err: Error) => site.log(err.message))
        await sleep(REATTACH_MS)
        if (!ending.signal.aborted) await held.closed
      }
    }
    const watching = watch()
    return {
      url: urlOf(found, USER, DATABASE),
      async stop () {
        ending.abort()
        await held.sql.end({ timeout: 1 })
        await watching
        await stopPostmaster(site)
      }
    }
  } catch (err) {
    await stopPostmaster(site)
    throw err
  }
}

async function describe (home: string, options: EmbeddedOptions): Promise<Site> {
  const { log, tcp = platform() === 'win32', settings = {} } = options
  const link = join(home, 'postgres')
  const folder = await realpath(link).catch(ignoring('ENOENT')) ?? link
  const account = await chooseAccount(folder)
  if (account) log(`PostgreSQL incorporato: non gira come root, lo eseguo come utente ${account.uid}`)
  const listen = tcp
    ? { host: '127.0.0.1', port: await freePort(), password: await readPassword(join(home, PASSWORD_FILE)) }
    : { host: socketHost(folder), port: SOCKET_PORT, password: undefined }
  return { home, folder, account, ...await findBinaries(account, home, log), ...listen, settings, log }
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

async function freePort (): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

/**
 * Takes an exclusive lock on a file until it is closed; undefined: another process has it. Node has no `flock`.
 * SQLite's exclusive transaction uses the kernel lock of each system, which ends with the process, even on kill -9.
 */
function takeLock (file: string): DatabaseSync | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // The transaction writes no page. Without a journal file SQLite can take the lock even on a full disk.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return lock
  } catch (err) {
    lock.close()
    if (err instanceof Error && 'errcode' in err && err.errcode === SQLITE_BUSY) return undefined
    throw err
  }
}
