import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pino from 'pino'
import type { Keys } from '#src/lib/secrets.ts'
import type { Database } from '#src/database/connect.ts'
import { folderBackend } from '#src/services/files/backends/folder-backend.ts'
import { generations } from '#src/services/files/key-wrapping.ts'
import { encryptedFiles } from '#src/services/files/encrypted-files.ts'
import { backendMarker } from '#src/services/files/backend-marker.ts'

export interface Stored { db: Database, keys: Keys, dataDir: string, count: number, size: number }

/** Each writer waits for the disk most of the time. */
const AT_ONCE = 8

/** Stores `count` files of `size` bytes as the server does. */
export async function storeFiles ({ db, keys, dataDir, count, size }: Stored): Promise<void> {
  const root = join(dataDir, 'files')
  const backend = folderBackend(root)
  const log = pino({ level: 'silent' })
  const make = async () => { mkdirSync(root, { recursive: true, mode: 0o700 }) }
  const files = encryptedFiles({
    db,
    log,
    backend,
    marker: backendMarker({ db, log, backend, make }),
    generations: generations(keys),
    removeDiscarded () {}
  })
  let next = 0
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let n = next++; n < count; n = next++) {
      const object = { bucket: 'documents', name: `${n}/0/front.jpg`, contentType: 'image/jpeg', owner: null }
      const written = await files.write(randomBytes(size), object, size)
      await db.transaction((tx) => files.keep(tx, written, { replace: false }))
    }
  }))
}
