import { randomBytes } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { Readable } from 'node:stream'
import pino from 'pino'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import { migrate } from '#src/database/migrate.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { generations } from '#src/services/files/key-wrapping.ts'
import { encryptedFiles } from '#src/services/files/encrypted-files.ts'
import type { FileService } from '#src/services/files/file-service.ts'
import { backendMarker } from '#src/services/files/backend-marker.ts'
import { under, type BenchResult } from './harness.ts'
import { temporaryFolder } from './process.ts'

const MB = 1024 * 1024
const SIZE = 500 * MB
/** Memory is measured after this many bytes, because the heap grows until the first garbage collections. */
const SETTLED = 200 * MB
const ROUNDS = 5
const PLACE = { bucket: 'public', name: 'grande', contentType: 'application/octet-stream', owner: null }

/** Measures memory growth while a file of 500 MB is written and read, after the first 200 MB. */
export async function filesBench (url: string): Promise<BenchResult[]> {
  const dataDir = temporaryFolder()
  await migrate(url)
  const { db, close } = connect(url, 2)
  const log = pino({ level: 'silent' })
  const root = join(dataDir, 'files')
  const backend = folderBackend(root)
  const marker = backendMarker({ db, log, backend, make: async () => { await mkdir(root) } })
  const files = encryptedFiles({
    db, log, backend, marker, generations: generations(createKeys(randomBytes(32))), removeDiscarded () {}
  })
  try {
    const amounts = { writing: [] as number[], reading: [] as number[] }
    for (let round = 0; round < ROUNDS; round++) {
      const { writing, reading } = await measure(files)
      amounts.writing.push(writing)
      amounts.reading.push(reading)
    }
    return [
      under(50, 'MB', { name: 'a file of 500 MB written: growth of memory after 200 MB', amounts: amounts.writing }),
      under(50, 'MB', { name: 'a file of 500 MB read: growth of memory after 200 MB', amounts: amounts.reading })
    ]
  } finally {
    await close()
    await rm(dataDir, { recursive: true })
  }

  async function measure (files: FileService) {
    let object: Parameters<FileService['read']>[0]
    const writing = await growth(async (settled) => {
      const written = await files.write(Readable.from(zeros(settled)), PLACE, SIZE)
      object = await db.transaction((tx) => files.keep(tx, written, { replace: true }))
    })
    const reading = await growth(async (settled) => {
      let bytes = 0
      for await (const piece of await files.read(object)) {
        bytes += (piece as Buffer).length
        if (bytes >= SETTLED) settled()
      }
      if (bytes !== SIZE) throw new Error('the file is not whole')
    })
    await backend.delete(object!.id)
    return { writing, reading }
  }
}

/** Yields the same buffer again and again, so that all garbage comes from the storage. */
function * zeros (settled: () => void): Generator<Buffer> {
  const piece = Buffer.alloc(MB)
  for (let bytes = 0; bytes < SIZE; bytes += MB) {
    if (bytes >= SETTLED) settled()
    yield piece
  }
}

/** Memory growth in MB after the work has called `settled`. */
async function growth (work: (settled: () => void) => Promise<void>): Promise<number> {
  let before: number | undefined
  let most = 0
  const look = setInterval(() => { most = Math.max(most, process.memoryUsage.rss()) }, 20)
  try {
    await work(() => { before ??= most })
  } finally {
    clearInterval(look)
  }
  return Math.max(most - before!, 0) / MB
}
