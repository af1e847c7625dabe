/**
 * The rules that keep the ledger correct. Each can be switched off alone. Then the test searches for the shortest trace
 * to the damage.
 */
export const RULES = {
  writeAhead: 'the attempt is committed before its first byte',
  leaseToUnknown: 'an expired lease of in_invio ends in sconosciuto, never in pronto',
  timeoutIsUnknown: 'a call without an answer is unknown, and not tried again',
  sweep: 'what a dead worker left is swept up',
  claimCas: 'a claim takes only what is still pronto',
  dispatchCas: 'a dispatch takes only what is still preso',
  ownerCas: "a dispatch takes only what is still the worker's own",
  oneFlight: 'one send in flight an account',
  testCallOutside: 'the send is in flight from the dispatch on, not by a test call',
  deadline: 'a worker that was held up after its commit does not write any more',
  ownDeadline: "that deadline is of the worker's own attempt, whatever its submission looks like by now",
  ownAttempt:
    "an outcome is written to the worker's own attempt, and moves the submission only while that is the present one",
  anyAttempt: 'a submission follows what any of its attempts is known to have done, not the last one alone',
  lateStops: 'proof that arrives late stops a resend that has not left yet',
  lateCounts: 'proof that arrives late is written down',
  settleAgain: 'an outcome that could not be written down is written down when the database is back',
  missingIsNotZero: 'a receipt that is not there says nothing',
  twoFetches: 'a receipt is believed when two fetches hours apart are equal',
  straddle: 'an unknown attempt around midnight takes no part in automatic proof, and no other of those days does',
  together: 'the two days of an answered call around midnight are balanced together',
  pause: 'nothing leaves in the minutes around midnight, unless its window closes with them',
  settledDay: 'a day is decided when none of its attempts is still open',
  wholeDay: 'a day is decided over all its attempts, whatever has become of their submissions',
  exclusive: 'a receipt proves an acquisition only where nothing else files with the account',
  portal: 'a filing by hand on the portal counts as something else that files, on its day',
  decidedUnknown: "an acquisition by decision is no known quantity of a receipt's equation",
  decisionOnce: 'a decision serves once',
  decisionKind: 'a decision serves only for what it decides',
  deliveredFirst: 'a resend is decided when nothing that left can still be acted on',
  wholeReceipt: 'a receipt proves a submission by an attempt that acquired every row',
  partStays: 'what was acquired in part is never called proven by its receipt',
  fullProof: 'acquisito wants proof of every row, parziale of some',
  negativeEnds: 'rifiutato and non_inviato want every attempt proven N, not the last one alone',
  cancelLocks: 'a cancelled submission keeps its guests locked unless every attempt is proven N',
  liveRows: 'guests who are live are entered again, under whatever spelling, only if a person confirms',
  bookingCount: 'a booking gets more live rows than it has guests only if a person confirms',
  orphans: 'what is ready for an account that nobody has any more ends'
} as const
export type Rule = keyof typeof RULES
