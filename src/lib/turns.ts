import { network } from './addresses.ts'
import { ServizioOccupato } from './errors.ts'

/* Limits on how much of a costly kind of work this process does at a time. */

export interface TurnLimits { total: number, perCaller: number }

/**
 * Takes a turn for a caller, or several at once, which are given back with the function that is returned, once.
 * @throws ServizioOccupato
 */
export type TakeTurn = (caller: string, count?: number) => () => void

/** So many turns are out at a time, and so many to one caller. A further one is refused, and not queued. */
export function limitTurns ({ total, perCaller }: TurnLimits): TakeTurn {
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

/** The caller of a request, as far as turns are concerned. */
interface Caller { principal: { id: string } | null, ip: string }

/** Turns by caller. One without credentials counts by network, and takes none of those who have them. */
export function limitCallers (limits: TurnLimits): (caller: Caller, count?: number) => () => void {
  const known = limitTurns(limits)
  const strangers = limitTurns(limits)
  return ({ principal, ip }, count) => principal ? known(principal.id, count) : strangers(network(ip), count)
}

/** Places of which so many are taken at a time; further ones wait, first come first served. */
export interface Slots {
  /** Resolves with a function that gives the place back. @throws the reason of the signal, once it is aborted */
  take (signal: AbortSignal): Promise<() => void>
  count (): { taken: number, waiting: number }
}

export function slots (places: number): Slots {
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
