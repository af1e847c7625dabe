/** Does work on one thing after the work on the same thing that was asked for before, however that has ended. */
export type InTurn = <T>(thing: number, work: () => Promise<T>) => Promise<T>

/** Turns of this process; others have their own. */
export function turns (): InTurn {
  const last = new Map<number, Promise<unknown>>()
  return async (thing, work) => {
    const mine = (last.get(thing) ?? Promise.resolve()).then(work, work)
    last.set(thing, mine)
    try {
      return await mine
    } finally {
      if (last.get(thing) === mine) last.delete(thing)
    }
  }
}
