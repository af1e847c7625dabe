import { Worker } from 'node:worker_threads'
import type { Config } from '#src/config/config.ts'
import type { Made } from './create.ts'

/** What the thread of a nightly backup is given. */
export interface NightlyBackup {
  config: Config
  /** Of sessions of its own. */
  databaseUrl: string
  path: string
  passphrase: string
}

const THREAD = new URL('thread.ts', import.meta.url)
/** Its heap: a small young one, for buffers that are garbage at once. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 }

/**
 * Makes a backup, and reads it before it takes its name, in a thread of its own: the garbage of its buffers is
 * collected there, where no request waits for it.
 * @param stop ends it, which throws; what was written of it is left, and the next backup of the day takes its place
 * @throws what went wrong, without its class
 */
export async function backUpInThread (backup: NightlyBackup, stop: AbortSignal): Promise<Made> {
  stop.throwIfAborted()
  const thread = new Worker(THREAD, {
    workerData: backup, env: {}, argv: [], execArgv: [], resourceLimits: LIMITS
  })
  const end = () => { void thread.terminate() }
  stop.addEventListener('abort', end)
  try {
    return await new Promise<Made>((resolve, reject) => {
      thread.once('message', resolve)
      thread.on('error', reject)
      thread.once('exit', () => reject(new Error('the thread of the backup was ended')))
    })
  } finally {
    stop.removeEventListener('abort', end)
  }
}
