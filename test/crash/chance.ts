/** Chance that can be repeated: the same seed, the same plan (Tommy Ettinger's mulberry32, public domain). */
export interface Chance {
  /** Between 0 and 1, without 1. */
  number (): number
  /** A whole number from 0 to `below`, without `below`. */
  whole (below: number): number
  one<T> (list: readonly T[]): T
}

export function chance (seed: number): Chance {
  let state = seed >>> 0
  const number = () => {
    state = (state + 0x6D2B79F5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (below: number) => Math.floor(number() * below)
  return { number, whole, one: (list) => list[whole(list.length)]! }
}
