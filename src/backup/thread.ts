import { parentPort, workerData } from 'node:worker_threads'
import { createKeys } from '#src/lib/secrets.ts'
import { openClient } from '#src/database/client.ts'
import { backendOf } from '#src/services/files/backends/of-config.ts'
import { readBackup } from './contents.ts'
import { PATIENT } from './patient.ts'
import { createBackup } from './create.ts'
import type { NightlyBackup } from './nightly.ts'
import { gently } from './pace.ts'

/* The thread of a nightly backup (`nightly.ts`). */

const { config, databaseUrl, path, passphrase } = workerData as NightlyBackup
// What is handed to a thread loses its class.
const keys = createKeys(Buffer.from(config.MASTER_KEY))
const sql = openClient(databaseUrl, 1, PATIENT)
try {
  parentPort!.postMessage(await createBackup({ sql, backend: backendOf(config), keys }, path, passphrase, {
    // What cannot be read takes nobody's place, and nothing is removed for it.
    check: (partial) => readBackup(partial, passphrase, {}, gently),
    pace: gently,
    // The program has chosen the name: no file of a person is in its place.
    isOwnName: true
  }))
} finally {
  await sql.end({ timeout: 5 })
}
