import { mkdtempSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { databaseUrl } from '#test/database.ts'
import { STATE_FILE, type State } from './state.ts'

const MEMORY = '/dev/shm'
/** A run takes less; some containers have 64 MB. */
const ENOUGH = 3 * 2 ** 30

function roomInMemory (): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= ENOUGH
  } catch {
    return false
  }
}

/*
 * One cluster for the run, one template database, migrated once; every test copies it. In memory, where there is room:
 * to copy and to drop the 650 files of a database there takes a quarter of the processor time that it takes in ext4.
 */
const dataDir = mkdtempSync(join(roomInMemory() ? MEMORY : tmpdir(), 'locanda-test-'))
// Nobody needs these data after a power cut: dropping a database takes a tenth of the time.
const settings = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  // Six files at a time, some with several applications, each of which may have twenty connections.
  max_connections: '500'
}
const cluster = await startEmbedded({ dataDir, log: () => {}, settings })
const template = 'locanda_template'

const sql = postgres(cluster.url, { max: 1, onnotice: () => {} })
await sql.unsafe(`create database ${template}`)
await sql.end()
await migrate(databaseUrl(cluster.url, template))

writeFileSync(STATE_FILE, JSON.stringify({ dataDir, url: cluster.url, template } satisfies State), { mode: 0o600 })
// The cluster goes on without this process: `after.ts` stops it.
process.exit(0)
