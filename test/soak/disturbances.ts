/** Faults injected into the server, its database, and the services that it calls. */
export type Fault = 'end' | 'kill' | 'database' | 'police' | 'mail' | 'receiver'

/** A fault and its time, in milliseconds of the run. It is still active while `to` is missing. */
export interface Disturbance { fault: Fault, from: number, to?: number }

/** Faults during which, and shortly after which, a request may fail or get a 503. */
const EXCUSES: readonly Fault[] = ['end', 'kill', 'database']
const AFTER_MS = 10_000

/** The record of the faults of a run. */
export interface Disturbances {
  all: readonly Disturbance[]
  /** Milliseconds since the beginning of the run. */
  now (): number
  /** Records the start of a fault, and returns a function that records its end. */
  begin (fault: Fault): () => void
  /** True when one of these faults overlaps a request that began at that time and ends now. */
  excuse (since: number): boolean
}

export function createDisturbances (): Disturbances {
  const all: Disturbance[] = []
  const startedAt = performance.now()
  const now = () => performance.now() - startedAt
  return {
    all,
    now,
    begin (fault) {
      const one: Disturbance = { fault, from: now() }
      all.push(one)
      return () => { one.to = now() }
    },
    excuse: (since) =>
      all.some(({ fault, to }) => EXCUSES.includes(fault) && (to === undefined || to + AFTER_MS >= since))
  }
}
