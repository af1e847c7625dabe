import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { databaseUrl } from '#test/database.ts'
import { STATE_FILE, type State } from './state.ts'

const MEMORY = '/dev/shm'
/** A run takes less; some containers have 64 MB. */
const ENOUGH = 6 * 2 ** 30

/** Whether there is room in memory, and whether programs can be run from there: some tests bring theirs. */
function canUseMemory (): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (Math.min(bavail * bsize, process.availableMemory()) < ENOUGH) return false
    const folder = mkdtempSync(join(MEMORY, 'locanda-test-'))
    const program = join(folder, 'program')
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
    const { status } = spawnSync(program)
    rmSync(folder, { recursive: true })
    return status === 0
  } catch {
    return false
  }
}

/*
 * One cluster for the run, one template database, migrated once; every test copies it. In memory, where there is room:
 * to copy and to drop the 650 files of a database there takes a quarter of the processor time that it takes in ext4. So
 * are the temporary files of tests: clusters of their own start and end in half of it.
 */
const place = canUseMemory() ? MEMORY : tmpdir()
const dataDir = mkdtempSync(join(place, 'locanda-test-'))
const temporary = mkdtempSync(join(place, 'locanda-tmp-'))
// As /tmp is: tests run programs as other users.
chmodSync(temporary, 0o1777)
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

mkdirSync(dirname(STATE_FILE), { recursive: true })
const state: State = { dataDir, url: cluster.url, template, temporary }
writeFileSync(STATE_FILE, JSON.stringify(state), { mode: 0o600 })
// The cluster goes on without this process: `after.ts` stops it.
process.exit(0)
