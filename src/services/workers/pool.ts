import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import type { Piscina } from 'piscina'
import { limitTurns, type TurnLimits } from '#src/lib/turns.ts'
import { LavoroNonIniziato, LavoroNonRiuscito, LavoroTroppoLungo } from './errors.ts'
import { slots } from './slots.ts'

/** A function that runs in a thread; what goes in and comes out is cloned. `never`: each task says what it takes. */
export type Task = (payload: never) => unknown

export interface RunOptions {
  /** On whose behalf: one caller does not take every turn. */
  caller: string
  /** Milliseconds from the call until the result must be there, the time in the queue included. */
  deadlineMs: number
  /** Aborted when nobody waits for the result any more. */
  signal?: AbortSignal | undefined
  /** It takes much memory beside JavaScript, which no limit holds: no other such task runs meanwhile. */
  alone?: boolean | undefined
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
   * @throws what the task throws: no further task runs in its thread
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
  /** Tasks after which the threads are replaced: the memory of a library in machine language never shrinks. */
  tasksMax?: number
}

export interface WorkerPool extends Workers {
  /** Tasks at this moment. */
  count (): { running: number, waiting: number }
  /** Ends the threads; the tasks that run or wait fail. */
  close (): Promise<void>
}

type Reason = 'deadline' | 'unwanted'

/** Threads, how many tasks have them, and how many they have had. */
interface Crew { pool: Piscina, tasks: number, total: number, isRetired: boolean }

/** What the library says when a thread has ended without an error of the task. */
const EXITED = /^worker exited with code|^Terminating worker thread$/

/**
 * A bounded pool of threads. None is there before the first task, and none a while after the last one. Tasks wait here,
 * not in the library: when a thread is ended, that one forgets the tasks that wait, and starts another thread while the
 * ended one is still at its work in machine language.
 */
export function workerPool ({ threads, turns, memoryMb, idleMs, tasksMax = 200 }: PoolOptions): WorkerPool {
  const takeTurn = limitTurns(turns)
  const line = slots(threads)
  const aloneLine = slots(1)
  const underWay = new Set<AbortController>()
  const alive = new Set<Crew>()
  let opened: Promise<Crew> | undefined

  async function open (): Promise<Crew> {
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
    const crew: Crew = { pool, tasks: 0, total: 0, isRetired: false }
    alive.add(crew)
    return crew
  }

  /** Threads for one more task. */
  async function take (): Promise<Crew> {
    const crew = await (opened ??= open())
    if (crew.isRetired) return await take()
    crew.tasks++
    if (++crew.total >= tasksMax) retire(crew)
    return crew
  }

  /**
   * What runs is brought to its end, and what follows has new threads: after many tasks, and after a failure that
   * nobody foresaw, since a library in machine language may be in disorder, and fail in every task that comes after.
   */
  function retire (crew: Crew): void {
    if (crew.isRetired) return
    crew.isRetired = true
    opened = undefined
  }

  function dismiss (crew: Crew): void {
    if (--crew.tasks > 0 || !crew.isRetired) return
    alive.delete(crew)
    void crew.pool.destroy()
  }

  /** Resolves when the threads have ended that a failure has taken out of the pool. */
  async function haveEnded (pool: Piscina, before: readonly Worker[]): Promise<void> {
    const ended = before.filter((thread) => !pool.threads.includes(thread) && thread.threadId !== -1)
    // Not by `once` of node:events, which rejects at an error of the thread. Piscina hears those errors.
    await Promise.all(ended.map((thread) => new Promise((resolve) => { thread.once('exit', resolve) })))
  }

  /** Waits for a thread; a task that runs alone, first for the end of the one before. Returns how it is left. */
  async function takePlace (alone: boolean, stop: AbortSignal): Promise<() => void> {
    if (!alone) return await line.take(stop)
    const leaveAlone = await aloneLine.take(stop)
    try {
      const leave = await line.take(stop)
      return () => {
        leave()
        leaveAlone()
      }
    } catch (err) {
      leaveAlone()
      throw err
    }
  }

  return {
    async run<T extends Task> (
      module: URL, payload: Parameters<T>[0], options: RunOptions
    ): Promise<Awaited<ReturnType<T>>> {
      const { caller, deadlineMs, signal, alone = false, transfer = [] } = options
      const giveBack = takeTurn(caller)
      const stop = new AbortController()
      const abandon = () => stop.abort('unwanted' satisfies Reason)
      const deadline = setTimeout(() => stop.abort('deadline' satisfies Reason), deadlineMs)
      if (signal?.aborted) abandon()
      signal?.addEventListener('abort', abandon, { once: true })
      underWay.add(stop)
      let ended: Promise<void> | undefined
      let leave: (() => void) | undefined
      let crew: Crew | undefined
      try {
        leave = await takePlace(alone, stop.signal)
        crew = await take()
        const { pool } = crew
        const result = pool.run(payload, { filename: module.href, signal: stop.signal, transferList: [...transfer] })
        const before = pool.threads
        return await result.catch((err: unknown) => {
          ended = haveEnded(pool, before)
          if (isUnforeseen(err as Error, stop.signal)) retire(crew!)
          throw err
        }) as Awaited<ReturnType<T>>
      } catch (err) {
        throw leave === undefined ? new LavoroNonIniziato() : problem(err as Error, stop.signal)
      } finally {
        clearTimeout(deadline)
        signal?.removeEventListener('abort', abandon)
        underWay.delete(stop)
        giveBack()
        if (crew !== undefined) dismiss(crew)
        // The caller is answered now. What is in machine language goes on for a while: its place is not free before.
        if (ended === undefined) leave?.()
        else void ended.then(leave)
      }
    },

    count () {
      const { taken, waiting } = line.count()
      return { running: taken, waiting: waiting + aloneLine.count().waiting }
    },

    async close () {
      for (const each of underWay) each.abort('unwanted' satisfies Reason)
      await opened
      await Promise.all([...alive].map(({ pool }) => pool.destroy()))
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

function problem (err: Error, stop: AbortSignal): Error {
  if (stop.aborted) return stop.reason === 'deadline' ? new LavoroTroppoLungo() : new LavoroNonIniziato()
  return hasEnded(err) ? new LavoroNonRiuscito() : err
}

/** The task itself has failed, and its thread lives. */
function isUnforeseen (err: Error, stop: AbortSignal): boolean {
  return !stop.aborted && !hasEnded(err)
}

/** The thread has ended. */
function hasEnded (err: Error & { code?: string }): boolean {
  return err.code === 'ERR_WORKER_OUT_OF_MEMORY' || EXITED.test(err.message)
}
