/** What an attack has shown. */
export interface Shown {
  /** For the one line that is printed. */
  figures: Readonly<Record<string, number>>
  /** What must not be. */
  faults: string[]
}

/** One way to bring the service down, or to get what is not the attacker's. */
export interface Scenario {
  name: string
  run (): Promise<Shown>
}

/** A fault where a bound does not hold. */
export function bounded (what: string, value: number, most: number): string[] {
  return value <= most ? [] : [`${what}: ${Math.round(value)} is more than ${most}`]
}

/** Milliseconds until work is done. */
export async function timed (work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}
