/** Reproducible random values (Tommy Ettinger's mulberry32, public domain). */
export interface SeededRandom {
  /** From 0 to 1, exclusive. */
  fraction (): number
  /** An integer from 0 to `below`, exclusive. */
  integer (below: number): number
  pick<T> (list: readonly T[]): T
}

export function seededRandom (seed: number): SeededRandom {
  let state = seed >>> 0
  const fraction = () => {
    state = (state + 0x6D2B79F5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (below: number) => Math.floor(fraction() * below)
  return { fraction, integer, pick: (list) => list[integer(list.length)]! }
}
