import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { limitedSignal } from '#src/lib/limited-signal.ts'
import { slots } from '#src/lib/turns.ts'
import { LavoroNonIniziato, LavoroNonRiuscito, LavoroTroppoLungo } from '#src/services/workers/errors.ts'
import type { TextReply, TextRequest } from './text-thread.ts'

export interface TextEngineOptions {
  /** Milliseconds from the call until the text must be there, the wait for others included. */
  deadlineMs?: number
  /** Readings after which a thread is replaced: the library's memory never shrinks. */
  readingsMax?: number
  /** Milliseconds after which a thread that has nothing to do ends. */
  idleMs?: number
  /** What the thread runs; for tests. */
  script?: URL
}

export interface TextEngine {
  /**
   * The text of a page.
   * @throws LavoroTroppoLungo past the deadline, LavoroNonRiuscito where the thread fails, LavoroNonIniziato where its
   * turn did not come (503)
   */
  read (request: TextRequest, signal?: AbortSignal): Promise<string>
  /** Threads that run: none before the first picture. */
  threads (): number
  close (): Promise<void>
}

const SCRIPT = new URL('text-thread.ts', import.meta.url)
const MEMORY_MB = 256

/** Tesseract in a thread of its own, which is kept: one picture at a time, first come first served. */
export function textEngine (
  { deadlineMs = 30_000, readingsMax = 200, idleMs = 300_000, script = SCRIPT }: TextEngineOptions = {}
): TextEngine {
  const line = slots(1)
  const closing = new AbortController()
  const thread = readingThread(script, readingsMax)
  let idle: NodeJS.Timeout | undefined

  async function takePlace (stops: readonly AbortSignal[]): Promise<() => void> {
    const waiting = limitedSignal(stops)
    return await line.take(waiting.signal).finally(waiting.end)
  }

  return {
    async read (request, unwanted = closing.signal) {
      const stop = limitedSignal([closing.signal], deadlineMs)
      const leave = await takePlace([stop.signal, unwanted]).catch(() => {
        stop.end()
        throw new LavoroNonIniziato()
      })
      clearTimeout(idle)
      try {
        return await thread.read(request, stop.signal)
      } finally {
        stop.end()
        leave()
        const isIdle = line.count().taken === 0 && !closing.signal.aborted
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

/** One thread, which begins with the first reading and is replaced after so many. */
function readingThread (script: URL, readingsMax: number) {
  let thread: Worker | undefined
  let readings = 0

  function start (): Worker {
    readings = 0
    // It reads what strangers send: nothing of the environment, and what the library prints is for nobody.
    const started = new Worker(script, {
      env: {}, argv: [], execArgv: [], stdout: true, stderr: true, resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB }
    })
    started.stdout.resume()
    started.stderr.resume()
    // What it fails with is told to who waits for its reply.
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
      const [told] = await reply
      if ('fault' in told) throw new LavoroNonRiuscito()
      if (++readings >= readingsMax) await end()
      return told.text
    } catch {
      // Whatever it is at, nobody waits for it any more.
      await end()
      throw stop.aborted ? new LavoroTroppoLungo() : new LavoroNonRiuscito()
    } finally {
      waiting.abort()
    }
  }

  return { read, end, isRunning: () => thread !== undefined }
}
