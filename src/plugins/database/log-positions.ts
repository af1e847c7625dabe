/** What a primary had written of its log at which instant, as far as a replica has not said that it has it. */
export interface LogPositions {
  /** @param at later than all before */
  note (at: number, position: number): void
  /** The latest instant whose changes a replica has that has replayed so far; undefined when it is not known. */
  reachedBy (position: number): number | undefined
  forget (): void
  readonly size: number
}

/**
 * @param usefulMs what was noted longer ago is dropped: a replica that is paused reaches nothing, for as long as that
 * lasts, and what it reaches then would be too old to count
 */
export function logPositions (usefulMs: number): LogPositions {
  /** The earliest first. */
  let noted: { at: number, position: number }[] = []
  return {
    note (at, position) {
      noted = [...noted.filter((before) => at - before.at < usefulMs), { at, position }]
    },
    reachedBy (position) {
      const reached = noted.findLast((before) => before.position <= position)
      if (reached) noted = noted.filter(({ at }) => at >= reached.at)
      return reached?.at
    },
    forget () { noted = [] },
    get size () { return noted.length }
  }
}
