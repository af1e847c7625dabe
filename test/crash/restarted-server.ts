import type { Step } from '#src/alloggiati/ledger/ledger-context.ts'
import { startServer, type ServerProcess } from '#test/running-server.ts'
import type { SeededRandom } from './seeded-random.ts'

const STEPS: readonly Step[] = [
  'reserved', 'claimed', 'logged-in', 'tested', 'connected', 'dispatched', 'replied', 'recorded'
]
/** Milliseconds until a server is killed: the maximum of a random time, and the limit for a step to be reached. */
const LIFE_MS = { instant: 1000, step: 3000 }

/** A server is killed at a step or at a random time. With `postgres` it first kills the postmaster at that step. */
interface KillPlan { step: Step | undefined, times: number, afterMs: number, postgres: boolean }

/** Plans two kills at steps, then one at a random time, and so on. */
export function killPlans (random: SeededRandom): (postgres: boolean) => KillPlan {
  let turn = 0
  return (postgres) => {
    const step = postgres || turn % 3 < 2 ? STEPS[turn % STEPS.length] : undefined
    turn++
    return {
      step,
      times: 1 + random.integer(3),
      afterMs: step === undefined ? random.integer(LIFE_MS.instant) : LIFE_MS.step,
      postgres
    }
  }
}

const ENTRY = new URL('server.ts', import.meta.url)

/** A sequence of servers, each started, used and killed. */
export interface RestartedServer {
  server: ServerProcess | undefined
  /** Runs one server until it is killed. Returns an error when the server did not start, or ended without a kill. */
  runOnce (plan: KillPlan): Promise<Error | undefined>
}

/** @param onStep called when the server has killed itself, or the postmaster, at a step */
export function restartedServer (
  environ: Record<string, string>,
  pidFile: string,
  onStep: (step: string, postgres: boolean) => void
): RestartedServer {
  const self: RestartedServer = {
    server: undefined,
    async runOnce ({ step, times, afterMs, postgres }) {
      const killAt =
        step === undefined
          ? {}
          : { CRASH_STEP: step, CRASH_TIMES: String(times), ...(postgres ? { CRASH_POSTMASTER: pidFile } : {}) }
      let server: ServerProcess
      try {
        server = await startServer({ ...environ, ...killAt }, ENTRY)
      } catch (err) {
        return err as Error
      }
      self.server = server
      const timer = setTimeout(() => {
        server.kill().catch(() => {})
      }, afterMs)
      const signal = await server.ended
      clearTimeout(timer)
      self.server = undefined
      for (const { msg } of server.lines) {
        if (msg === 'dying' || msg === 'postmaster dying') onStep(step!, msg !== 'dying')
      }
      if (signal !== 'SIGKILL') return new Error('the server ended by itself')
    }
  }
  return self
}
