/**
 * The rules that keep the ledger correct. Each can be switched off alone. Then the test searches for the shortest trace
 * to the damage.
 */
export const RULES = {
  writeAhead: 'the attempt is committed before its first byte',
  leaseToUnknown: 'an expired lease of in_invio ends in sconosciuto, never in pronto',
  timeoutIsUnknown: 'a call without an answer is unknown, and not tried again',
  sweep: 'the sweep ends submissions of killed workers',
  claimCas: 'a claim takes a submission only in the state pronto',
  dispatchCas: 'a dispatch takes a submission only in the state preso',
  ownerCas: 'a dispatch takes a submission only while the worker owns it',
  oneFlight: 'an account has at most one Send in flight',
  testCallOutside: 'a Send is in flight from its dispatch on, and a test call is not',
  deadline: 'a worker that was paused after its commit does not write',
  ownDeadline: "that deadline belongs to the worker's own attempt, not to its submission",
  ownAttempt:
    "an outcome is recorded for the worker's own attempt, and moves the submission only if it is the last attempt",
  anyAttempt: 'a submission follows the known outcomes of all its attempts, not only of the last one',
  lateStops: 'a late reply with an acquisition stops a resend that is not dispatched yet',
  lateCounts: 'a late reply is recorded',
  settleAgain: 'an outcome that could not be recorded is recorded when the database is available again',
  missingIsNotZero: 'a missing receipt does not mean that it counts no rows',
  twoFetches: 'a receipt is believed when two fetches hours apart are equal',
  straddle: 'an attempt of unknown outcome around midnight prevents automatic conclusions about both days',
  together: 'the two days of an answered call around midnight are balanced together',
  pause: 'no Send starts in the minutes around midnight, unless its arrival window closes at midnight',
  settledDay: 'a day is decided only when none of its attempts is in flight',
  wholeDay: 'a day is decided over all its attempts, in any state of their submissions',
  exclusive: 'a receipt proves an acquisition only if no other program files with the account',
  portal: 'a filing by hand on the portal counts like another program on that day',
  decidedUnknown: 'an acquisition by decision counts as unknown when a receipt is compared',
  decisionOnce: 'a decision is valid once',
  decisionKind: 'a decision permits only its own transition',
  deliveredFirst: 'a resend is decided only when no earlier Send can still be processed',
  wholeReceipt: 'a submission becomes ricevuto only by an attempt that acquired every row',
  partStays: 'a partly acquired submission never becomes ricevuto',
  fullProof: 'acquisito needs proof of every row, parziale of some',
  negativeEnds: 'rifiutato and non_inviato need the outcome N of every attempt, not only of the last one',
  cancelLocks: 'a cancelled submission keeps its guests locked unless every attempt has the outcome N',
  liveRows: 'live guests are entered again, in any spelling, only if a person confirms',
  bookingCount: 'a booking gets more live rows than it has guests only if a person confirms',
  orphans: 'ready submissions of an abandoned account end'
} as const
export type Rule = keyof typeof RULES
