import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import { fill, TODAY } from './data.ts'
import { atLeast, interleaved, under, type BenchResult } from './harness.ts'
import { firstSignIn } from './identity.ts'
import { againstQuiet, p95 } from './percentile.ts'
import { startLocanda, temporaryFolder, type Running } from './process.ts'
import { storeFiles } from './stored-files.ts'
import { startSystemPostgres } from './system-postgres.ts'

/*
 * Measures backup throughput against `pg_dump` and `tar`, on a large installation, so that the start of a process
 * hardly matters. Also measures a server's memory and request latency during a nightly backup.
 */
const LARGE = { bookings: 500_000, count: 5000, size: 100 * 1024 }
const MIDDLING = { bookings: 100_000, count: 200, size: 1024 * 1024 }
const PROGRAM = fileURLToPath(new URL('../../src/cli/start.cjs', import.meta.url))
const BACKUP_PASSPHRASE = 'otto barche sul lago'
const ROUNDS = 3

/** Creates an installation with bookings and files. */
async function installation (clusterUrl: string, dataDir: string, { bookings, ...files }: typeof LARGE) {
  const master = randomBytes(32)
  const databaseUrl = await fill(clusterUrl, 'bench_backup', bookings)
  const keys = createKeys(master)
  const { db, close } = connect(databaseUrl, 8)
  await storeFiles({ db, keys, dataDir, ...files })
  await close()
  return { databaseUrl, MASTER_KEY: master.toString('base64') }
}

/**
 * Compares with `pg_dump`, which compresses, and with `tar`, which does not. Neither of them encrypts. Skipped when
 * PostgreSQL is not installed.
 */
export async function backupThroughput (): Promise<BenchResult[]> {
  const postgres = await startSystemPostgres()
  if (typeof postgres === 'string') {
    process.stdout.write(`       backup against pg_dump and tar: left out, ${postgres}\n`)
    return []
  }
  const [dataDir, to] = [temporaryFolder(), temporaryFolder()]
  try {
    const { databaseUrl, MASTER_KEY } = await installation(postgres.url, dataDir, LARGE)
    const env = {
      PATH: process.env.PATH, DATA_DIR: dataDir, DATABASE_URL: databaseUrl, MASTER_KEY, BACKUP_PASSPHRASE
    }
    const [file, dump, tar] = ['locanda.tar.age', 'locanda.dump', 'files.tar'].map((name) => join(to, name)) as
      [string, string, string]
    const measured = await interleaved(
      'backup: throughput / pg_dump and tar',
      () => { execFileSync(process.execPath, [PROGRAM, 'backup', file], { env, stdio: 'ignore' }) },
      () => {
        execFileSync(postgres.tool('pg_dump'), ['-Fc', '-f', dump, databaseUrl], { stdio: 'ignore' })
        execFileSync('tar', ['-cf', tar, '-C', dataDir, 'files'])
        execFileSync('sync', [dump, tar])
      },
      { rounds: ROUNDS, warmUps: 1 }
    )
    const [ours, theirs] = [[file], [dump, tar]].map((names) =>
      Math.round(names.reduce((sum, name) => sum + statSync(name).size, 0) / 1e6))
    const result = atLeast(0.3, measured)
    return [{ ...result, detail: `${result.detail}; ${ours} MB against ${theirs} MB` }]
  } finally {
    postgres.stop()
    for (const folder of [dataDir, to]) rmSync(folder, { recursive: true })
  }
}

/** Measures a server's memory and request latency during a nightly backup. */
export async function nightlyBackup (clusterUrl: string): Promise<BenchResult[]> {
  const dataDir = temporaryFolder()
  const { databaseUrl, MASTER_KEY } = await installation(clusterUrl, dataDir, MIDDLING)
  const BACKUP_DIR = join(dataDir, 'backups')
  mkdirSync(BACKUP_DIR)
  const environ = { TODAY, MASTER_KEY, BACKUP_DIR, BACKUP_PASSPHRASE }
  const server = await startLocanda({ dataDir, databaseUrl, environ })
  try {
    const headers = { authorization: `Bearer ${await firstSignIn(server)}` }
    const amounts: number[] = []
    const waiting = await againstQuiet('detail: p95 during a backup / quiet', server, async () => {
      const before = server.resident()
      server.forgetPeak()
      const among = await p95(server, runJob(server, headers))
      amounts.push(server.peak() - before)
      return among
    }, { rounds: ROUNDS })
    return [waiting, under(150, 'MB', { name: 'backup of a server: growth of memory', amounts })]
  } finally {
    await server.stop()
    rmSync(dataDir, { recursive: true })
  }
}

async function runJob ({ url }: Running, headers: Record<string, string>): Promise<void> {
  const job = async () => {
    const { data } = await (await fetch(`${url}/api/v1/jobs`, { headers })).json() as {
      data: { nome: string, in_corso: boolean, ultimo_avvio: string | null, esito: string | null }[]
    }
    return data.find(({ nome }) => nome === 'backup')!
  }
  const { ultimo_avvio: before } = await job()
  await fetch(`${url}/api/v1/jobs/backup/avvia`, { method: 'POST', headers })
  for (;;) {
    await sleep(200)
    const { in_corso: isUnderWay, ultimo_avvio: begun, esito } = await job()
    if (isUnderWay || begun === before) continue
    if (esito !== 'riuscito') throw new Error(`the backup has ended as ${esito}`)
    return
  }
}
