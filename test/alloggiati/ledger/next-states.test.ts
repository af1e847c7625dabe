import fc from 'fast-check'
import t from 'tap'
import { ATTEMPT_OUTCOMES, LIVE_ROW_OUTCOMES, ROW_OUTCOMES, STATE_NAMES, type RowOutcome } from '#schemas/submission.ts'
import { nextStates, rowAfter, type VerdictFacts } from '#src/alloggiati/ledger/next-states.ts'
import { TRANSITIONS } from '#src/alloggiati/ledger/transitions.ts'

/* What follows from a verdict, in every situation that can be put together. */

const facts: fc.Arbitrary<VerdictFacts> = fc.record({
  stato: fc.constantFrom(...STATE_NAMES),
  ofLastAttempt: fc.boolean(),
  verdict: fc.constantFrom(...ATTEMPT_OUTCOMES),
  stateAfterN: fc.constantFrom('rifiutato', 'non_inviato', 'pronto'),
  otherProven: fc.boolean(),
  otherInDoubt: fc.boolean(),
  contradicted: fc.boolean(),
  rows: fc.array(fc.constantFrom<RowOutcome>('in_corso', 'sconosciuta', 'acquisita', 'rifiutata'), { minLength: 1 })
})
const holds = (claim: (facts: VerdictFacts, path: ReturnType<typeof nextStates>) => boolean) =>
  fc.assert(fc.property(facts, (facts) => claim(facts, nextStates(facts))), { numRuns: 10_000 })

t.test('every step that follows from a verdict is a transition of the table', async () => {
  // A submission in flight is moved by its last attempt alone; before the dispatch a proof leads to a person.
  holds(({ stato }, path) =>
    path.every((a, at) => TRANSITIONS.some((each) => each.da === (path[at - 1] ?? stato) && each.a === a)))
})

t.test('a submission becomes acquisito by a verdict only when every row is acquired', async () => {
  holds(({ rows }, path) => !path.includes('acquisito') || rows.every((esito) => esito === 'acquisita'))
})

t.test('a submission ends without an acquisition only when no other attempt may have been acquired', async () => {
  holds(({ otherInDoubt, otherProven }, path) =>
    !(path.at(-1) === 'rifiutato' || path.at(-1) === 'non_inviato') || !(otherInDoubt || otherProven))
})

t.test('a verdict that contradicts what stands acquires and ends nothing: at most a person decides', async () => {
  holds(({ contradicted }, path) => !contradicted || path.every((a) => a === 'da_verificare'))
})

t.test('a submission in flight is not moved by the reply to an earlier attempt', async () => {
  holds(({ stato, ofLastAttempt, contradicted }, path) =>
    stato !== 'in_invio' || ofLastAttempt || contradicted || path.length === 0)
})

t.test('a row that is acquired stays so, and one that may have been filed before is not freed', async () => {
  const outcome = fc.constantFrom(...ROW_OUTCOMES)
  fc.assert(fc.property(outcome, fc.option(outcome, { nil: undefined }), fc.boolean(), (now, seen, otherInDoubt) => {
    const after = rowAfter(now, seen, otherInDoubt)
    const live = (esito: RowOutcome) => LIVE_ROW_OUTCOMES.some((each) => each === esito)
    return (now !== 'acquisita' || after === 'acquisita') && (!(otherInDoubt && live(now)) || live(after))
  }), { numRuns: 2000 })
})

t.test('a row that is seen to be acquired is acquired, whatever was known of it before', async (t) => {
  for (const now of ROW_OUTCOMES) {
    for (const inDoubt of [true, false]) t.equal(rowAfter(now, 'acquisita', inDoubt), 'acquisita', now)
  }
})

t.test('a dispatch that is to be made again waits for its turn, also while an earlier one is in doubt', async () => {
  holds(({ stato, ofLastAttempt, verdict, stateAfterN, otherProven, contradicted }, path) =>
    stato !== 'in_invio' || !ofLastAttempt || verdict !== 'N' || stateAfterN !== 'pronto' || otherProven ||
    contradicted || path.join() === 'pronto')
})
