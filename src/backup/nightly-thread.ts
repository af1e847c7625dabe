import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { createKeys } from '#src/lib/secrets.ts'
import { openClient } from '#src/database/client.ts'
import { chooseBackend } from '#src/services/files/backends/choose-backend.ts'
import { createBackup } from './create.ts'
import type { NightlyBackup } from './plugin.ts'
import { LONG_TIMEOUTS } from './saved-tables.ts'
import type { Pace } from './sealed-tar.ts'

/* The worker thread that makes a nightly backup (`plugin.ts`). */

/** After each chunk, pauses three times as long as the chunk took, up to 100 ms, so requests get processor time. */
const gently: Pace = async function * (pieces) {
  let startedAt = performance.now()
  for await (const piece of pieces) {
    yield piece
    await sleep(Math.min((performance.now() - startedAt) * 3, 100))
    startedAt = performance.now()
  }
}

const { config, databaseUrl, path, passphrase } = workerData as NightlyBackup
// The functions of `keys` cannot be cloned into the thread, and the clone of a Buffer is a plain Uint8Array.
const keys = createKeys(Buffer.from(config.MASTER_KEY))
const sql = openClient(databaseUrl, 1, LONG_TIMEOUTS)
try {
  const source = { sql, backend: chooseBackend(config), keys }
  parentPort!.postMessage(await createBackup(source, path, passphrase, { pace: gently, isNightly: true }))
} finally {
  await sql.end({ timeout: 5 })
}
