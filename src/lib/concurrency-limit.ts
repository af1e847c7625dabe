import { network } from './addresses.ts'
import { ServizioOccupato } from './errors.ts'
import { limitedSignal } from './limited-signal.ts'

/* Concurrency limits for costly work of this process. */

/** Milliseconds that a request waits for a slot. A longer wait does not help a caller. */
const WAIT_MS = 10_000
/** Maximum requests that wait for the slots of one limit. */
const WAITING = 256

interface ConcurrencyLimits {
  total: number
  perCaller: number
  /** Maximum requests that wait. With 0, requests above the limit are refused at once. */
  waiting?: number
}

/**
 * Takes one or more slots for a caller, and waits up to ten seconds for them. The returned function releases them, and
 * may be called twice.
 * @throws ServizioOccupato
 */
type AcquireSlot = (caller: string, count?: number) => Promise<() => void>

/** Limits slots in use, in total and per caller. */
export function limitConcurrency ({ total, perCaller, waiting = WAITING }: ConcurrencyLimits): AcquireSlot {
  const queue = fairQueue({ slots: total, perCaller, waiting, waitMs: WAIT_MS })
  return (caller, count) => queue.take(caller, [], count)
}

/** The caller of a request, as concurrency limits identify it. */
interface Caller { principal: { id: string } | null, ip: string }

/** Maximum share of one client network in the slots of callers without credentials. */
const SHARE_OF_NETWORK = 1 / 4

/** Limits slots by caller. Callers without credentials are counted by network, in a separate pool of the same size. */
export function limitConcurrencyByCaller (
  limits: ConcurrencyLimits
): (caller: Caller, count?: number) => Promise<() => void> {
  const known = limitConcurrency(limits)
  const { total, perCaller } = limits
  const share = Math.min(perCaller, Math.ceil(total * SHARE_OF_NETWORK))
  const anonymous = limitConcurrency({ ...limits, perCaller: share })
  return ({ principal, ip }, count) => principal ? known(principal.id, count) : anonymous(network(ip), count)
}

interface FairQueueOptions {
  /** Maximum concurrent tasks, in total and of one caller. */
  slots: number
  perCaller?: number
  /** Maximum tasks that wait, of all callers together. */
  waiting: number
  /** Maximum milliseconds that a task waits. */
  waitMs: number
}

/** A queue for expensive tasks. It serves callers in turn, so that no caller waits for all tasks of another. */
interface FairQueue {
  /**
   * Waits for one or more slots, and resolves with a function that releases them.
   * @throws ServizioOccupato when a signal aborts, the task waited too long, or the queue is full. A full queue rejects
   * the newest task of the caller with the most waiting tasks.
   */
  take (caller: string, stops: readonly AbortSignal[], count?: number): Promise<() => void>
  count (): { taken: number, waiting: number }
}

/** One task in the queue. */
interface Waiter { count: number, start (): void, reject (): void }

export function fairQueue (
  { slots, perCaller = slots, waiting: waitingMax, waitMs }: FairQueueOptions
): FairQueue {
  /** The waiting tasks of each caller. The first caller is served next. */
  const lines = new Map<string, Set<Waiter>>()
  /** The slots of each caller. */
  const used = new Map<string, number>()
  let taken = 0
  let waiting = 0

  function fits (caller: string, count: number): boolean {
    return taken + count <= slots && (used.get(caller) ?? 0) + count <= perCaller
  }

  function add (caller: string, count: number): void {
    taken += count
    const left = (used.get(caller) ?? 0) + count
    if (left === 0) used.delete(caller)
    else used.set(caller, left)
  }

  function leave (caller: string, waiter: Waiter): void {
    const line = lines.get(caller)
    if (!line?.delete(waiter)) return
    waiting--
    if (line.size === 0) lines.delete(caller)
  }

  function startNext (): void {
    // A caller whose task starts moves to the end of the queue, and is visited again.
    for (const [caller, line] of lines) {
      const [first] = line
      if (!fits(caller, first!.count)) continue
      lines.delete(caller)
      lines.set(caller, line)
      first!.start()
    }
  }

  function makeRoom (caller: string): void {
    if (waiting < waitingMax) return
    const longest = [...lines.values()].reduce((a, b) => b.size > a.size ? b : a, new Set<Waiter>())
    if (longest.size <= (lines.get(caller)?.size ?? 0) + 1) throw new ServizioOccupato()
    ;[...longest].at(-1)!.reject()
  }

  async function wait (caller: string, stops: readonly AbortSignal[], count: number): Promise<void> {
    makeRoom(caller)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiter: Waiter = {
      count,
      start () {
        leave(caller, waiter)
        add(caller, count)
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
    async take (caller, stops, count = 1) {
      if (stops.some(({ aborted }) => aborted)) throw new ServizioOccupato()
      if (fits(caller, count)) add(caller, count)
      else await wait(caller, stops, count)
      let isReleased = false
      return () => {
        if (isReleased) return
        isReleased = true
        add(caller, -count)
        startNext()
      }
    },
    count: () => ({ taken, waiting })
  }
}
