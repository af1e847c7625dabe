import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import type { Test } from 'tap'
import { isPostmasterOf } from '#src/plugins/database/embedded/postmaster.ts'
import { commandOf, programsOf } from './programs.ts'

/** Who runs the server in a test: the user of the run, or one that it can become. */
export interface Who { name: string, uid?: number, gid?: number }

const NOBODY = 65534
export const isRoot = process.geteuid?.() === 0

/** Both kinds of user where that is possible: only root can become another. */
export const everybody: readonly Who[] = isRoot
  ? [{ name: 'root' }, { name: 'an ordinary user', uid: NOBODY, gid: NOBODY }]
  : [{ name: 'an ordinary user' }]

export interface Ready {
  ready: true
  owned: boolean
  url: string
  connection: { host: string; port: number; password?: string }
  ms: number
}
type Line = Partial<Ready> & { log?: string, error?: string }

export interface Server {
  pid: number
  /** Everything logged so far. */
  logs: string[]
  /** The cluster as this server sees it. Rejects with the error the start failed with. */
  ready: Promise<Ready>
  /** Leaves the cluster as SIGTERM would make a server do. */
  stop (): Promise<void>
  kill (): Promise<void>
}

/** Starts a server process on `dataDir`; killed when the test ends. */
export function serve (
  t: Test,
  who: Who,
  dataDir: string,
  { script, tcp = false, env = {} }: { script?: string, tcp?: boolean, env?: Record<string, string> } = {}
): Server {
  const { uid, gid } = who
  const programs = programsOf(who)
  const [command, args] = commandOf(who, script === undefined ? programs : { ...programs, script })
  const child = spawn(command, [...args, dataDir, ...(tcp ? ['tcp'] : [])], {
    uid, gid, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env }
  })
  const exit = once(child, 'exit')
  const logs: string[] = []
  const ready = new Promise<Ready>((resolve, reject) => {
    createInterface(child.stdout).on('line', (text) => {
      const line = JSON.parse(text) as Line
      if (line.log !== undefined) logs.push(line.log)
      if (line.error !== undefined) reject(new Error(line.error))
      if (line.ready) resolve(line as Ready)
    })
    exit.then(() => reject(new Error('the server ended before it was ready')), reject)
  })
  ready.catch(() => {})
  const kill = async () => {
    // The whole process group, as Ctrl-C and terminals do it: the cluster must not be in it.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, 'SIGKILL')
    }
    await exit
  }
  t.teardown(kill)
  return {
    pid: child.pid ?? 0,
    logs,
    ready,
    kill,
    async stop () {
      child.stdin.write('stop\n')
      await exit
    }
  }
}

/** A new `DATA_DIR` of that user; its cluster is stopped and its files are removed when the test ends. */
export function dataDirOf (t: Test, { uid, gid }: Who, parent = tmpdir()): string {
  const dataDir = mkdtempSync(join(parent, 'locanda-'))
  if (uid !== undefined && gid !== undefined) chownSync(dataDir, uid, gid)
  t.teardown(async () => {
    const pid = postmasterOf(dataDir)
    if (pid !== undefined && await isPostmasterOf(pid, join(dataDir, 'postgres'))) {
      process.kill(pid, 'SIGQUIT')
      await gone(pid, dataDir)
    }
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  return dataDir
}

/** A `DATA_DIR` like `dataDirOf` with a copy of a cluster that is stopped. */
export function copyOf (t: Test, who: Who, original: string): string {
  const dataDir = dataDirOf(t, who)
  execFileSync('cp', ['-a', join(original, 'postgres'), dataDir])
  return dataDir
}

export function postmasterOf (dataDir: string): number | undefined {
  const file = join(dataDir, 'postgres', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

/** Resolves when that postmaster has ended. */
export async function gone (pid: number, dataDir: string): Promise<void> {
  while (await isPostmasterOf(pid, join(dataDir, 'postgres'))) await sleep(10)
}

/** One statement over a connection of its own, as the application's role. */
export async function query (url: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...await sql.unsafe(statement)]
  } finally {
    await sql.end()
  }
}
