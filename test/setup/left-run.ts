import { existsSync, readFileSync, rmSync } from 'node:fs'
import process from 'node:process'
import { startEmbedded } from '#src/plugins/database/embedded/cluster.ts'
import { STATE_FILE, type State } from './state.ts'

/** Stops the cluster of a run and removes what it has written. */
export async function removeRun ({ dataDir, temporary }: State): Promise<void> {
  const cluster = await startEmbedded({ dataDir, log: () => {} })
  await cluster.stop()
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(STATE_FILE)
  try {
    // A process that a test has left behind may still write there.
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
  } catch (err) {
    process.stderr.write(`${temporary} stays: ${String(err)}\n`)
  }
}

/** The same for a run that was cut before it came to its end: its cluster goes on, and its files may be in memory. */
export async function removeLeftRun (): Promise<void> {
  if (!existsSync(STATE_FILE)) return
  const state = JSON.parse(readFileSync(STATE_FILE, 'utf8')) as State
  if (isAlive(state.run)) return
  if (existsSync(state.dataDir)) await removeRun(state)
}

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
