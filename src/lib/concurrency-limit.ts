import { network } from './addresses.ts'
import { ServizioOccupato } from './errors.ts'

/* Concurrency limits for costly work of this process. */

export interface ConcurrencyLimits { total: number, perCaller: number }

/**
 * Takes one or more turns for a caller. The returned function gives them back, and may be called twice.
 * @throws ServizioOccupato
 */
type AcquireSlot = (caller: string, count?: number) => () => void

/** Limits concurrent turns in total and per caller. Excess calls are rejected, not queued. */
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

/** The caller of a request for concurrency limits. */
interface Caller { principal: { id: string } | null, ip: string }

/** Limits turns by caller. Callers without credentials count by network, in a separate pool of the same size. */
export function limitConcurrencyByCaller (limits: ConcurrencyLimits): (caller: Caller, count?: number) => () => void {
  const known = limitConcurrency(limits)
  const strangers = limitConcurrency(limits)
  return ({ principal, ip }, count) => principal ? known(principal.id, count) : strangers(network(ip), count)
}

/** A semaphore. Excess takers wait, first come, first served. */
interface Semaphore {
  /** Resolves with a function that releases the slot. @throws the signal's reason when it aborts */
  take (signal: AbortSignal): Promise<() => void>
  count (): { taken: number, waiting: number }
}

export function semaphore (places: number): Semaphore {
  const waiting = new Set<() => void>()
  let taken = 0

  function giveBack () {
    taken--
    const [next] = waiting
    next?.()
  }

  return {
    take (signal) {
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(enter)
          reject(signal.reason)
        }
        const enter = () => {
          waiting.delete(enter)
          signal.removeEventListener('abort', leave)
          taken++
          resolve(giveBack)
        }
        if (signal.aborted) return leave()
        if (taken < places) return enter()
        signal.addEventListener('abort', leave, { once: true })
        waiting.add(enter)
      })
    },
    count: () => ({ taken, waiting: waiting.size })
  }
}
