import { accessSync, constants, existsSync, mkdirSync, mkdtempSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { startEmbedded } from '#src/database/embedded/cluster.ts'
import { migrate } from '#src/database/migrate.ts'
import { databaseUrl } from '#test/database.ts'
import { readState, removeRun, STATE_FILE, type State } from './state.ts'

/*
 * One cluster per run, with one migrated template database. It is in memory if there is enough. A copy of the database,
 * with its 650 files, then takes a quarter of the CPU time.
 */
const MEMORY = '/dev/shm'
const ROOM = 3 * 2 ** 30

function clusterRoot (): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= ROOM ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Removes the cluster of a run that was killed before `after.ts`. */
async function removeKilledRun (): Promise<void> {
  const state = readState()
  try {
    process.kill(state.run, 0)
  } catch {
    if (existsSync(state.dataDir)) await removeRun(state)
  }
}

mkdirSync(dirname(STATE_FILE), { recursive: true })
if (existsSync(STATE_FILE)) await removeKilledRun()

const dataDir = mkdtempSync(join(clusterRoot(), 'locanda-test-'))
// Test data need no durability. Without it PostgreSQL drops a database ten times faster.
const durability = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' }
const settings = { ...durability, max_connections: '300' }
const { url } = await startEmbedded({ dataDir, log: () => {}, settings })
const template = 'locanda_template'
const sql = postgres(url, { max: 1, onnotice: () => {} })
await sql.unsafe(`create database ${template}`)
await sql.end()
await migrate(databaseUrl(url, template))

const state: State = { run: process.ppid, dataDir, url, template }
writeFileSync(STATE_FILE, JSON.stringify(state), { mode: 0o600 })
// The cluster runs on after this process, until `after.ts` stops it.
process.exit(0)
