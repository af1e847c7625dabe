/** What is done to the server, to its database, and to those whom it calls. */
export type Fault = 'end' | 'kill' | 'database' | 'police' | 'mail' | 'receiver'

/** A fault and when it was, in milliseconds of the run. Without `to` it lasts. */
export interface Disturbance { fault: Fault, from: number, to?: number }

/** While these last, and a little after, a request may get no answer, or a 503. The others excuse nothing. */
const EXCUSES: readonly Fault[] = ['end', 'kill', 'database']
const AFTER_MS = 10_000

/** The record of the faults of a run. */
export interface Disturbances {
  all: readonly Disturbance[]
  /** Milliseconds since the beginning of the run. */
  now (): number
  /** Returns what notes its end. */
  begin (fault: Fault): () => void
  /** Whether a request that began then, and ends now, may have suffered. */
  excuse (since: number): boolean
}

export function createDisturbances (): Disturbances {
  const all: Disturbance[] = []
  const begun = performance.now()
  const now = () => performance.now() - begun
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
