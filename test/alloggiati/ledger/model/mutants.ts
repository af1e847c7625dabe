import type { Rule } from './rules.ts'
import type { Scope } from './world.ts'

/** The smallest world: one submission, one worker, one attempt, and no human errors. */
export const SMALL: Scope = {
  units: 1,
  workers: 1,
  attempts: 1,
  crashes: 0,
  resends: 0,
  reentries: 0,
  strangers: 0,
  exclusive: true,
  partial: false,
  portal: false,
  midnight: false,
  closing: false,
  twin: null,
  confirmations: 0,
  outages: 0,
  leaves: false,
  quiet: false
}

/**
 * The invariant that a mutant breaks: `P1` acquired twice, `P2` stuck, `P3` untrue, `P4` sent although known, `P5` more
 * unknown outcomes than crashes, `P6` blocked by a test call.
 */
type Damage = 'P1' | 'P2' | 'P3' | 'P4' | 'P5' | 'P6'

interface Mutant {
  off: readonly Rule[]
  /** The damage. Null means none, and `why` gives the reason. */
  damage: Damage | null
  /** Whether the trigger enforces the rule alone, without any code. */
  triggerHolds?: true
  why?: string
  scope: Partial<Scope>
}

const RETRIED = { workers: 2, attempts: 2 } as const

/** At least one mutant for each rule, in the smallest world in which the rule matters. */
export const MUTANTS: readonly Mutant[] = [
  { off: ['writeAhead'], damage: 'P1', scope: { attempts: 2 } },
  { off: ['leaseToUnknown'], damage: 'P1', triggerHolds: true, scope: RETRIED },
  { off: ['timeoutIsUnknown'], damage: 'P1', triggerHolds: true, scope: { attempts: 2 } },
  { off: ['sweep'], damage: 'P2', scope: { crashes: 1 } },
  { off: ['claimCas'], damage: null, why: 'the second of two claims cannot dispatch', scope: RETRIED },
  {
    off: ['ownerCas'],
    damage: null,
    why: 'after one worker has dispatched, the other worker finds it in_invio',
    scope: { ...RETRIED, resends: 1 }
  },
  { off: ['dispatchCas'], damage: 'P1', triggerHolds: true, scope: RETRIED },
  { off: ['claimCas', 'dispatchCas'], damage: 'P1', triggerHolds: true, scope: RETRIED },
  { off: ['oneFlight'], damage: 'P5', scope: { units: 2, workers: 2, crashes: 1, quiet: true } },
  { off: ['testCallOutside'], damage: 'P6', scope: { units: 2, crashes: 1 } },
  { off: ['deadline'], damage: 'P1', scope: RETRIED },
  { off: ['ownDeadline'], damage: 'P1', scope: RETRIED },
  { off: ['ownAttempt'], damage: 'P1', scope: RETRIED },
  { off: ['anyAttempt'], damage: 'P4', scope: { workers: 2, attempts: 3, resends: 1 } },
  { off: ['lateStops'], damage: 'P4', scope: { ...RETRIED, resends: 1 } },
  {
    off: ['lateCounts'],
    damage: null,
    why: 'a receipt or a person settles the outcome instead of the late reply',
    scope: { ...RETRIED, resends: 1 }
  },
  { off: ['settleAgain'], damage: 'P5', scope: { outages: 1, quiet: true } },
  { off: ['missingIsNotZero'], damage: 'P1', scope: { attempts: 2 } },
  { off: ['twoFetches'], damage: 'P1', scope: { attempts: 2 } },
  { off: ['straddle'], damage: 'P1', scope: { attempts: 2, midnight: true } },
  { off: ['together'], damage: 'P2', scope: { midnight: true } },
  {
    off: ['pause'],
    damage: null,
    why: 'answered calls of both days are balanced together, and the pause only leaves fewer unknown ones',
    scope: { attempts: 2, midnight: true, partial: true }
  },
  { off: ['settledDay'], damage: 'P3', scope: { units: 2, workers: 2, crashes: 1 } },
  { off: ['wholeDay'], damage: 'P3', scope: { units: 2 } },
  { off: ['exclusive'], damage: 'P3', scope: { exclusive: false, strangers: 1 } },
  { off: ['portal'], damage: 'P3', scope: { units: 2, portal: true } },
  { off: ['decidedUnknown'], damage: 'P1', scope: { units: 2, attempts: 2 } },
  { off: ['decisionOnce'], damage: 'P1', triggerHolds: true, scope: { resends: 1, attempts: 3 } },
  { off: ['deliveredFirst'], damage: 'P1', scope: { resends: 1, attempts: 2 } },
  { off: ['decisionKind'], damage: 'P1', scope: { attempts: 2 } },
  { off: ['wholeReceipt'], damage: 'P3', scope: { ...RETRIED, resends: 1, partial: true } },
  { off: ['partStays'], damage: 'P3', triggerHolds: true, scope: { partial: true } },
  { off: ['fullProof'], damage: 'P3', scope: { units: 2, partial: true } },
  { off: ['negativeEnds'], damage: 'P3', triggerHolds: true, scope: { resends: 1, attempts: 2 } },
  { off: ['cancelLocks'], damage: 'P1', scope: { reentries: 1, attempts: 2 } },
  { off: ['liveRows'], damage: 'P1', scope: { units: 2, reentries: 1, twin: 'respelled' } },
  { off: ['bookingCount'], damage: 'P1', scope: { units: 2, reentries: 1, twin: 'corrected' } },
  { off: ['orphans'], damage: 'P2', scope: { leaves: true } }
]
