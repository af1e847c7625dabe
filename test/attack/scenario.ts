/** The result of an attack. */
export interface Shown {
  /** Figures for the printed line. */
  figures: Readonly<Record<string, number>>
  /** The violations that were found. */
  faults: string[]
}

/** One way to make the service unavailable, or to get unauthorized access. */
export interface Scenario {
  name: string
  run (): Promise<Shown>
}

/** Returns a violation when the value exceeds its limit. */
export function bounded (what: string, value: number, max: number): string[] {
  return value <= max ? [] : [`${what}: ${Math.round(value)} is more than ${max}`]
}

/** Runs the work, and returns the elapsed milliseconds. */
export async function timed (work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
