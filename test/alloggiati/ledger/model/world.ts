import type { State } from '#schemas/submission.ts'
import type { Rule } from './rules.ts'

/** The scope of a run: the numbers of submissions, workers and steps, and the possible failures. */
export interface Scope {
  units: 1 | 2
  workers: 1 | 2
  /** Maximum attempts of all submissions of a guest. */
  attempts: 1 | 2 | 3
  crashes: number
  /** Maximum resends that a person decides. */
  resends: number
  /** Maximum number of times that free guests are entered again. */
  reentries: number
  /** Rows that other people file with the account. If any, the account is not exclusive. */
  strangers: number
  exclusive: boolean
  /** Whether one row of two may be refused. */
  partial: boolean
  /** Whether a person may file by hand on the portal. */
  portal: boolean
  /** Whether calls may also be made around midnight. */
  midnight: boolean
  /** Whether the guests arrived on the day before D. If so, their arrival window closes at midnight. */
  closing: boolean
  /**
   * Whether the second submission has the guests of the first: in another spelling (found by fingerprints), or
   * corrected (found by the booking's number of guests). It begins as not sent, so a step must enter the guests again.
   */
  twin: 'respelled' | 'corrected' | null
  /** Maximum number of times that live guests are entered again after a person's confirmation. */
  confirmations: number
  /** Maximum number of times that the database is unavailable when a reply must be recorded. */
  outages: number
  /** Whether the account may be abandoned. Then no process sends with it. */
  leaves: boolean
  /** Whether only crashes cause losses or delays. A crash ends every worker, because they share one process. */
  quiet: boolean
}

/**
 * If the table refuses a transition: `asserts` reports a defect of the model, `refuses` omits the step. `absent`:
 * nothing is checked.
 */
export type Trigger = 'asserts' | 'refuses' | 'absent'

export interface Law {
  scope: Scope
  off: ReadonlySet<Rule>
  trigger: Trigger
  /** The transitions that were made, as `da>a`. */
  made: Set<string>
}

/**
 * 0: day D. 1: so late on D that bytes may be processed after midnight. 2: the minutes around midnight, whose day is
 * ambiguous. 3: the next day, with the receipt of D. 4: the day after that, with the receipt of D+1.
 */
export type Time = 0 | 1 | 2 | 3 | 4
/** 0 is D, and 1 is D+1: the two days with a receipt. */
export type Day = 0 | 1

/** '' no outcome yet, ? unknown, K every row acquired, P some rows acquired (a K with fewer rows), N not acquired. */
export type Outcome = '' | '?' | 'K' | 'P' | 'N'
/** The progress of the attempt's request. */
export type Wire = 'unwritten' | 'flying' | 'answered' | 'over'

export interface Attempt {
  at: Time
  outcome: Outcome
  /** Whether a person decided this K. The person may be wrong. */
  decided: boolean
  wire: Wire
  /** The real result, which only the police knows: the number of acquired rows, and the day of their receipt. */
  taken: 0 | 1 | 2
  day: Day
}

/** The submissions of a group of two guests: the current submission, and the attempts of earlier ones. */
export interface Unit {
  stato: State
  attempts: Attempt[]
  /** Index of the first attempt of the current submission. */
  first: number
  /**
   * Number of resends and confirmed entries that people have decided. `knowing`: the last resend was decided although
   * the guests were known to be acquired. A person may risk that an earlier attempt was acquired, but not that it still
   * arrives.
   */
  accepted: number
  knowing: boolean
}

export interface Worker {
  phase: 'idle' | 'claimed' | 'committed' | 'waiting'
  unit: number
  attempt: number
  /** Whether the row of the submission still names this worker as owner. */
  owns: boolean
  /** Whether the worker's lease has expired, because it was paused or slow. */
  lapsed: boolean
}

export interface World {
  readonly law: Law
  time: Time
  units: Unit[]
  workers: Worker[]
  /** Rows of other people on a day's receipt, and whether the ledger knows of them. */
  elsewhere: [number, number]
  portal: [boolean, boolean]
  crashes: number
  resends: number
  reentries: number
  strangers: number
  confirmations: number
  outages: number
  /** Whether the account is abandoned. */
  gone: boolean
  /** The description of a violation by a step, not by a state. */
  fault?: string
  /** Whether the trigger refused a transition, and so the whole step. */
  refused?: boolean
}

export const IDLE: Worker = { phase: 'idle', unit: 0, attempt: 0, owns: false, lapsed: false }

export function begin (law: Law): World {
  const { units, workers, crashes, resends, reentries, strangers, confirmations, outages, twin } = law.scope
  return {
    law,
    time: 0,
    units: Array.from({ length: units }, (_, i) => ({
      stato: twin !== null && i > 0 ? 'non_inviato' : 'pronto', attempts: [], first: 0, accepted: 0, knowing: false
    })),
    workers: Array.from({ length: workers }, () => IDLE),
    elsewhere: [0, 0],
    portal: [false, false],
    crashes,
    resends,
    reentries,
    strangers,
    confirmations,
    outages,
    gone: false
  }
}

export function off (w: World, rule: Rule): boolean {
  return w.law.off.has(rule)
}

export type Step = readonly [label: string, next: World]

/** Makes one step on a copy. A step has a name and a change. */
export function step (w: World, label: string, change: (next: World) => void): Step {
  const next: World = {
    ...w,
    units: w.units.map((u) => ({ ...u, attempts: u.attempts.map((a) => ({ ...a })) })),
    workers: w.workers.map((worker) => ({ ...worker })),
    elsewhere: [...w.elsewhere],
    portal: [...w.portal]
  }
  change(next)
  return [label, next]
}

/** Whether the service still accepts the arrival. */
export function windowOpen ({ time, law: { scope } }: World): boolean {
  return time < (scope.closing ? 3 : 4)
}

/** The attempts of the current submission. */
export function ownAttempts (u: Unit): Attempt[] {
  return u.first === 0 ? u.attempts : u.attempts.slice(u.first)
}

/** Whether an attempt of the current submission may have been acquired. */
export function mayBeThere (u: Unit): boolean {
  return ownAttempts(u).some(({ outcome }) => outcome !== 'N')
}

/**
 * The state that follows from the known outcomes of the current submission's attempts. For the database K and P are the
 * same outcome.
 */
export function provenState (u: Unit): 'acquisito' | 'parziale' | undefined {
  const proof = ownAttempts(u).filter(known)
  if (proof.length === 0) return undefined
  return proof.some(({ outcome }) => outcome === 'K') ? 'acquisito' : 'parziale'
}

/** Whether a reply or a receipt proves the outcome, and not only a decision. */
export function known (a: Attempt): boolean {
  return !a.decided && (a.outcome === 'K' || a.outcome === 'P')
}
