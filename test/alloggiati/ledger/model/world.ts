import type { State } from '#schemas/submission.ts'
import type { Rule } from './rules.ts'

/** What a run looks at: how many of each, and which misfortunes. */
export interface Scope {
  units: 1 | 2
  workers: 1 | 2
  /** Attempts a guest's submissions may make together. */
  attempts: 1 | 2 | 3
  crashes: number
  /** Resends that may be decided. */
  resends: number
  /** Times that guests who are free again may be entered once more. */
  reentries: number
  /** Rows that somebody else files with the account; only where it is not exclusive. */
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
   * The second submission is of the first one's guests, under another spelling (the fingerprints find it) or corrected
   * (the number of guests of the booking does). It begins as one that was not sent: they have to be entered again.
   */
  twin: 'respelled' | 'corrected' | null
  /** Times that guests who are live already may be entered all the same, because a person confirms. */
  confirmations: number
  /** Times that the database is away when an answer is to be written down. */
  outages: number
  /** Whether the account may be given up: from then on no process sends for it. */
  leaves: boolean
  /** Nothing is lost or late but by a crash, and a crash takes every worker: they live in one process. */
  quiet: boolean
}

/**
 * `asserts`: a change that the table refuses is a fault of the model · `refuses`: it is just not made · `absent`:
 * nobody looks.
 */
export type Trigger = 'asserts' | 'refuses' | 'absent'

export interface Law {
  scope: Scope
  off: ReadonlySet<Rule>
  trigger: Trigger
  /** Collects the changes of state that were made, as `da>a`. */
  made: Set<string>
}

/**
 * 0 the day D · 1 so late on D that bytes may be acted on after midnight · 2 the minutes around midnight, whose day the
 * clocks cannot tell · 3 the day after, when the receipt of D is out · 4 the day after that, receipt of D+1 out
 */
export type Time = 0 | 1 | 2 | 3 | 4
/** 0 is D, 1 is D+1: the days that have a receipt. */
export type Day = 0 | 1

/**
 * '' nothing known yet · ? unknown · K every row acquired · P some row acquired (a K with fewer rows) · N proven not
 */
export type Outcome = '' | '?' | 'K' | 'P' | 'N'
/** Where its request is. */
export type Wire = 'unwritten' | 'flying' | 'answered' | 'over'

export interface Attempt {
  at: Time
  outcome: Outcome
  /** A K that a person decided: the person may be wrong. */
  decided: boolean
  wire: Wire
  /** The truth, which only the police has: rows acquired, and the day on whose receipt they are. */
  taken: 0 | 1 | 2
  day: Day
}

/** The submissions of one group of two guests: the present one, and what earlier ones have sent. */
export interface Unit {
  stato: State
  attempts: Attempt[]
  /** Index of the present submission's first attempt. */
  first: number
  /**
   * Resends decided and entries confirmed, and whether the last resend was decided in knowledge of an acquisition. A
   * person accepts what may have been done, not what may still arrive.
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
  /** More than a lease has passed since: it was frozen, or slow. */
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
  /** The account has been given up. */
  gone: boolean
  /** A fault that belongs to a step, not to a state. */
  fault?: string
  /** The trigger refused a change, and with it the whole step. */
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

/** Whether the service still takes the arrival. */
export function windowOpen ({ time, law: { scope } }: World): boolean {
  return time < (scope.closing ? 3 : 4)
}

/** The attempts of the present submission. */
export function ownAttempts (u: Unit): Attempt[] {
  return u.first === 0 ? u.attempts : u.attempts.slice(u.first)
}

/** Whether an attempt of the present submission may have done something. */
export function mayBeThere (u: Unit): boolean {
  return ownAttempts(u).some(({ outcome }) => outcome !== 'N')
}

/**
 * What the known outcomes of the present submission's attempts make of it: K and P are one and the same to the
 * database.
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
