import { network } from './addresses.ts'
import { ServizioOccupato } from './errors.ts'
import { limitedSignal } from './limited-signal.ts'

/* Concurrency limits for costly work of this process. */

export interface ConcurrencyLimits { total: number, perCaller: number }

/**
 * Takes one or more slots for a caller. The returned function releases them, and may be called twice.
 * @throws ServizioOccupato
 */
type AcquireSlot = (caller: string, count?: number) => () => void

/** Limits slots in use, in total and per caller. Calls above the limit are rejected, not queued. */
export function limitConcurrency ({ total, perCaller }: ConcurrencyLimits): AcquireSlot {
  const taken = new Map<string, number>()
  let out = 0
  return (caller, count = 1) => {
    const own = taken.get(caller) ?? 0
    if (out + count > total || own + count > perCaller) throw new ServizioOccupato()
    out += count
    taken.set(caller, own + count)
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      out -= count
      const left = taken.get(caller)! - count
      if (left === 0) taken.delete(caller)
      else taken.set(caller, left)
    }
  }
}

/** The caller of a request, as concurrency limits identify it. */
interface Caller { principal: { id: string } | null, ip: string }

/** Maximum share of one client network in the slots of callers without credentials. */
const SHARE_OF_NETWORK = 1 / 4

/** Limits slots by caller. Callers without credentials are counted by network, in a separate pool of the same size. */
export function limitConcurrencyByCaller (limits: ConcurrencyLimits): (caller: Caller, count?: number) => () => void {
  const known = limitConcurrency(limits)
  const { total, perCaller } = limits
  const strangers = limitConcurrency({ total, perCaller: Math.min(perCaller, Math.ceil(total * SHARE_OF_NETWORK)) })
  return ({ principal, ip }, count) => principal ? known(principal.id, count) : strangers(network(ip), count)
}

interface FairQueueOptions {
  /** Maximum tasks that run at once. */
  places: number
  /** Maximum tasks that wait, of all callers together. */
  waiting: number
  /** Maximum milliseconds that a task waits. */
  waitMs: number
}

/** A queue for expensive tasks. It serves callers in turn, so that no caller waits for all tasks of another. */
export interface FairQueue {
  /**
   * Waits for a slot, and resolves with a function that releases it.
   * @throws ServizioOccupato when a signal aborts, the task waited too long, or the queue is full. A full queue rejects
   * the newest task of the caller with the most waiting tasks.
   */
  take (caller: string, stops: readonly AbortSignal[]): Promise<() => void>
  count (): { taken: number, waiting: number }
}

/** One task in the queue. */
interface Waiter { start (): void, reject (): void }

export function fairQueue ({ places, waiting: waitingMax, waitMs }: FairQueueOptions): FairQueue {
  /** The waiting tasks of each caller. The first caller is served next. */
  const lines = new Map<string, Set<Waiter>>()
  let taken = 0
  let waiting = 0

  function leave (caller: string, waiter: Waiter): void {
    const line = lines.get(caller)
    if (!line?.delete(waiter)) return
    waiting--
    if (line.size === 0) lines.delete(caller)
  }

  function startNext (): void {
    const [next] = lines
    if (next === undefined || taken >= places) return
    const [caller, line] = next
    // Move the caller behind all others.
    lines.delete(caller)
    lines.set(caller, line)
    const [first] = line
    first!.start()
  }

  function makeRoom (caller: string): void {
    if (waiting < waitingMax) return
    const longest = [...lines.values()].reduce((a, b) => b.size > a.size ? b : a, new Set<Waiter>())
    if (longest.size <= (lines.get(caller)?.size ?? 0) + 1) throw new ServizioOccupato()
    ;[...longest].at(-1)!.reject()
  }

  async function wait (caller: string, stops: readonly AbortSignal[]): Promise<void> {
    makeRoom(caller)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = {
      start () {
        leave(caller, waiter)
        taken++
        resolve()
      },
      reject () {
        leave(caller, waiter)
        reject(new ServizioOccupato())
      }
    }
    const line = lines.get(caller) ?? new Set()
    lines.set(caller, line.add(waiter))
    waiting++
    const stop = limitedSignal(stops, waitMs)
    stop.signal.addEventListener('abort', waiter.reject, { once: true })
    await promise.finally(stop.end)
  }

  return {
    async take (caller, stops) {
      if (stops.some(({ aborted }) => aborted)) throw new ServizioOccupato()
      if (taken < places) taken++
      else await wait(caller, stops)
      return () => {
        taken--
        startNext()
      }
    },
    count: () => ({ taken, waiting })
  }
}
