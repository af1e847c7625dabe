import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pino from 'pino'
import { createKeys } from '#src/lib/secrets.ts'
import { connect, type Connection } from '#src/database/connect.ts'
import { migrate } from '#src/database/migrate.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { compareFiles } from '#src/services/files/compare-files.ts'
import { generations } from '#src/services/files/key-wrapping.ts'
import { encryptedFiles } from '#src/services/files/encrypted-files.ts'
import { removalWorker } from '#src/services/files/removal-worker.ts'
import { rotateKeys, RotationUnderWayError } from '#src/services/files/key-rotation.ts'
import { backendMarker } from '#src/services/files/backend-marker.ts'
import { LOAD_FAST } from '#test/setup/processes.ts'
import { crashableCluster } from './cluster.ts'
import { seededRandom } from './seeded-random.ts'

interface FilesResult {
  kills: number
  /** The number of files at the end. */
  files: number
  /** Rows whose file is missing or damaged, or has other content. */
  unreadable: string[]
  /** Files without a row, after runs of the worker and the comparison. */
  orphans: string[]
  /** Tombstones, and old key generations, that were never removed. */
  leftovers: string[]
}

const STEPS = ['writing', 'written', 'copied', 'kept', 'committed', 'discarded', 'removing', 'removed', 'rotated']
const ENTRY = fileURLToPath(new URL('files-process.ts', import.meta.url))
/** Number of processes that share one folder and one database. */
const PROCESSES = 2
const LIFE_MS = 800

/**
 * Kills processes that change files and rotate keys, at every step and at random times. Then it runs the removal
 * worker, the comparison and a rotation, and checks the result.
 */
export async function crashFiles (
  { url, kills, seed }: { url: string, kills: number, seed: number }
): Promise<FilesResult> {
  const random = seededRandom(seed)
  const dataDir = mkdtempSync(join(tmpdir(), 'locanda-crash-files-'))
  const masterKey = randomBytes(32)
  const env = { DATABASE_URL: url, DATA_DIR: dataDir, MASTER_KEY: masterKey.toString('base64') }
  let done = 0
  try {
    await Promise.all(Array.from({ length: PROCESSES }, async () => {
      while (done < kills) {
        const turn = done++
        await runOnce(env, turn % 3 < 2 ? STEPS[turn % STEPS.length] : undefined, random.integer(LIFE_MS))
      }
    }))
    return { kills: done, ...await checkFiles(url, dataDir, masterKey) }
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Runs `crashFiles` on a separate database. */
export async function crashFilesAlone (kills: number, seed: number): Promise<FilesResult> {
  const folder = mkdtempSync(join(tmpdir(), 'locanda-crash-'))
  const cluster = await crashableCluster(join(folder, 'cluster'))
  try {
    await migrate(cluster.url)
    return await crashFiles({ url: cluster.url, kills, seed })
  } finally {
    await cluster.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function runOnce (env: Record<string, string>, step: string | undefined, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [LOAD_FAST, ENTRY], {
    env: { ...env, ...step === undefined ? {} : { CRASH_STEP: step, CRASH_TIMES: String(1 + afterMs % 5) } },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exit = once(child, 'exit')
  let timer: NodeJS.Timeout | undefined
  // If the process does not reach the step in time, kill it anyway.
  child.stdout.once('data', () => {
    timer = setTimeout(() => child.kill('SIGKILL'), step === undefined ? afterMs : 3 * LIFE_MS)
  })
  const [code, signal] = await exit as [number | null, string | null]
  clearTimeout(timer)
  if (signal !== 'SIGKILL') throw new Error(`a process that works on files has ended by itself (${code})`)
}

/** Waits until the worker has removed all tombstones, up to a limit. */
async function tombstonesGone (sql: Connection['sql']): Promise<void> {
  for (let waited = 0; waited < 300; waited++) {
    if ((await sql`select from discarded_files`).length === 0) return
    await sleep(100)
  }
}

/** Rotates the keys. The session of a killed process holds the lock until PostgreSQL ends it. */
async function rotateWhenFree (connection: Connection, keys: Parameters<typeof rotateKeys>[1]): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await rotateKeys(connection, keys)
      return
    } catch (err) {
      if (!(err instanceof RotationUnderWayError) || tries === 300) throw err
      await sleep(100)
    }
  }
}

async function checkFiles (url: string, dataDir: string, masterKey: Buffer): Promise<Omit<FilesResult, 'kills'>> {
  const { db, sql, close } = connect(url, 4)
  const root = join(dataDir, 'files')
  const keys = createKeys(masterKey)
  const log = pino({ level: 'silent' })
  const backend = folderBackend(root)
  const marker = backendMarker({ db, log, backend, make: async () => {} })
  const worker = removalWorker({ db, backend, marker, log })
  const files = encryptedFiles({ db, log, backend, marker, generations: generations(keys), removeDiscarded () {} })
  const names = () => readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.length > 2)
  try {
    // Make all files old enough that the comparison removes orphans.
    const old = new Date(Date.now() - 25 * 60 * 60_000)
    for (const name of names()) utimesSync(join(root, name), old, old)
    await sql`update discarded_files set next_attempt_at = now()`
    worker.wake()
    await tombstonesGone(sql)
    await compareFiles({ db, backend, marker, log }, new AbortController().signal)
    const one = connect(url, 1)
    await rotateWhenFree(one, keys)
    await one.close()

    const rows = await files.findByPrefix(db, 'documents', '')
    const unreadable: string[] = []
    for (const row of rows) {
      const content = await files.read(row).then(buffer).catch(() => Buffer.alloc(0))
      const digest = createHash('sha256').update(content).digest('hex')
      if (digest !== row.metadata?.sha256) unreadable.push(`${row.name} (${row.id})`)
    }
    const known = new Set([...rows.map(({ id }) => id), await marker.adopted()])
    const orphans = names().filter((name) => !known.has(name.slice(3)))
    const tombstones = await sql`select id::text from discarded_files`
    const generationsLeft = await sql`select id::text from storage_keys order by id desc offset 1`
    return {
      files: rows.length, unreadable, orphans, leftovers: [...tombstones, ...generationsLeft].map(({ id }) => id)
    }
  } finally {
    await close()
  }
}
