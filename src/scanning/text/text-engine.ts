import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { fairQueue } from '#src/lib/concurrency-limit.ts'
import { LavoroNonIniziato, LavoroNonRiuscito, LavoroTroppoLungo } from '#src/services/workers/errors.ts'
import type { TextReply, TextRequest } from './text-thread.ts'

export interface TextEngineOptions {
  /** Deadline in milliseconds from the start of the reading. */
  deadlineMs?: number
  /** Maximum pages that wait, and the maximum milliseconds of the wait. */
  waiting?: number
  waitMs?: number
  /** Number of pages after which the thread ends, because the library's memory never shrinks. */
  readingsMax?: number
  /** Milliseconds after which an idle thread ends. */
  idleMs?: number
  /** The script of the thread. Tests replace it. */
  script?: URL
}

export interface TextEngine {
  /**
   * Reads the text of a page. Callers are served in turn.
   * @throws LavoroTroppoLungo past the deadline, LavoroNonRiuscito when the thread fails, LavoroNonIniziato when the
   * page never left the queue (503)
   */
  read (request: TextRequest, caller: string, signal?: AbortSignal): Promise<string>
  /** Number of running reading threads: 0 or 1. 0 before the first page, and after an idle time. */
  threads (): number
  close (): Promise<void>
}

const SCRIPT = new URL('text-thread.ts', import.meta.url)
const MEMORY_MB = 256

/** Tesseract in a long-lived thread, one image at a time. */
export function textEngine ({
  deadlineMs = 30_000, waiting = 24, waitMs = 60_000, readingsMax = 200, idleMs = 300_000, script = SCRIPT
}: TextEngineOptions = {}): TextEngine {
  const queue = fairQueue({ slots: 1, waiting, waitMs })
  const closing = new AbortController()
  const thread = readingThread(script, readingsMax)
  let idle: NodeJS.Timeout | undefined

  return {
    async read (request, caller, unwanted = closing.signal) {
      const leave = await queue.take(caller, [closing.signal, unwanted]).catch(() => { throw new LavoroNonIniziato() })
      const stop = limitedSignal([closing.signal], deadlineMs)
      clearTimeout(idle)
      try {
        return await thread.read(request, stop.signal)
      } finally {
        stop.end()
        leave()
        const isIdle = queue.count().taken === 0 && !closing.signal.aborted
        if (isIdle) idle = setTimeout(() => { void thread.end() }, idleMs).unref()
      }
    },
    threads: () => thread.isRunning() ? 1 : 0,
    async close () {
      closing.abort()
      clearTimeout(idle)
      await thread.end()
    }
  }
}

/** One thread, which the first page starts. After `readingsMax` pages it ends, and the next page starts another. */
function readingThread (script: URL, readingsMax: number) {
  let thread: Worker | undefined
  let readings = 0

  function start (): Worker {
    readings = 0
    // The thread processes untrusted input, so it gets no environment, and its output is discarded.
    const started = new Worker(script, {
      env: {}, argv: [], execArgv: [], stdout: true, stderr: true, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB }
    })
    started.stdout.resume()
    started.stderr.resume()
    // The pending `read` reports the error.
    started.on('error', () => {})
    started.once('exit', () => { if (thread === started) thread = undefined })
    return started
  }

  async function end (): Promise<void> {
    const ending = thread
    thread = undefined
    await ending?.terminate()
  }

  async function read (request: TextRequest, stop: AbortSignal): Promise<string> {
    const running = thread ??= start()
    const waiting = limitedSignal([stop])
    const { signal } = waiting
    try {
      const reply = Promise.race([
        once(running, 'message', { signal }) as Promise<[TextReply]>,
        once(running, 'exit', { signal }).then(() => { throw new LavoroNonRiuscito() })
      ])
      running.postMessage(request)
      const [result] = await reply
      if ('fault' in result) throw new LavoroNonRiuscito()
      if (++readings >= readingsMax) await end()
      return result.text
    } catch {
      // End the thread, because it may still be working.
      await end()
      throw stop.aborted ? new LavoroTroppoLungo() : new LavoroNonRiuscito()
    } finally {
      waiting.abort()
    }
  }

  return { read, end, isRunning: () => thread !== undefined }
}
