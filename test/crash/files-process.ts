import { createHash, randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import pino from 'pino'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import type { Backend } from '#src/services/files/backends/backend.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { generations } from '#src/services/files/key-wrapping.ts'
import { encryptedFiles } from '#src/services/files/encrypted-files.ts'
import { removalWorker } from '#src/services/files/removal-worker.ts'
import { rotateKeys, RotationUnderWayError } from '#src/services/files/key-rotation.ts'
import { backendMarker } from '#src/services/files/backend-marker.ts'

/*
 * Stores, replaces, moves, copies and deletes files, and rotates keys, until it is killed. At CRASH_STEP it kills
 * itself. It uses few names, so that processes conflict.
 */
const { DATABASE_URL = '', DATA_DIR = '', MASTER_KEY = '', CRASH_STEP, CRASH_TIMES = '1' } = process.env
const NAMES = 12

let left = Number(CRASH_TIMES)
const at = (step: string) => {
  if (step === CRASH_STEP && --left === 0) process.kill(process.pid, 'SIGKILL')
}

// Exit when the parent process has exited, so that no process remains.
const parent = process.ppid
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 500).unref()

const keys = createKeys(Buffer.from(MASTER_KEY, 'base64'))
const { db, sql } = connect(DATABASE_URL, 6)
const log = pino({ level: 'silent' })
const root = join(DATA_DIR, 'files')
const folder = folderBackend(root)
/** A backend that can crash before, during and after each operation. */
const backend: Backend = {
  ...folder,
  async put (id, content) {
    await folder.put(id, (async function * () {
      for await (const piece of content) {
        at('writing')
        yield piece
      }
    })())
    at('written')
  },
  async copy (from, to) {
    const copied = await folder.copy(from, to)
    at('copied')
    return copied
  },
  async delete (id) {
    at('removing')
    await folder.delete(id)
    at('removed')
  }
}
const make = async () => { await mkdir(root, { recursive: true, mode: 0o700 }) }
const marker = backendMarker({ db, log, backend, make })
const worker = removalWorker({ db, backend, marker, log })
const files = encryptedFiles({
  db, log, backend, marker, generations: generations(keys), removeDiscarded: worker.wake
})

const pick = (below: number) => randomBytes(1)[0]! % below
const name = () => `f/${pick(NAMES)}`

async function upload (): Promise<void> {
  const content = randomBytes(1 + pick(3) * 100_000)
  const metadata = { sha256: createHash('sha256').update(content).digest('hex') }
  const place = { bucket: 'documents', name: name(), contentType: 'image/jpeg', owner: null, metadata }
  const written = await files.write(content, place, content.length)
  await db.transaction(async (tx) => {
    await files.keep(tx, written, { replace: true })
    at('kept')
  })
  at('committed')
}

async function change (): Promise<void> {
  const object = await files.find(db, 'documents', name())
  if (!object) return
  const to = { bucket: 'documents', name: name() }
  if (pick(3) === 0) {
    await db.transaction(async (tx) => {
      await files.discard(tx, [object])
      at('discarded')
    })
  } else if (pick(2) === 0) {
    await db.transaction(async (tx) => {
      const before = await files.find(tx, 'documents', to.name)
      if (before && before.id !== object.id) await files.discard(tx, [before])
      await files.move(tx, object, to)
    })
  } else {
    const copy = await files.copy(object, { ...to, owner: 'user:1' })
    await db.transaction((tx) => files.keep(tx, copy, { replace: true }))
  }
  worker.wake()
}

/** Ignores errors, because another process may delete, replace or lock the same file. */
async function keepDoing (work: () => Promise<void>): Promise<never> {
  for (;;) await work().catch(() => {})
}

async function rotate (): Promise<void> {
  const one = connect(DATABASE_URL, 1)
  await rotateKeys(one, keys).catch((err: unknown) => { if (!(err instanceof RotationUnderWayError)) throw err })
  at('rotated')
  await one.close()
}

await sql`update discarded_files set next_attempt_at = now()`
worker.wake()
process.stdout.write('working\n')
await Promise.all([keepDoing(upload), keepDoing(upload), keepDoing(change), keepDoing(rotate)])
