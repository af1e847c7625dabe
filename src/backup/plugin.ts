import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FastifyPluginAsync } from 'fastify'
import type { Config } from '#src/config/config.ts'
import type { Clock } from '#src/lib/time.ts'
import { isDiskFull, postgresError } from '#src/database/problems.ts'
import { noteBackup, type Made } from './create.ts'
import { backupFile, lastBackup, OLD_MS, rotate } from './kept-backups.ts'

const DAY_MS = 24 * 60 * 60_000

/** The nightly backup, where the settings name a folder for it. */
const backup: FastifyPluginAsync<{ config: Config, clock: Clock }> = async (app, options) => {
  const { config, clock } = options
  const { BACKUP_DIR: folder, BACKUP_PASSPHRASE: passphrase } = config
  if (folder === undefined || passphrase === undefined) return
  const { sql, databaseUrl } = app

  app.addJob({
    name: 'backup',
    description: 'Salva database e file in BACKUP_DIR; toglie i salvataggi vecchi',
    cron: '40 3 * * *',
    run: () => makeBackup().catch(async (err: unknown) => {
      // One that the end of the server has broken off is made at the next start.
      if (!app.closing.aborted) await noteBackup(sql, 'salvataggio.fallito').catch(() => {})
      throw err
    })
  })

  async function makeBackup (): Promise<void> {
    const today = clock.today()
    const { size, summary } = await backUpInThread(
      { config, databaseUrl, path: backupFile(folder!, today), passphrase: passphrase! }, app.closing
    ).catch((err: unknown) => { throw isDiskFull(err) && postgresError(err) === undefined ? folderFull() : err })
    const { files, missing, foreign } = summary
    app.log.info({ size, files }, 'backup made')
    if (missing.length > 0) app.log.warn({ missing }, 'stored files are missing or illegible: the backup lacks them')
    if (foreign.length > 0) app.log.warn({ foreign }, 'tables and columns that are not ours are not in the backup')
    await rotate(folder!, today)
  }
  app.addJob({
    name: 'backup-age',
    description: 'Avvisa se l’ultimo salvataggio ha più di due giorni',
    cron: '25 * * * *',
    async run () {
      const { age } = await lastBackup(folder)
      if (age > OLD_MS) app.log.warn({ days: Math.floor(age / DAY_MS) }, 'the last backup is older than two days')
    }
  })
  app.addGauge({
    name: 'backup_age_seconds',
    help: 'Seconds since the last nightly backup was made; +Inf: there is none, or the folder cannot be read.',
    read: async () => await lastBackup(folder).then(({ age }) => age, () => Infinity) / 1000
  })
}
export default backup

/** The thread of a nightly backup is given it. */
export interface NightlyBackup { config: Config, databaseUrl: string, path: string, passphrase: string }

const THREAD = new URL('nightly-thread.ts', import.meta.url)
/** Its heap: a small young one, for buffers that are garbage at once. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 }

/**
 * Makes a backup in a thread of its own: the garbage of its buffers is collected there, where no request waits for it.
 * @param stop ends it, which throws; what was written of it is left, and the next backup of the day takes its place
 * @throws what went wrong, without its class
 */
async function backUpInThread (workerData: NightlyBackup, stop: AbortSignal): Promise<Made> {
  const thread = new Worker(THREAD, { workerData, env: {}, argv: [], execArgv: [], resourceLimits: LIMITS })
  try {
    const [made] = await once(thread, 'message', { signal: stop }) as [Made]
    // The backup is made, however the thread's connection ends.
    thread.on('error', () => {})
    return made
  } catch (err) {
    void thread.terminate()
    throw err
  }
}

/** The disk of the data is another one, and must not be taken for full (`database/disk.ts`). */
function folderFull (): Error {
  return Object.assign(new Error('the disk of BACKUP_DIR is full'), { code: 'BACKUP_DIR_PIENA' })
}
