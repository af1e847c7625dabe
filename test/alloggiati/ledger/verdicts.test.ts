import fc from 'fast-check'
import t from 'tap'
import { ATTEMPT_OUTCOMES, LIVE_ROW_OUTCOMES, ROW_OUTCOMES, type RowOutcome, STATE_NAMES } from '#schemas/submission.ts'
import { arrivalWindowOpen, filingDeadline } from '#src/alloggiati/deadlines.ts'
import { type Candidate } from '#src/alloggiati/ledger/coverage-rows.ts'
import { fillPlaces } from '#src/alloggiati/ledger/places.ts'
import { nextStates, rowAfter, type VerdictFacts } from '#src/alloggiati/ledger/sending/record-verdict.ts'
import { classifyFailure, classifyLogin, classifyReply } from '#src/alloggiati/ledger/sending/police-call.ts'
import { TRANSITIONS } from './model/transitions.ts'
import type { SendReply } from '#src/alloggiati/service/calls.ts'
import {
  AlloggiatiCredentialsError, type FailureKind, SoapTransportError
} from '#src/alloggiati/service/soap/errors.ts'
import { addDays, dayInRome, instantInRome } from '#src/lib/time.ts'

const names = fc.constantFrom(
  '', 'TOKEN_NON_VALIDO', 'AUTENTICAZIONE_FALLITA', 'ERRORE_PARAMETRO_ERRATO', 'ERRORE_GENERICO',
  'SCHEDINA_CAMPO_NON_CORRETTO'
)
const outcome = fc.record({
  esito: fc.boolean(),
  ErroreCod: fc.constantFrom('', '12', '100'),
  ErroreDes: names,
  ErroreDettaglio: fc.constant('')
})
const reply: fc.Arbitrary<SendReply> = fc.record({
  esito: outcome,
  result: fc.option(fc.record({ SchedineValide: fc.nat(4), Dettaglio: fc.array(outcome, { maxLength: 4 }) }), {
    nil: undefined
  }),
  httpStatus: fc.constant(200),
  raw: fc.string()
})
const rows = fc.integer({ min: 1, max: 4 })

t.test('a verdict is `acquisito` exactly when the service confirms every row and the counts agree', async (t) => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { stato } = classifyReply(reply, rows)
    const details = reply.result?.Dettaglio ?? []
    const proven =
      reply.esito.esito &&
      details.length === rows &&
      reply.result?.SchedineValide === rows &&
      details.every(({ esito }) => esito)
    return (stato === 'acquisito') === proven
  }), { numRuns: 2000 })
  t.equal(classifyReply({ ...successful(2) }, 2).stato, 'acquisito', 'a complete reply gives `acquisito`')
})

t.test('a verdict has one outcome per row, and a row is `acquisita` only if the service confirmed it', async () => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { schedine } = classifyReply(reply, rows)
    return (
      schedine.length === rows &&
      schedine.every(({ esito }, at) => esito !== 'acquisita' || reply.result?.Dettaglio[at]?.esito === true)
    )
  }), { numRuns: 2000 })
})

t.test('guests can be sent again only when the reply reports no acquired row', async () => {
  fc.assert(fc.property(reply, rows, (reply, rows) => {
    const { tentativo, stato } = classifyReply(reply, rows)
    const anyAccepted =
      reply.result?.Dettaglio.some(({ esito }) => esito) === true || (reply.result?.SchedineValide ?? 0) > 0
    return !(anyAccepted && (tentativo === 'N' || stato === 'non_inviato' || stato === 'rifiutato'))
  }), { numRuns: 2000 })
})

t.test('a refused call is `non_inviato` only if the kind of refusal is known', async (t) => {
  const refusal = (ErroreDes: string) =>
    classifyReply(
      { ...successful(0), esito: { esito: false, ErroreCod: '9', ErroreDes, ErroreDettaglio: '' }, result: undefined },
      1
    ).stato
  t.equal(refusal('TOKEN_NON_VALIDO'), 'non_inviato')
  t.equal(refusal('AUTENTICAZIONE_FALLITA'), 'non_inviato')
  t.equal(refusal('ERRORE_PARAMETRO_ERRATO'), 'non_inviato')
  for (const name of ['', 'ERRORE_GENERICO', 'TIMEOUT', 'ERRORE_DATABASE']) t.equal(refusal(name), 'sconosciuto', name)
})

t.test('every unexpected error gives `sconosciuto`', async () => {
  fc.assert(fc.property(fc.anything(), rows, (thrown, rows) => {
    const { stato, tentativo, schedine } = classifyFailure(thrown, rows)
    return (
      stato === 'sconosciuto' &&
      tentativo === '?' &&
      schedine.length === rows &&
      schedine.every(({ esito }) => esito === 'sconosciuta')
    )
  }))
})

const kinds = fc.constantFrom<FailureKind>(
  'invalid-request', 'before-write', 'dns', 'refused', 'unreachable', 'connect-timeout', 'tls', 'aborted', 'timeout',
  'reset', 'http-status', 'redirect', 'too-large', 'malformed', 'fault'
)
const statuses = fc.oneof(fc.constantFrom(404, 405, 413, 415), fc.integer({ min: 100, max: 599 }))

t.test('a failed call is `non_inviato` exactly when the transport proves it, or a web server refused it', async () => {
  fc.assert(
    fc.property(kinds, fc.boolean(), fc.option(statuses, { nil: undefined }), rows, (kind, sent, httpStatus, rows) => {
      const { stato } = classifyFailure(
        new SoapTransportError(kind, { sent, ...(httpStatus === undefined ? {} : { httpStatus }) }),
        rows
      )
      const refusedUnserved = kind === 'http-status' && [404, 405, 413, 415].includes(httpStatus ?? 0)
      return stato === (!sent || refusedUnserved ? 'non_inviato' : 'sconosciuto')
    }),
    { numRuns: 2000 }
  )
})

t.test('a SOAP fault gives `sconosciuto`, with any status', async () => {
  fc.assert(fc.property(statuses, (httpStatus) => (
    classifyFailure(new SoapTransportError('fault', { sent: true, httpStatus, raw: '' }), 1).stato === 'sconosciuto')))
})

t.test('every failed login gives `non_inviato`', async (t) => {
  fc.assert(
    fc.property(
      fc.oneof(fc.anything(), kinds.map((kind) => new SoapTransportError(kind, { sent: true }))),
      rows,
      (thrown, rows) => {
        const { stato, tentativo, causa } = classifyLogin(thrown, rows)
        return stato === 'non_inviato' && tentativo === 'N' && causa === 'SERVIZIO_NON_RAGGIUNGIBILE'
      }
    )
  )
  t.equal(classifyLogin(new AlloggiatiCredentialsError('100', 'rifiutate'), 1).causa, 'CREDENZIALI_RIFIUTATE')
})

function successful (rows: number): SendReply {
  const esito = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }
  return {
    esito,
    result: { SchedineValide: rows, Dettaglio: Array.from({ length: rows }, () => esito) },
    httpStatus: 200,
    raw: ''
  }
}

/* The consequences of each verdict, in every combination of states. */

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

t.test('every step after a verdict is a transition of the table', async () => {
  holds(({ stato }, path) =>
    path.every((a, at) => TRANSITIONS.some((each) => each.da === (path[at - 1] ?? stato) && each.a === a)))
})

t.test('a verdict makes a submission acquisito only when every row is acquired', async () => {
  holds(({ rows }, path) => !path.includes('acquisito') || rows.every((esito) => esito === 'acquisita'))
})

t.test('a submission ends without an acquisition only when no other attempt may have been acquired', async () => {
  holds(({ otherInDoubt, otherProven }, path) =>
    !(path.at(-1) === 'rifiutato' || path.at(-1) === 'non_inviato') || !(otherInDoubt || otherProven))
})

t.test('a verdict that contradicts a final outcome moves the submission only to da_verificare', async () => {
  holds(({ contradicted }, path) => !contradicted || path.every((a) => a === 'da_verificare'))
})

t.test('the reply to an earlier attempt does not move a submission in flight', async () => {
  holds(({ stato, ofLastAttempt, contradicted }, path) =>
    stato !== 'in_invio' || ofLastAttempt || contradicted || path.length === 0)
})

t.test('an acquired row stays acquired, and a row that another attempt may have filed stays blocked', async () => {
  const outcome = fc.constantFrom(...ROW_OUTCOMES)
  fc.assert(fc.property(outcome, fc.option(outcome, { nil: undefined }), fc.boolean(), (now, seen, otherInDoubt) => {
    const after = rowAfter(now, seen, otherInDoubt)
    const live = (esito: RowOutcome) => LIVE_ROW_OUTCOMES.some((each) => each === esito)
    return (now !== 'acquisita' || after === 'acquisita') && (!(otherInDoubt && live(now)) || live(after))
  }), { numRuns: 2000 })
})

t.test('a row that a reply reports as acquired becomes acquired, with any previous outcome', async (t) => {
  for (const now of ROW_OUTCOMES) {
    for (const inDoubt of [true, false]) t.equal(rowAfter(now, 'acquisita', inDoubt), 'acquisita', now)
  }
})

t.test('a dispatch to be retried is queued, even while the outcome of an earlier attempt is unknown', async () => {
  holds(({ stato, ofLastAttempt, verdict, stateAfterN, otherProven, contradicted }, path) =>
    stato !== 'in_invio' || !ofLastAttempt || verdict !== 'N' || stateAfterN !== 'pronto' || otherProven ||
    contradicted || path.join() === 'pronto')
})

/* The number of guests of a booking whom sent rows cover. */

const guest = (identita: string) => [{ identita, persona: identita, documento: null }]
const row = (identita: string, changes: Partial<Candidate> = {}): Candidate =>
  ({ identita, persona: identita, documento: null, isOwn: true, isTrusted: false, ...changes })

t.test('each row fills one place: two guests with the same name need two rows', async (t) => {
  const booking = { numero_ospiti: 2, guests: [guest('ROSSI'), guest('ROSSI')] }
  t.equal(fillPlaces(booking, [row('ROSSI')]).filled, 1)
  t.equal(fillPlaces(booking, [row('ROSSI'), row('ROSSI')]).filled, 2)
})

t.test('rows of unsaved guests fill each place without a saved guest once', async (t) => {
  const booking = { numero_ospiti: 3, guests: [guest('ROSSI')] }
  const rows = [row('ROSSI'), row('VERDI', { isTrusted: true }), row('NERI'), row('GIALLI')]
  t.equal(fillPlaces(booking, rows.slice(0, 3)).filled, 3)
  t.equal(fillPlaces(booking, rows).filled, 3)
})

t.test('a row of another booking fills only the place of a saved guest, and is returned as adopted', async (t) => {
  const other = row('ROSSI', { isOwn: false })
  const booking = { numero_ospiti: 2, guests: [guest('ROSSI')] }
  t.same(fillPlaces(booking, [other, row('NERI', { isOwn: false })]), { filled: 1, adopted: [other] })
})

const MINUTE = 60_000
/** The days on which clocks change in Rome, and the difference to UTC in hours before and after. */
const CHANGES = [{ day: '2026-03-29', before: 1, after: 2 }, { day: '2026-10-25', before: 2, after: 1 }]

/** Every minute of a day on which clocks change. */
function minutesOf ({ day, before, after }: typeof CHANGES[number]): number[] {
  const start = Date.parse(`${day}T00:00:00Z`) - before * 60 * MINUTE
  const end = Date.parse(`${addDays(day, 1)}T00:00:00Z`) - after * 60 * MINUTE
  return Array.from({ length: (end - start) / MINUTE }, (_, n) => start + n * MINUTE)
}

for (const change of CHANGES) {
  t.test(
    `at every minute of ${change.day} exactly the arrivals of that day and of the day before can be sent`,
    async (t) => {
      const arrivals = [-2, -1, 0, 1].map((days) => addDays(change.day, days))
      for (const instant of minutesOf(change)) {
        const open = arrivals.filter((arrival) => arrivalWindowOpen(arrival, dayInRome(new Date(instant))))
        if (open.join() !== arrivals.slice(1, 3).join()) t.fail(`${new Date(instant).toISOString()}: ${open}`)
      }
      t.pass()
    }
  )
}

t.test('an hour that daylight saving time skips counts as winter time', async (t) => {
  t.equal(instantInRome('2026-03-29', 2, 30).toISOString(), '2026-03-29T01:30:00.000Z')
})

t.test(
  'the filing deadline is 24 hours after 14:00, or 6 for one night, even across clock changes',
  async (t) => {
    t.equal(filingDeadline('2026-11-21', 3).toISOString(), '2026-11-22T13:00:00.000Z')
    t.equal(filingDeadline('2026-11-21', 1).toISOString(), '2026-11-21T19:00:00.000Z')
    t.equal(filingDeadline('2026-03-28', 2).toISOString(), '2026-03-29T13:00:00.000Z')
    t.equal(filingDeadline('2026-10-24', 2).toISOString(), '2026-10-25T12:00:00.000Z')
    t.equal(filingDeadline('2026-07-01', 1).toISOString(), '2026-07-01T18:00:00.000Z')
  }
)
