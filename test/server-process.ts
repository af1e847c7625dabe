import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { testDatabase } from './database.ts'
import { API_KEY, NEVER_OVERLOADED, NO_DISK_RESERVE, temporaryFolder } from './helper.ts'
import { COMPILE_CACHE } from './setup/processes.ts'

export const MASTER_KEY = Buffer.alloc(32, 7).toString('base64')
/** A fixed administrator, so that the server prints no password. */
export const ADMIN = { ADMIN_EMAIL: 'direzione@example.org', ADMIN_PASSWORD: 'una-frase-lunga-e-mia' }

const SERVER = fileURLToPath(new URL('../src/server.ts', import.meta.url))

export interface ServerProcess {
  /** Log lines on standard output so far. */
  logs: Record<string, unknown>[]
  pid: number
  /** Standard error so far. */
  errors (): string
  /** The base URL, when the server listens. Rejects if the process ends before. */
  ready: Promise<string>
  signal (name: NodeJS.Signals): void
  /** The exit code. */
  exit: Promise<number | null>
  /** Resolves at the first log line with this message. */
  logged (message: string): Promise<void>
}

/** Runs the real process with exactly this environment. It is killed when the test ends. */
export function serverProcess (
  t: Test,
  environ: Record<string, string>,
  script = SERVER,
  args: string[] = [],
  openFilesMax?: number,
  cwd?: string
): ServerProcess {
  const limit = openFilesMax === undefined ? '' : `ulimit -n ${openFilesMax}; `
  const child = spawn('sh', ['-c', `${limit}exec "$0" "$@"`, process.execPath, script, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      DATA_DIR: temporaryFolder(t),
      PORT: '0',
      ...NEVER_OVERLOADED,
      ...NO_DISK_RESERVE,
      ...environ
    },
    stdio: ['ignore', 'pipe', 'pipe']
  })
  t.teardown(() => child.kill('SIGKILL'))
  const logs: Record<string, unknown>[] = []
  const waiting: (() => void)[] = []
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  createInterface(child.stdout).on('line', (line) => {
    logs.push(JSON.parse(line) as Record<string, unknown>)
    for (const look of waiting) look()
  })
  const exit = once(child, 'close').then(([code]) => code as number | null)
  const logged = (message: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (logs.some(({ msg }) => msg === message)) resolve()
      }
      waiting.push(look)
      look()
      exit.then(() => reject(new Error(`the process ended before «${message}»: ${stderr}`)), reject)
    })
  const ready = logged('ready').then(() => String(logs.find(({ msg }) => msg === 'ready')?.address))
  ready.catch(() => {})
  return { logs, pid: child.pid!, errors: () => stderr, ready, exit, logged, signal: (name) => child.kill(name) }
}

/**
 * A listening server on its own database.
 * @param openFilesMax maximum number of open files and sockets
 */
export async function started (t: Test, openFilesMax?: number) {
  const database = await testDatabase(t)
  const environ = { API_KEY, DATABASE_URL: database.url, MASTER_KEY, ...ADMIN }
  const server = serverProcess(t, environ, undefined, undefined, openFilesMax)
  const base = await server.ready
  return { ...database, server, base, port: Number(new URL(base).port) }
}
