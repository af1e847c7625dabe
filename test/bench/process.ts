import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { TODAY } from './data.ts'
import { freePort } from '#test/free-port.ts'

export const API_KEY = 'chiave-di-prova-0123456789'
export const ADMIN = { email: 'capo@example.org', password: 'una-frase-di-prova-lunga' }

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const READY_LIMIT_MS = 60_000
/** Clock ticks per second in `/proc`. The number is constant on Linux. */
const TICKS = 100

/** A measured server in a separate process. */
export interface Running {
  url: string
  /** Milliseconds from spawn to the first success of `/health/ready`. */
  readyAfterMs: number
  /** CPU time so far in milliseconds, user and system. */
  cpu (): number
  /** Current resident memory in MB. */
  resident (): number
  /** Peak resident memory since `forgetPeak`, in MB. */
  peak (): number
  forgetPeak (): void
  stop (): Promise<void>
}

export function temporaryFolder (): string {
  return mkdtempSync(join(tmpdir(), 'locanda-bench-'))
}

/**
 * Starts Locanda as `npm start` does. Without `databaseUrl` it uses its embedded PostgreSQL in `dataDir`.
 * @param environ further environment variables, by default `TODAY`
 */
export async function startLocanda ({
  dataDir,
  databaseUrl,
  environ = { TODAY },
  readyWithinMs = READY_LIMIT_MS
}: {
  dataDir: string
  databaseUrl?: string
  environ?: Record<string, string>
  readyWithinMs?: number
}): Promise<Running> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: { start: string } }
  const port = await freePort()
  const started = performance.now()
  const child = run('sh', ['-c', scripts.start], openSync(join(dataDir, 'server.log'), 'a'), {
    PORT: String(port),
    DATA_DIR: dataDir,
    API_KEY,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
    RATE_LIMIT_MAX: '1000000000',
    RATE_LIMIT_LOGIN_MAX: '1000000',
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...environ
  })
  const url = `http://127.0.0.1:${port}`
  while (!(await isReady(url))) {
    if (child.exitCode !== null || performance.now() - started > readyWithinMs) {
      throw new Error(readFileSync(join(dataDir, 'server.log'), 'utf8'))
    }
    await sleep(5)
  }
  return describe(child, url, performance.now() - started)
}

/** Starts the peer of `peer.ts` on the same database. */
export async function startPeer (databaseUrl: string): Promise<Running> {
  return await startBare('test/bench/peer.ts', { DATABASE_URL: databaseUrl })
}

/** Starts the peer of `day-peer.ts` on the same database. */
export async function startDayPeer (databaseUrl: string): Promise<Running> {
  return await startBare('test/bench/day-peer.ts', { DATABASE_URL: databaseUrl })
}

/** Starts the server of `limited.ts`, with or without rate limit and Idempotency-Key. */
export async function startLimited (databaseUrl: string, dataDir: string, masterKey: string, limits: boolean) {
  return await startBare('test/bench/limited.ts', {
    DATABASE_URL: databaseUrl,
    DATA_DIR: dataDir,
    MASTER_KEY: masterKey,
    API_KEY,
    TODAY,
    LOG_LEVEL: 'silent',
    RATE_LIMIT_MAX: '1000000000',
    ...(limits ? {} : { WITHOUT_LIMITS: 'true' })
  })
}

/** Starts a bare static file server on a folder. */
export async function startStatic (folder: string): Promise<Running> {
  return await startBare('test/bench/static-peer.ts', { FOLDER: folder })
}

async function startBare (script: string, environ: Record<string, string>): Promise<Running> {
  const started = performance.now()
  const child = run(process.execPath, [script], 'pipe', environ)
  const [address] = await once(child.stdout!, 'data') as [Buffer]
  return describe(child, address.toString().trim(), performance.now() - started)
}

function run (command: string, args: string[], stdout: number | 'pipe', env: Record<string, string>): ChildProcess {
  const path = `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}`
  return spawn(command, args, {
    cwd: ROOT,
    stdio: ['ignore', stdout, 'inherit'],
    env: { PATH: path, HOME: process.env.HOME, ...env }
  })
}

function describe (child: ChildProcess, url: string, readyAfterMs: number): Running {
  const status = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
  return {
    url,
    readyAfterMs,
    cpu () {
      // `utime` and `stime`, fields 14 and 15. Field 2, the command name, may contain spaces.
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return (Number(fields[11]) + Number(fields[12])) * 1000 / TICKS
    },
    resident: () => status('VmRSS'),
    peak: () => status('VmHWM'),
    forgetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    async stop () {
      const end = once(child, 'exit')
      child.kill('SIGTERM')
      await end
    }
  }
}

async function isReady (url: string): Promise<boolean> {
  return await fetch(`${url}/health/ready`).then((response) => response.ok, () => false)
}
