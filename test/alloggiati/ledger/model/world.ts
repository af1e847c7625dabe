import type { State } from '#schemas/submission.ts'
import type { Rule } from './rules.ts'

/** The scope of a run: how many of each thing, and which failures. */
export interface Scope {
  units: 1 | 2
  workers: 1 | 2
  /** Maximum number of attempts of all submissions of a guest. */
  attempts: 1 | 2 | 3
  crashes: number
  /** Maximum number of decided resends. */
  resends: number
  /** How often guests who are free again may be entered again. */
  reentries: number
  /** Rows that others file with the account, which is then not exclusive. */
  strangers: number
  exclusive: boolean
  /** Whether one row of two may be refused. */
  partial: boolean
  /** Whether a person may file by hand on the portal. */
  portal: boolean
  /** Whether calls may be made around midnight, too. */
  midnight: boolean
  /** Whether the guests arrived on the day before D: the window of their arrival closes at that midnight. */
  closing: boolean
  /**
   * The second submission has the guests of the first one, in another spelling (found by fingerprints) or corrected
   * (found by the booking's number of guests). It begins as not sent, so the guests have to be entered again.
   */
  twin: 'respelled' | 'corrected' | null
  /** How often live guests may be entered again after a person's confirmation. */
  confirmations: number
  /** How often the database is unavailable when an answer is to be recorded. */
  outages: number
  /** Whether the account may be abandoned. Then no process sends for it. */
  leaves: boolean
  /** Only crashes cause losses or delays, and a crash ends every worker, because they share one process. */
  quiet: boolean
}

/**
 * `asserts`: a transition that the table refuses is a fault of the model · `refuses`: it is not made · `absent`: there
 * is no check.
 */
export type Trigger = 'asserts' | 'refuses' | 'absent'

export interface Law {
  scope: Scope
  off: ReadonlySet<Rule>
  trigger: Trigger
  /** Collects the transitions that were made, as `da>a`. */
  made: Set<string>
}

/**
 * 0 the day D · 1 so late on D that bytes may be processed after midnight · 2 the minutes around midnight, whose day
 * is ambiguous · 3 the next day, with the receipt of D · 4 the day after that, with the receipt of D+1
 */
export type Time = 0 | 1 | 2 | 3 | 4
/** 0 is D, 1 is D+1: the days that have a receipt. */
export type Day = 0 | 1

/**
 * '' no outcome yet · ? unknown · K every row acquired · P some row acquired (a K with fewer rows) · N not acquired
 */
export type Outcome = '' | '?' | 'K' | 'P' | 'N'
/** The progress of its request. */
export type Wire = 'unwritten' | 'flying' | 'answered' | 'over'

export interface Attempt {
  at: Time
  outcome: Outcome
  /** A K that a person decided: the person may be wrong. */
  decided: boolean
  wire: Wire
  /** The truth, known only to the police: the acquired rows, and the day of their receipt. */
  taken: 0 | 1 | 2
  day: Day
}

/** The submissions of one group of two guests: the current one, and the attempts of earlier ones. */
export interface Unit {
  stato: State
  attempts: Attempt[]
  /** Index of the current submission's first attempt. */
  first: number
  /**
   * Decided resends and confirmed entries. `knowing`: the last resend was decided despite a known acquisition. A person
   * accepts what may have been acquired, not what may still arrive.
   */
  accepted: number
  knowing: boolean
}

export interface Worker {
  phase: 'idle' | 'claimed' | 'committed' | 'waiting'
  unit: number
  attempt: number
  /** The submission's row still names this worker as its owner. */
  owns: boolean
  /** Its lease has expired, because it was frozen or slow. */
  lapsed: boolean
}

export interface World {
  readonly law: Law
  time: Time
  units: Unit[]
  workers: Worker[]
  /** Rows of others on a day's receipt, and whether the ledger knows of them. */
  elsewhere: [number, number]
  portal: [boolean, boolean]
  crashes: number
  resends: number
  reentries: number
  strangers: number
  confirmations: number
  outages: number
  /** The account is abandoned. */
  gone: boolean
  /** A violation by a step, not by a state. */
  fault?: string
  /** The trigger refused a transition, and thereby the whole step. */
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

/** One step: a name and what it changes, made on a copy. */
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
 * The state that the known outcomes of the current submission's attempts prove. For the database K and P are the same
 * outcome.
 */
export function provenState (u: Unit): 'acquisito' | 'parziale' | undefined {
  const proof = ownAttempts(u).filter(known)
  if (proof.length === 0) return undefined
  return proof.some(({ outcome }) => outcome === 'K') ? 'acquisito' : 'parziale'
}

/** Known by an answer or a receipt, not by a decision. */
export function known (a: Attempt): boolean {
  return !a.decided && (a.outcome === 'K' || a.outcome === 'P')
}
