import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { startEmbedded } from '#src/database/embedded/cluster.ts'

/** A PostgreSQL of the test. A server that finds it dead starts it again. */
export interface Cluster {
  url: string
  /** The file in which its postmaster notes its process number. */
  pidFile: string
  /** Ends the postmaster as a power cut does. @returns false when none is running */
  kill (): boolean
  /** What was said of its starts and ends. */
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
