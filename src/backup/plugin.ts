import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Keys } from '#src/lib/secrets.ts'
import type { Clock } from '#src/lib/time.ts'
import { isDiskFull, postgresError } from '#src/database/problems.ts'
import { noteBackup, type Made } from './create.ts'
import { backupPath, lastBackup, OLD_MS, rotate } from './backup-retention.ts'
import { writeErasures } from './erasures-file.ts'
import { repeatErasures } from './restored-erasures.ts'

const DAY_MS = 24 * 60 * 60_000

/** Repeats the erasures that a restore has listed. When `BACKUP_DIR` is set, adds the jobs of the nightly backup. */
const backup: FastifyPluginAsync<{ config: Config, clock: Clock, keys: Keys }> = async (app, options) => {
  const { config, clock, keys } = options
  await repeatErasures(app, keys)
  const { BACKUP_DIR: folder, BACKUP_PASSPHRASE: passphrase } = config
  if (folder === undefined || passphrase === undefined) return
  const { sql, db, databaseUrl } = app

  app.addJob({
    name: 'backup',
    description: 'Salva database e file in BACKUP_DIR; toglie i salvataggi vecchi',
    cron: '40 3 * * *',
    run: () => makeBackup().catch(async (err: unknown) => {
      // A backup that shutdown interrupts is not a failure, because the next start repeats it.
      if (!app.shutdownSignal.aborted) await noteBackup(sql, 'salvataggio.fallito').catch(() => {})
      throw err
    })
  })

  async function makeBackup (): Promise<void> {
    const today = clock.today()
    const { size, summary } = await backUpInThread(
      { config, databaseUrl, path: backupPath(folder!, today), passphrase: passphrase! }, app.shutdownSignal
    ).catch((err: unknown) => { throw isDiskFull(err) && postgresError(err) === undefined ? folderFull() : err })
    const { files, missing, foreign } = summary
    app.log.info({ size, files }, 'backup made')
    if (missing.length > 0) app.log.warn({ missing }, 'stored files are missing or unreadable: the backup lacks them')
    if (foreign.length > 0) app.log.warn({ foreign }, 'unknown tables and columns are not in the backup')
    await rotate(folder!, today)
  }
  app.addJob({
    name: 'erasures-file',
    description: 'Annota in BACKUP_DIR gli id che un ripristino deve cancellare o bloccare di nuovo',
    cron: '*/5 * * * *',
    run: () => writeErasures({ sql, db, keys }, folder)
  })
  app.addJob({
    name: 'backup-age',
    description: 'Avvisa se l’ultimo salvataggio ha più di due giorni',
    cron: '25 * * * *',
    async run () {
      const { age } = await lastBackup(folder)
      if (age > OLD_MS) app.log.warn({ days: Math.floor(age / DAY_MS) }, 'no backup was made in the last two days')
    }
  })
  app.addGauge({
    name: 'backup_age_seconds',
    help: 'Seconds since the last nightly backup was made; +Inf: there is none, or the folder cannot be read.',
    read: async () => await lastBackup(folder).then(({ age }) => age, () => Infinity) / 1000
  })
}
export default backup

/** The worker data of the backup thread. */
export interface NightlyBackup { config: Config, databaseUrl: string, path: string, passphrase: string }

const THREAD = new URL('nightly-thread.ts', import.meta.url)
/** Heap limits of the thread. A small young generation suits its short-lived buffers. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 }

/**
 * Makes a backup in a worker thread, so that its garbage collection does not delay requests.
 * @param stop ends the thread and rejects the promise. The next backup of the same day replaces the partial file
 * @throws the error of the thread, without its class
 */
async function backUpInThread (workerData: NightlyBackup, stop: AbortSignal): Promise<Made> {
  const thread = new Worker(THREAD, { workerData, env: {}, argv: [], execArgv: [], resourceLimits: LIMITS })
  try {
    const [made] = await once(thread, 'message', { signal: stop }) as [Made]
    // The backup is complete, so later errors of the thread do not matter.
    thread.on('error', () => {})
    return made
  } catch (err) {
    void thread.terminate()
    throw err
  }
}

/** The error for a full backup disk. Its code is not `ENOSPC`, because `ENOSPC` would report a full data disk. */
function folderFull (): Error {
  return Object.assign(new Error('the disk of BACKUP_DIR is full'), { code: 'BACKUP_DIR_PIENA' })
}
