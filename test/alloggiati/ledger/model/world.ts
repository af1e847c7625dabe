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
 * 0 the day of arrival, D · 1 around midnight · 2 the day after, when the receipt of D is out · 3 the window closed,
 * receipt of D+1 out
 */
export type Time = 0 | 1 | 2 | 3
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
  /** Resends decided, and whether the last one was decided in knowledge of an acquisition. */
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
  /** What the last look at a day's receipt showed, and whether the look before was equal. */
  looks: [Look | null, Look | null]
  /** Rows of others on a day's receipt, and whether the ledger knows of them. */
  elsewhere: [number, number]
  portal: [boolean, boolean]
  crashes: number
  resends: number
  reentries: number
  strangers: number
  /** A fault that belongs to a step, not to a state. */
  fault?: string
  /** The trigger refused a change, and with it the whole step. */
  refused?: boolean
}

export interface Look { rows: number, twice: boolean }

export const IDLE: Worker = { phase: 'idle', unit: 0, attempt: 0, owns: false, lapsed: false }

export function begin (law: Law): World {
  const { units, workers, crashes, resends, reentries, strangers } = law.scope
  return {
    law,
    time: 0,
    units: Array.from({ length: units }, () => ({
      stato: 'pronto',
      attempts: [],
      first: 0,
      accepted: 0,
      knowing: false
    })),
    workers: Array.from({ length: workers }, () => IDLE),
    looks: [null, null],
    elsewhere: [0, 0],
    portal: [false, false],
    crashes,
    resends,
    reentries,
    strangers
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
    looks: [...w.looks],
    elsewhere: [...w.elsewhere],
    portal: [...w.portal]
  }
  change(next)
  return [label, next]
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
