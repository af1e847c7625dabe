import { ServizioOccupato } from './errors.ts'

export interface TurnLimits { total: number, perCaller: number }

/** Takes a turn for a caller, who gives it back with the function that is returned. @throws ServizioOccupato */
export type TakeTurn = (caller: string) => () => void

/**
 * Turns for costly work: so many are out at a time in this process, and so many to one caller. Who comes too many is
 * refused, and not kept waiting.
 */
export function limitTurns ({ total, perCaller }: TurnLimits): TakeTurn {
  const taken = new Map<string, number>()
  let out = 0
  return (caller) => {
    const own = taken.get(caller) ?? 0
    if (out >= total || own >= perCaller) throw new ServizioOccupato()
    out++
    taken.set(caller, own + 1)
    return () => {
      out--
      const left = taken.get(caller)! - 1
      if (left === 0) taken.delete(caller)
      else taken.set(caller, left)
    }
  }
}
