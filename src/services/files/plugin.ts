import { mkdir } from 'node:fs/promises'
import { count } from 'drizzle-orm'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { discarded_files, file_store } from '#drizzle/tables/storage.ts'
import type { Config } from '#src/config/config.ts'
import { serverOf } from '#src/lib/addresses.ts'
import { ignoring } from '#src/lib/ignoring.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Backend } from './backends/backend.ts'
import { chooseBackend, filesFolder } from './backends/choose-backend.ts'
import { s3Settings } from './backends/s3-backend.ts'
import { compareFiles } from './compare-files.ts'
import { keepDiskReserve } from './disk-reserve.ts'
import { generations } from './key-wrapping.ts'
import { mapBackendErrors } from './backend-errors.ts'
import { encryptedFiles } from './encrypted-files.ts'
import { removalWorker } from './removal-worker.ts'
import type { DiscardHook } from './file-service.ts'
import { backendMarker } from './backend-marker.ts'

interface FilesOptions {
  config: Config
  keys: Keys
  /** Tests wrap the file backend to inject failures. */
  wrapBackend?: ((backend: Backend) => Backend) | undefined
}

/**
 * Encrypted files in `DATA_DIR` or an S3 bucket. The database row decides whether a file exists. A file without a row
 * is an orphan. A request discards only the row, in its own transaction. A worker in any process deletes the file.
 */
export default fp<FilesOptions>(async function files (app, { config, keys, wrapBackend = (each) => each }) {
  const { db, log } = app
  const remote = s3Settings(config)
  const mapped = mapBackendErrors(wrapBackend(chooseBackend(config)), log)
  const backend = remote ? mapped : keepDiskReserve(mapped, filesFolder(config), config.DISK_RESERVE_MIB)
  const make = async () => { if (!remote) await makeFolder(filesFolder(config)) }
  const marker = backendMarker({ db, log, backend, make })
  const discardHooks = new Map<string, DiscardHook[]>()
  const worker = removalWorker({ db, backend, marker, log })

  app.decorate('files', encryptedFiles({
    db, log, backend, marker, generations: generations(keys), discardHooks, removeDiscarded: worker.wake
  }))
  app.decorate('addDiscardHook', (bucket, hook) => {
    discardHooks.set(bucket, [...discardHooks.get(bucket) ?? [], hook])
  })
  let linkFile: FastifyInstance['linkFile'] | undefined
  app.decorate('provideFileLinks', (source) => { linkFile = source })
  app.decorate('linkFile', (file, seconds) => linkFile!(file, seconds))
  if (remote) app.addHealthCheck({ setting: 'S3_ENDPOINT', ...serverOf(remote.endpoint) })

  app.addGauge({
    name: 'discarded_files',
    help: 'Files that are to be removed.',
    read: async () => (await db.select({ total: count() }).from(discarded_files))[0]!.total
  })
  app.addGauge({
    name: 'missing_files',
    help: 'Stored files that were missing or truncated at the last nightly check.',
    read: async () => (await db.select().from(file_store))[0]!.missing ?? 0
  })
  app.addJob({
    name: 'discarded-files',
    description: 'Rimuove i file eliminati',
    cron: '* * * * *',
    // Wakes the worker of this process.
    everyProcess: true,
    atStart: true,
    run: async () => worker.wake()
  })
  app.addJob({
    name: 'stored-files',
    description: 'Confronta i file con l’archivio: toglie quelli rimasti da caricamenti interrotti, segnala i mancanti',
    cron: '7 3 * * *',
    run: () => compareFiles({ db, backend, marker, log }, app.shutdownSignal)
  })
  app.addHook('preClose', worker.stop)
}, { name: 'files', dependencies: ['shutdown', 'database', 'jobs', 'metrics', 'startup-health-check'] })

/** Runs for the first file, if files are in `DATA_DIR`. */
async function makeFolder (root: string): Promise<void> {
  await mkdir(root, { mode: 0o700 }).catch(ignoring('EEXIST'))
}
