import { spawnSync } from 'node:child_process'
import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import postgres from 'postgres'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { migrate } from '#src/plugins/database/migrate.ts'
import { databaseUrl } from '#test/database.ts'
import { removeLeftRun } from './left-run.ts'
import { STATE_FILE, type State } from './state.ts'

const MEMORY = '/dev/shm'
/** The cluster takes less; some containers have 64 MB. */
const ROOM_FOR_CLUSTER = 3 * 2 ** 30
/** Beside it each of the processes of a run takes up to 1 GB, and all their files together half of one. */
const ROOM_FOR_ALL = 10 * 2 ** 30

function hasRoomInMemory (bytes: number): boolean {
  try {
    // Some machines let root alone write there.
    accessSync(MEMORY, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = statfsSync(MEMORY)
    return Math.min(bavail * bsize, process.availableMemory()) >= bytes
  } catch {
    return false
  }
}

/** Some tests run programs of their own; a container may forbid it there. */
function canRunProgramsIn (folder: string): boolean {
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

/**
 * Where tests keep their temporary files, if not in the usual place: in memory, where clusters of their own start and
 * end in half the time.
 */
function temporaryInMemory (): string | undefined {
  if (!hasRoomInMemory(ROOM_FOR_ALL)) return undefined
  const folder = mkdtempSync(join(MEMORY, 'locanda-tmp-'))
  // As /tmp is: tests run programs as other users.
  chmodSync(folder, 0o1777)
  if (canRunProgramsIn(folder)) return folder
  rmSync(folder, { recursive: true })
  return undefined
}

mkdirSync(dirname(STATE_FILE), { recursive: true })
await removeLeftRun()

/*
 * One cluster for the run, one template database, migrated once; every test copies it. In memory, where there is room:
 * to copy and to drop the 650 files of a database there takes a quarter of the processor time that it takes in ext4.
 */
const dataDir = mkdtempSync(join(hasRoomInMemory(ROOM_FOR_CLUSTER) ? MEMORY : tmpdir(), 'locanda-test-'))
const temporary = temporaryInMemory()
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

const state: State = { run: process.ppid, dataDir, url: cluster.url, template, temporary }
writeFileSync(STATE_FILE, JSON.stringify(state), { mode: 0o600 })
// The cluster goes on without this process: `after.ts` stops it.
process.exit(0)
