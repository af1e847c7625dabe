import { readFileSync, rmSync } from 'node:fs'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import { startEmbedded } from '#src/database/embedded/cluster.ts'

/** The file that describes the run's cluster to test processes. Each user has a separate file. */
export const STATE_FILE = fileURLToPath(
  new URL(`../../node_modules/.cache/locanda-test-${userInfo().uid}.json`, import.meta.url))

export interface State {
  /** PID of tap. */
  run: number
  /** Data folder and URL of the cluster. */
  dataDir: string
  url: string
  /** The migrated template database that each test file copies. */
  template: string
}

export function readState (): State {
  return JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
}

/** Stops the cluster of a run and removes its data. */
export async function removeRun ({ dataDir }: State): Promise<void> {
  const cluster = await startEmbedded({ dataDir, log: () => {} })
  await cluster.stop()
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(STATE_FILE)
}
