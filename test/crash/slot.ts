import type { Step } from '#src/alloggiati/ledger/context.ts'
import { startServer, type ServerProcess } from '#test/running-server.ts'
import type { Chance } from './chance.ts'

const STEPS: readonly Step[] = [
  'reserved',
  'claimed',
  'logged-in',
  'rehearsed',
  'connected',
  'dispatched',
  'replied',
  'recorded'
]
/** The longest life of a server, milliseconds: to be killed at an instant, and until a step is reached. */
const LIFE_MS = { instant: 1000, step: 3000 }

/** How a server is to end: at a step, or at any time. `postgres`: at that step it is the postmaster that dies first. */
export interface Death { step: Step | undefined, times: number, afterMs: number, postgres: boolean }

/** Every step in its turn, twice, and then any instant. */
export function deaths (chance: Chance): (postgres: boolean) => Death {
  let turn = 0
  return (postgres) => {
    const step = postgres || turn % 3 < 2 ? STEPS[turn % STEPS.length] : undefined
    turn++
    return {
      step,
      times: 1 + chance.whole(3),
      afterMs: step === undefined ? chance.whole(LIFE_MS.instant) : LIFE_MS.step,
      postgres
    }
  }
}

const ENTRY = new URL('server.ts', import.meta.url)

/** One server after another in the same place: each is started, is there to be used, and is killed. */
export interface Slot {
  server: ServerProcess | undefined
  /** Lives one life. True when it ended in a kill; false when it could not start. */
  live (death: Death): Promise<boolean>
}

/** @param onStep called when something died at a step: the server itself, or the postmaster by its hand */
export function slot (
  environ: Record<string, string>,
  pidFile: string,
  onStep: (step: string, postgres: boolean) => void
): Slot {
  const self: Slot = {
    server: undefined,
    async live ({ step, times, afterMs, postgres }) {
      const plan =
        step === undefined
          ? {}
          : { CRASH_STEP: step, CRASH_TIMES: String(times), ...(postgres ? { CRASH_POSTMASTER: pidFile } : {}) }
      let server: ServerProcess
      try {
        server = await startServer({ ...environ, ...plan }, ENTRY)
      } catch {
        return false
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
      return signal === 'SIGKILL'
    }
  }
  return self
}
