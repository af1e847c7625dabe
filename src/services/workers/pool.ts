import { getCompileCacheDir } from 'node:module'
import { dirname } from 'node:path'
import type { Piscina } from 'piscina'
import { limitedSignal, type LimitedSignal } from '#src/lib/limited-signal.ts'
import { fairQueue } from '#src/lib/concurrency-limit.ts'
import { LavoroNonIniziato, LavoroNonRiuscito, LavoroTroppoLungo } from './errors.ts'

/** A function that runs in a thread. Payload and result are cloned. `never`: each task declares its payload. */
export type Task = (payload: never) => unknown

export interface RunOptions {
  /** The caller. Callers are served in turn. */
  caller: string
  /** Milliseconds from the start of the task to its result. The time in the queue does not count. */
  deadlineMs: number
  /** Aborts when the result is not needed any more. */
  signal?: AbortSignal | undefined
  /** Buffers that are transferred instead of copied. They are empty afterwards. */
  transfer?: readonly ArrayBuffer[] | undefined
}

/** Runs heavy tasks in threads. */
export interface Workers {
  /**
   * Runs the task that a module (a `.ts` file) exports as default. Tasks should return refusals as results, because a
   * thrown error loses its class.
   * @throws ServizioOccupato when the queue is full, or the task did not start in time
   * @throws LavoroTroppoLungo past the deadline. The thread is ended
   * @throws LavoroNonRiuscito when the thread ends by itself, e.g. by its memory limit
   * @throws errors of the task
   */
  run<T extends Task> (module: URL, payload: Parameters<T>[0], options: RunOptions): Promise<Awaited<ReturnType<T>>>
}

export interface PoolOptions {
  /** Number of concurrent tasks. Each has its own thread. */
  threads: number
  /** Maximum tasks that wait, of all callers together. */
  waiting: number
  /** Maximum milliseconds that a task waits. */
  waitMs: number
  /** Megabytes of JavaScript heap per task. The native memory of libraries is not included. */
  memoryMb: number
  /** Megabytes of buffers per task, which are outside the heap. */
  buffersMb?: number
  /** Milliseconds after which an idle thread ends. */
  idleMs: number
}

interface WorkerPool extends Workers {
  /** The number of tasks now. */
  count (): { running: number, waiting: number }
  /** Ends the threads. Running and queued tasks fail. */
  close (): Promise<void>
}

/** More than the largest accepted image takes (475). */
const BUFFERS_MB = 768
/** Interval at which the buffers of the threads are measured, because V8 does not limit them. */
const MEASURE_MS = 100

/** Piscina's messages when a thread ends without an error from the task. */
const EXITED = /^worker exited with code|^Terminating worker thread$/

/**
 * A bounded thread pool. Threads start with the first task, and end when they are idle. Tasks wait in this queue, not
 * in Piscina's, so that the pool knows which tasks never started. Only those may be retried.
 */
export function workerPool (
  { threads, waiting, waitMs, memoryMb, buffersMb = BUFFERS_MB, idleMs }: PoolOptions
): WorkerPool {
  const queue = fairQueue({ slots: threads, waiting, waitMs })
  const closing = new AbortController()
  let opened: Promise<Piscina> | undefined

  async function open (): Promise<Piscina> {
    // Loaded on first use, because most processes start without tasks.
    const { Piscina } = await import('piscina')
    const pool = new Piscina({
      minThreads: 0,
      maxThreads: threads,
      idleTimeout: idleMs,
      // With atomics an idle thread blocks, so pending work of libraries in it stops.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      env: environment(),
      argv: [],
      execArgv: []
    })
    // An idle thread that fails is replaced on demand.
    pool.on('error', () => {})
    return pool
  }

  return {
    async run<T extends Task> (
      module: URL, payload: Parameters<T>[0], options: RunOptions
    ): Promise<Awaited<ReturnType<T>>> {
      const { caller, deadlineMs, signal, transfer = [] } = options
      const stops = signal ? [closing.signal, signal] : [closing.signal]
      const leave = await queue.take(caller, stops).catch(() => { throw new LavoroNonIniziato() })
      const stop = limitedSignal(stops, deadlineMs)
      let measuring: NodeJS.Timeout | undefined
      try {
        const pool = await (opened ??= open())
        measuring = setInterval(() => endOversizedThreads(pool, buffersMb), MEASURE_MS)
        return await pool.run(payload, { filename: module.href, signal: stop.signal, transferList: [...transfer] })
      } catch (err) {
        throw problem(err as Error, stop)
      } finally {
        clearInterval(measuring)
        stop.end()
        leave()
      }
    },

    count () {
      const { taken, waiting } = queue.count()
      return { running: taken, waiting }
    },

    async close () {
      closing.abort()
      await (await opened)?.destroy()
    }
  }
}

/** Ends the threads with too many buffers. A small file can contain gigabytes. V8 measures a thread while it runs. */
function endOversizedThreads (pool: Piscina, buffersMb: number): void {
  for (const thread of pool.threads) {
    thread.getHeapStatistics()
      .then(async ({ external_memory: bytes }) => { if (bytes > buffersMb * 2 ** 20) await thread.terminate() })
      // The thread has ended.
      .catch(() => {})
  }
}

/**
 * Environment of the threads. They process untrusted input, so they get no configuration. The compile cache reduces the
 * start of a PDF thread from 0.65 s to 0.48 s of processor time.
 */
function environment (): { NODE_COMPILE_CACHE?: string } {
  const cache = getCompileCacheDir()
  return cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) }
}

function problem (err: Error & { code?: string }, stop: LimitedSignal): Error {
  if (stop.signal.aborted) return stop.isTooLate() ? new LavoroTroppoLungo() : new LavoroNonIniziato()
  return err.code === 'ERR_WORKER_OUT_OF_MEMORY' || EXITED.test(err.message) ? new LavoroNonRiuscito() : err
}
