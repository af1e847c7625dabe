import { ServizioOccupato } from './errors.ts'

export interface TurnLimits { total: number, perCaller: number }

/**
 * Takes a turn for a caller, or several at once, which are given back with the function that is returned, once.
 * @throws ServizioOccupato
 */
export type TakeTurn = (caller: string, count?: number) => () => void

/**
 * Turns for costly work: so many are out at a time in this process, and so many to one caller. Who comes too many is
 * refused, and not kept waiting.
 */
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
