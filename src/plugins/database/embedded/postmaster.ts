import { execFile, spawn } from 'node:child_process'
import { access, open, readdir, readFile, readlink, rename, stat } from 'node:fs/promises'
import { platform } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Endpoint } from './endpoint.ts'
import { dataArgument } from './folder.ts'
import { codeOf } from './problems.ts'
import { CHILD_ENV, run } from './run.ts'
import { flags, listenSettings, SERVER_SETTINGS } from './settings.ts'
import type { Site } from './site.ts'

const LOG_LIMIT_BYTES = 4 * 1024 * 1024

/** What a postmaster notes about itself in `postmaster.pid` (PostgreSQL source, miscadmin.h: LOCK_FILE_LINE_…). */
export interface Note {
  /** NaN when the file is empty or torn. */
  pid: number
  port: number
  /** Absolute; undefined: TCP only. */
  socketFolder: string | undefined
  /** It takes connections. While it recovers or stops, asking would only fill its log. */
  ready: boolean
}

export function noteFile (folder: string): string {
  return join(folder, 'postmaster.pid')
}

/** The note of the postmaster that runs, or last ran and died, on the folder. */
export async function readNote (folder: string): Promise<Note | undefined> {
  try {
    const [pid, , , port, socketFolder, , , status] = (await readFile(noteFile(folder), 'utf8')).split('\n')
    return {
      pid: Number.parseInt(pid ?? '', 10),
      port: Number(port),
      socketFolder: socketFolder ? resolve(folder, socketFolder) : undefined,
      ready: status?.trim() === 'ready'
    }
  } catch (err) {
    if (codeOf(err) === 'ENOENT') return undefined
    throw err
  }
}

export function endpointOf (note: Note, { password }: Site): Endpoint {
  return note.socketFolder === undefined
    ? { host: '127.0.0.1', port: note.port, password }
    : { host: note.socketFolder, port: note.port }
}

/** True when the process is a postmaster of this very folder, not another program that got its number since. */
export async function isPostmasterOf (pid: number, folder: string): Promise<boolean> {
  if (!(pid > 0)) return false
  if (platform() === 'linux') return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder
  // Windows does not tell the folder: the port or the socket has to.
  if (platform() === 'win32') return await isAlive(pid)
  return (await commandOf(pid)).includes(folder)
}

/** True when a process of that number exists, of any user. */
export async function isAlive (pid: number): Promise<boolean> {
  if (!(pid > 0)) return false
  if (platform() === 'linux') return await access(`/proc/${pid}`).then(() => true, () => false)
  if (platform() !== 'win32') return await commandOf(pid) !== ''
  return (await outputOf('tasklist', '/fi', `pid eq ${pid}`, '/fo', 'csv', '/nh')).includes(`"${pid}"`)
}

/** The command line of a process, empty when there is none of that number. */
function commandOf (pid: number): Promise<string> {
  return outputOf('ps', '-o', 'command=', '-p', String(pid))
}

async function outputOf (command: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, { windowsHide: true }).catch(() => ({ stdout: '' }))
  return stdout.trim()
}

/** A postmaster that was just started. */
export interface Launch {
  pid: number | undefined
  /** The end of it, when it did not stay; then `complaint` says why. */
  hasExited (): boolean
  /** What PostgreSQL wrote since the launch, or how it ended without a word. */
  complaint (): Promise<string>
}

/** Starts the postmaster in a session of its own, so that neither Ctrl-C nor the end of this process reaches it. */
export async function launch (site: Site): Promise<Launch> {
  const { home, folder, account, binaries, socketFolder, port, settings } = site
  const logFile = join(home, 'postgres.log')
  const start = await rotate(logFile)
  const output = await open(logFile, 'a', 0o600)
  const listen = listenSettings(socketFolder === folder ? '.' : socketFolder, port)
  const args = ['-D', dataArgument(folder, account), ...flags({ ...SERVER_SETTINGS, ...settings, ...listen })]
  const child = spawn(join(binaries.bin, 'postgres'), args, {
    ...account, cwd: folder, env: CHILD_ENV, detached: true, windowsHide: true, stdio: ['ignore', output.fd, output.fd]
  })
  let failure: Error | undefined
  child.once('error', (err) => { failure = err })
  child.unref()
  await output.close()
  return {
    pid: child.pid,
    hasExited: () => failure !== undefined || child.exitCode !== null || child.signalCode !== null,
    complaint: async () => {
      const said = failure?.message ?? (await readFile(logFile)).subarray(start).toString().trim()
      return said === '' ? `si è fermato senza un messaggio (${child.signalCode ?? `codice ${child.exitCode}`})` : said
    }
  }
}

/**
 * Fast shutdown: no new clients, open transactions rolled back, a checkpoint, the end. By the shell's own `kill`, which
 * is there even when an update has taken the programs of this cluster away; Windows has signals only through `pg_ctl`.
 */
export async function askToStop (pid: number, { binaries, account }: Site): Promise<void> {
  if (platform() !== 'win32') await run('/bin/sh', ['-c', `kill -INT ${pid}`], { account, cwd: '/' })
  else await run(join(binaries.bin, 'pg_ctl'), ['kill', 'INT', String(pid)], { account, cwd: binaries.bin })
}

/**
 * Ends a postmaster that hangs, and all its processes: one that is stopped would stay, and hold the folder. The next
 * start recovers what was committed.
 */
export async function kill (pid: number, { folder, binaries, account }: Site): Promise<void> {
  if (platform() === 'win32') {
    await run(join(binaries.bin, 'pg_ctl'), ['kill', 'KILL', String(pid)], { account, cwd: binaries.bin })
    return
  }
  const all = platform() === 'linux' ? await processesIn(folder) : [pid]
  // One may have ended by itself meanwhile.
  await run('/bin/sh', ['-c', `kill -KILL ${all.join(' ')} || :`], { account, cwd: '/' })
}

/** A postmaster and those that it has started: they work in the folder. */
async function processesIn (folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  const found = await Promise.all(pids.map(async (pid) =>
    (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'postgres' && isPostmasterOf(pid, folder)))
  return pids.filter((_, at) => found[at])
}

/** Keeps one old log. Returns the size of the present one, bytes. */
async function rotate (logFile: string): Promise<number> {
  const size = await stat(logFile).then((found) => found.size, () => 0)
  if (size < LOG_LIMIT_BYTES) return size
  await rename(logFile, `${logFile}.1`)
  return 0
}
