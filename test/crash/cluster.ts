import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'

/** A PostgreSQL of the test's own, which is started again whenever it is killed. */
export interface Cluster {
  url: string
  /** Where its postmaster notes its number. */
  pidFile: string
  /** Ends the postmaster as a power cut would. False when none is there to be ended. */
  kill (): boolean
  stop (): Promise<void>
}

export async function crashableCluster (folder: string): Promise<Cluster> {
  const { url, stop } = await startEmbedded({ dataDir: folder, log: () => {} })
  const pidFile = join(folder, 'postgres', 'postmaster.pid')
  return {
    url,
    pidFile,
    stop,
    kill () {
      try {
        return process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL')
      } catch {
        return false
      }
    }
  }
}
