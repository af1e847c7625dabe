import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { Piscina } from 'piscina'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import { limitTurns, slots, type TurnLimits } from '#src/lib/turns.ts'
import { LavoroNonIniziato, LavoroNonRiuscito, LavoroTroppoLungo } from './errors.ts'

/** A function that runs in a thread; what goes in and comes out is cloned. `never`: each task says what it takes. */
export type Task = (payload: never) => unknown

export interface RunOptions {
  /** On whose behalf: one caller does not take every turn. */
  caller: string
  /** Milliseconds from the call until the result must be there, the time in the queue included. */
  deadlineMs: number
  /** Aborted when nobody waits for the result any more. */
  signal?: AbortSignal | undefined
  /** Buffers that are handed over and not copied: they are empty afterwards. */
  transfer?: readonly ArrayBuffer[] | undefined
}

/** Heavy work, in threads beside the event loop. */
export interface Workers {
  /**
   * Runs the task that is the default export of a module, a `.ts` file. A refusal is best a part of its result: what
   * it throws arrives as an Error without its class.
   * @throws ServizioOccupato when too much work waits already, or the turn of this did not come in time
   * @throws LavoroTroppoLungo past the deadline, and the thread is ended
   * @throws LavoroNonRiuscito when the thread ends by itself, as by its limit of memory
   * @throws what the task throws
   */
  run<T extends Task> (module: URL, payload: Parameters<T>[0], options: RunOptions): Promise<Awaited<ReturnType<T>>>
}

export interface PoolOptions {
  /** Tasks that run at a time, each in a thread of its own. */
  threads: number
  /** Tasks that run or wait, of all callers and of one. */
  turns: TurnLimits
  /** Megabytes of JavaScript that a task may hold; what libraries in machine language hold is not counted. */
  memoryMb: number
  /** Milliseconds after which a thread that has nothing to do ends. */
  idleMs: number
}

export interface WorkerPool extends Workers {
  /** Tasks at this moment. */
  count (): { running: number, waiting: number }
  /** Ends the threads; the tasks that run or wait fail. */
  close (): Promise<void>
}

/** What the library says when a thread has ended without an error of the task. */
const EXITED = /^worker exited with code|^Terminating worker thread$/

/**
 * A bounded pool of threads. None is there before the first task, and none a while after the last one. Tasks queue here
 * and not in Piscina: a task that had no turn in time is to be tried again, and one that took too long is not.
 */
export function workerPool ({ threads, turns, memoryMb, idleMs }: PoolOptions): WorkerPool {
  const takeTurn = limitTurns(turns)
  const line = slots(threads)
  const closing = new AbortController()
  let opened: Promise<Piscina> | undefined

  async function open (): Promise<Piscina> {
    // Loaded when there is something to do: most processes start without.
    const { Piscina } = await import('piscina')
    const pool = new Piscina({
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      // Else an idle thread stands still, and what a library has left to do stands still with it.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      env: environment(),
      argv: [],
      execArgv: []
    })
    // An idle thread that fails is replaced when it is needed.
    pool.on('error', () => {})
    return pool
  }

  return {
    async run<T extends Task> (
      module: URL, payload: Parameters<T>[0], options: RunOptions
    ): Promise<Awaited<ReturnType<T>>> {
      const { caller, deadlineMs, signal, transfer = [] } = options
      const giveBack = takeTurn(caller)
      const stop = limitedSignal(signal ? [closing.signal, signal] : [closing.signal], deadlineMs)
      let leave: (() => void) | undefined
      try {
        leave = await line.take(stop.signal)
        const pool = await (opened ??= open())
        return await pool.run(payload, { filename: module.href, signal: stop.signal, transferList: [...transfer] })
      } catch (err) {
        throw leave === undefined ? new LavoroNonIniziato() : problem(err as Error, stop)
      } finally {
        stop.end()
        leave?.()
        giveBack()
      }
    },

    count () {
      const { taken, waiting } = line.count()
      return { running: taken, waiting }
    },

    async close () {
      closing.abort()
      await (await opened)?.destroy()
    }
  }
}

/**
 * They read what strangers send, and need nothing of the configuration. With the compiled code that the process keeps,
 * in a folder of its version of Node, a thread for PDFs takes 0.48 s of processor time to begin in place of 0.65.
 */
function environment (): { NODE_COMPILE_CACHE?: string } {
  const cache = getCompileCacheDir()
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
}

function problem (err: Error & { code?: string }, stop: LimitedSignal): Error {
  if (stop.signal.aborted) return stop.isTooLate() ? new LavoroTroppoLungo() : new LavoroNonIniziato()
  return err.code === 'ERR_WORKER_OUT_OF_MEMORY' || EXITED.test(err.message) ? new LavoroNonRiuscito() : err
}
