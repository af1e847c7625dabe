import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { startEmbedded } from '#src/database/embedded/cluster.ts'

/** The test's own PostgreSQL. Servers with an embedded PostgreSQL restart it when it is dead. */
export interface Cluster {
  url: string
  /** The postmaster's PID file. */
  pidFile: string
  /** Kills the postmaster with SIGKILL. Returns false when none is running. */
  kill (): boolean
  /** Log lines about starts and stops of PostgreSQL. */
  said (): readonly string[]
  stop (): Promise<void>
}

export async function crashableCluster (folder: string): Promise<Cluster> {
  const said: string[] = []
  const { url, stop } = await startEmbedded({ dataDir: folder, log: (line) => { said.push(line) } })
  const pidFile = join(folder, 'postgres', 'postmaster.pid')
  return {
    url,
    pidFile,
    stop,
    said: () => said,
    kill () {
      try {
        return process.kill(Number.parseInt(readFileSync(pidFile, 'utf8'), 10), 'SIGKILL')
      } catch {
        return false
      }
    }
  }
}
