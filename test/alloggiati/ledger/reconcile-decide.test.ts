import t from 'tap'
import { decideDay } from '#src/alloggiati/ledger/reconcile/decide.ts'
import type { DayAttempt, DayInput, DayVerdict } from '#src/alloggiati/ledger/reconcile/day.ts'
import { AFTERNOON, attempt, DAY, day, look, NEXT, twice, unit } from './reconcile-samples.ts'

const known = (invio: number, more: Partial<DayAttempt> = {}) => attempt(invio, { esito: 'K', ...more })
const MORNING = new Date(`${NEXT}T09:00:00Z`)

/** Where each submission goes, and what is proven of its attempts. */
function outcome (input: DayInput): Record<number, string> {
  return shown(decideDay(input))
}

function shown ({ decisions }: DayVerdict): Record<number, string> {
  return Object.fromEntries(
    decisions.map(({ invio, prove, verso }) => [
      invio,
      [...prove.map(({ numero, esito }) => `${numero}${esito}`), ...verso].join(' ')
    ])
  )
}

function notes (input: DayInput): Record<number, string> {
  return Object.fromEntries(decideDay(input).decisions.map(({ invio, nota }) => [invio, nota]))
}

t.test('while a call of the day is under way nothing is decided', async (t) => {
  const flying = day({
    attempts: [attempt(1), attempt(2)],
    units: [unit(1, { stato: 'in_invio' }), unit(2)],
    looks: twice(0, 0)
  })
  t.same(decideDay(flying), { regola: 'in_volo', decisions: [] })
  t.test('but a later attempt of a submission does not hold up the day of its first', async (t) => {
    const resent = day({
      attempts: [known(1), attempt(2)],
      units: [unit(1, { stato: 'ricevuto' }), unit(2, { stato: 'in_invio', tentativo: 2, altri: ['?'] })],
      looks: twice(2, 6)
    })
    t.same(outcome(resent), { 2: '1N' })
  })
})

t.test('a receipt that is not there is not zero', async (t) => {
  const input = day({
    attempts: [attempt(1), known(2)],
    units: [unit(1), unit(2, { stato: 'acquisito' })],
    looks: [look('07:00', null, null)]
  })
  t.test('nothing changes before noon', async (t) =>
    t.same(decideDay({ ...input, now: MORNING }), { regola: 'senza_ricevuta', decisions: [] })
  )
  t.test('from noon on a person must see to what is unknown, and to nothing else', async (t) =>
    t.same(outcome(input), { 1: 'da_verificare' })
  )
  t.test('one that cannot be read is not there', async (t) => {
    t.same(outcome({ ...input, looks: [look('07:00', 4, null, true), look('10:00', 4, null, true)] }), {
      1: 'da_verificare'
    })
  })
  t.test('one that was looked at before six may not be complete', async (t) => {
    t.same(
      decideDay({ ...input, now: MORNING, looks: [look('00:10', 2, 6), look('05:59', 2, 6)] }).regola,
      'senza_ricevuta'
    )
  })
})

t.test('an attempt around midnight proves nothing, for itself and for its day', async (t) => {
  const astride = { giorno_da: DAY, giorno_a: NEXT }
  const input = day({
    attempts: [attempt(1, astride), attempt(2), known(3)],
    units: [unit(1), unit(2), unit(3, { stato: 'acquisito' })],
    looks: twice(2, 6)
  })
  t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
  t.match(notes(input)[1], /2026-11-20 o del 2026-11-21/)
  t.test('acquired as it may be, it may stand on the other receipt', async (t) => {
    const balanced = day({
      attempts: [known(1, astride), known(2)],
      units: [unit(1, { stato: 'acquisito' }), unit(2, { stato: 'acquisito' })],
      looks: twice(4, 12)
    })
    t.same(outcome(balanced), {})
  })
  t.test('proven not to have been acquired it is on neither', async (t) => {
    const gone = day({
      attempts: [attempt(1, { ...astride, esito: 'N' }), attempt(2)],
      units: [unit(1, { stato: 'rifiutato' }), unit(2)],
      looks: twice(2, 6)
    })
    t.same(outcome(gone), { 2: '1K acquisito ricevuto' })
  })
})

t.test('a receipt without the unknown ones proves that they were not acquired', async (t) => {
  const input = day({
    attempts: [attempt(1), known(2)],
    units: [unit(1), unit(2, { stato: 'acquisito' })],
    looks: twice(2, 6)
  })
  t.test('they are sent again while the arrival is still taken', async (t) => {
    t.same(outcome(input), { 1: '1N pronto', 2: 'ricevuto' })
    t.same(
      outcome({ ...input, esclusivo: false }),
      { 1: '1N pronto', 2: 'ricevuto' },
      'whoever else files with the account'
    )
  })
  t.test('later a person must see to them', async (t) => {
    t.same(outcome({ ...input, units: [unit(1, { data_arrivo: '2026-11-19' }), unit(2, { stato: 'acquisito' })] }), {
      1: '1N da_verificare',
      2: 'ricevuto'
    })
  })
  t.test('one look does not prove it, nor two within two hours', async (t) => {
    t.same(decideDay({ ...input, looks: [look('07:00', 2, 6)] }), { regola: 'nessuno', decisions: [] })
    t.same(decideDay({ ...input, looks: [look('07:00', 2, 6), look('08:59', 2, 6)] }), {
      regola: 'nessuno',
      decisions: []
    })
    t.same(outcome({ ...input, looks: [look('07:00', 2, 6), look('09:00', 2, 6)] }), { 1: '1N pronto', 2: 'ricevuto' })
    t.same(
      outcome({ ...input, looks: [look('07:00', 2, 6)], now: new Date('2026-11-22T12:00:00Z') }),
      { 1: 'da_verificare' },
      'and is not waited for any longer'
    )
  })
  t.test('two looks that disagree prove nothing', async (t) => {
    const verdict = decideDay({ ...input, looks: [look('07:00', 1, 3), look('09:00', 2, 6), look('12:00', 2, 6)] })
    t.same(shown(verdict), { 1: 'da_verificare' })
    t.match(verdict, { regola: 'ricevuta_mutata', allarme: /changed/ })
  })
  t.test('what a person was looking at stays with the person, who is told', async (t) => {
    const before = {
      ...input,
      units: [unit(1, { stato: 'da_verificare' as const }), unit(2, { stato: 'ricevuto' as const })]
    }
    t.same(outcome(before), { 1: '1N' })
    t.match(notes(before)[1], /prova che non è stato acquisito$/)
  })
  t.test('it is not sent again by itself while another attempt of it may have been acquired', async (t) => {
    const resent = {
      ...input,
      attempts: [attempt(1, { numero: 2 }), known(2)],
      units: [unit(1, { tentativo: 2, altri: ['?'] }), unit(2, { stato: 'ricevuto' as const })]
    }
    t.same(outcome(resent), { 1: '2N da_verificare' })
    t.same(outcome({ ...resent, units: [unit(1, { tentativo: 2, altri: ['N'] }), unit(2, { stato: 'ricevuto' })] }), {
      1: '2N pronto'
    })
  })
  t.test('an earlier attempt moves nothing: the last one is what the submission waits for', async (t) => {
    const earlier = {
      ...input,
      units: [unit(1, { tentativo: 2, altri: ['?'] }), unit(2, { stato: 'ricevuto' as const })]
    }
    t.same(outcome(earlier), { 1: '1N' })
  })
})

t.test('a receipt with all the unknown ones proves that they were acquired', async (t) => {
  const input = day({
    attempts: [attempt(1), attempt(2, { schedine: 1, notti: 1 }), known(3)],
    units: [unit(1), unit(2), unit(3, { stato: 'parziale' })],
    looks: [look('07:00', 5, 13)]
  })
  t.test('where nothing else files with the account', async (t) => {
    t.same(outcome(input), { 1: '1K acquisito ricevuto', 2: '1K acquisito ricevuto', 3: 'ricevuto' })
    t.same(decideDay(input).decisions[1]!.prove, [{ numero: 1, esito: 'K', schedine: 1, notti: 1 }])
  })
  t.test('else a person is given the suggestion', async (t) => {
    const shared = { ...input, esclusivo: false }
    t.same(outcome(shared), { 1: 'da_verificare', 2: 'da_verificare' })
    t.match(notes(shared)[1], /^Suggerimento: acquisito/)
  })
  t.test('of one whose rows were held back in part it proves that part', async (t) => {
    t.same(
      outcome({ ...input, units: [unit(1, { intero: false }), unit(2), unit(3, { stato: 'ricevuto' })] })[1],
      '1K parziale ricevuto'
    )
  })
  t.test('what a person wanted to send again is stopped', async (t) => {
    for (const stato of ['pronto', 'preso'] as const) {
      t.same(
        outcome({ ...input, units: [unit(1, { stato }), unit(2), unit(3, { stato: 'ricevuto' })] })[1],
        '1K da_verificare acquisito ricevuto'
      )
    }
  })
  t.test('a possible duplicate is alarmed', async (t) => {
    const alarm = (more: object) => decideDay({ ...input, units: [unit(1, more), unit(2), unit(3)] }).decisions[0]
    t.match(alarm({ stato: 'ricevuto', tentativo: 2, altri: ['K'] }), { allarme: /duplicate/ })
    t.match(alarm({ stato: 'sconosciuto', tentativo: 2, altri: ['?'] }), {
      verso: ['acquisito', 'ricevuto'],
      allarme: /duplicate/
    })
    t.match(alarm({ stato: 'depositato_altrove' }), { verso: [], allarme: /duplicate/ })
    t.equal(alarm({ stato: 'sconosciuto' })!.allarme, undefined)
  })
})

t.test('one combination that adds up is a suggestion, never a decision', async (t) => {
  const input = day({
    attempts: [attempt(1), attempt(2, { schedine: 1, notti: 3 })],
    units: [unit(1), unit(2)],
    looks: twice(1, 3)
  })
  t.match(decideDay(input), { regola: 'suggerita', allarme: undefined })
  t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
  t.match(notes(input), { 1: /^Suggerimento: non acquisito/, 2: /^Suggerimento: acquisito/ })
  t.test('several are not even that', async (t) => {
    const alike = { ...input, attempts: [attempt(1), attempt(2)], looks: twice(2, 6) }
    t.match(decideDay(alike), { regola: 'ambigua', decisions: { length: 2 } })
    t.notMatch(notes(alike)[1], /Suggerimento/)
  })
  t.test('nor is what would take too long to try', async (t) => {
    const ids = Array.from({ length: 17 }, (_, at) => at + 1)
    const many = day({
      attempts: ids.map((id) => attempt(id, { notti: id })),
      units: ids.map((id) => unit(id)),
      looks: twice(2, 5)
    })
    t.equal(decideDay(many).regola, 'ambigua')
  })
})

t.test('a receipt that no combination gives is alarmed, and decides nothing', async (t) => {
  const input = day({ attempts: [attempt(1)], units: [unit(1)], looks: twice(1, 3) })
  t.match(decideDay(input), { regola: 'contraddetta', allarme: /does not add up/ })
  t.same(outcome(input), { 1: 'da_verificare' })
  t.test('the nights count as much as the schedine', async (t) => {
    t.equal(decideDay({ ...input, looks: twice(2, 5) }).regola, 'contraddetta')
    t.equal(decideDay({ ...input, looks: [look('07:00', 2, 5), look('10:00', 2, 6)] }).regola, 'ricevuta_mutata')
  })
})

t.test('a receipt with less than is known to be acquired lays the whole day before a person', async (t) => {
  for (const looks of [twice(1, 6), twice(2, 5)]) {
    const input = day({ attempts: [known(1), attempt(2)], units: [unit(1, { stato: 'acquisito' }), unit(2)], looks })
    t.match(decideDay(input), { regola: 'contraddetta', allarme: /less than is known/ })
    t.same(outcome(input), { 1: 'da_verificare', 2: 'da_verificare' })
    const alone = day({ attempts: [known(1)], units: [unit(1, { stato: 'acquisito' })], looks })
    t.same(outcome(alone), { 1: 'da_verificare' })
    t.test('once: what the person then decides stands', async (t) => {
      t.same(outcome({ ...alone, units: [unit(1, { stato: 'acquisito', motivi: Object.values(notes(alone)) })] }), {})
    })
  }
})

t.test('a day without unknowns is receipted when it adds up', async (t) => {
  const input = day({
    attempts: [known(1), known(2)],
    units: [unit(1, { stato: 'acquisito' }), unit(2, { stato: 'parziale' })],
    looks: [look('07:00', 4, 12)]
  })
  t.same(outcome(input), { 1: 'ricevuto', 2: 'ricevuto' })
  t.same(
    outcome({ ...input, units: [unit(1, { stato: 'ricevuto' }), unit(2, { stato: 'ricevuto' })] }),
    {},
    'and then it is done'
  )
  t.test('more on the receipt is somebody else\'s, which is an alarm where there is nobody else', async (t) => {
    const more = { ...input, looks: [look('07:00', 5, 13)] }
    t.match(decideDay(more), { decisions: [], allarme: /counts more/ })
    t.same(decideDay({ ...more, esclusivo: false }), { regola: 'senza_incogniti', decisions: [] })
  })
})

t.test('a person\'s word proves nothing of other submissions', async (t) => {
  const word = known(1, { per_decisione: true })
  const units = [unit(1, { stato: 'acquisito' }), unit(2)]
  t.test('the receipt may deny it', async (t) => {
    const denied = day({ attempts: [word, attempt(2)], units, looks: twice(0, 0) })
    t.same(outcome(denied), { 1: 'da_verificare', 2: '1N pronto' })
    t.match(decideDay(denied).decisions[0], { allarme: /denies/ })
    t.same(
      outcome(day({ attempts: [word], units: [units[0]!], looks: twice(0, 0) })),
      { 1: 'da_verificare' },
      'also where it stands alone'
    )
    t.same(
      outcome(
        day({
          attempts: [word],
          units: [unit(1, { stato: 'acquisito', motivi: Object.values(notes(denied)) })],
          looks: twice(0, 0)
        })
      ),
      {},
      'once'
    )
  })
  t.test('a word that was taken back by sending again is not denied, nor receipted', async (t) => {
    const resent = day({
      attempts: [word, attempt(2)],
      units: [unit(1, { stato: 'acquisito', tentativo: 2, altri: ['K'] }), unit(2)],
      looks: twice(0, 0)
    })
    t.same(outcome(resent), { 2: '1N pronto' })
  })
  t.test('the receipt may confirm it', async (t) => {
    t.same(outcome(day({ attempts: [word, attempt(2)], units, looks: twice(4, 12) })), {
      1: 'ricevuto',
      2: '1K acquisito ricevuto'
    })
    t.same(outcome(day({ attempts: [word], units: [units[0]!], looks: twice(2, 6) })), { 1: 'ricevuto' })
  })
  t.test('a receipt that fits the word or the other is ambiguous', async (t) => {
    t.equal(decideDay(day({ attempts: [word, attempt(2)], units, looks: twice(2, 6) })).regola, 'ambigua')
  })
})

t.test('deciding is pure: the same day gives the same verdict', async (t) => {
  const input = day({
    attempts: [attempt(1), known(2)],
    units: [unit(1), unit(2, { stato: 'acquisito' })],
    looks: twice(2, 6),
    now: AFTERNOON
  })
  const copy = structuredClone(input)
  t.same(decideDay(input), decideDay(input))
  t.same(input, copy)
})
