import { dayInRome } from '#src/lib/time.ts'
import { consequence, doubt, laid } from './consequence.ts'
import {
  patienceUntil,
  type DayAttempt,
  type DayInput,
  type DayUnit,
  type DayVerdict,
  type Decision,
  type Proof,
  type Rule
} from './day.ts'
import { combinations, equal, isNegative, isZero, minus, reading, sum, type Reading } from './equation.ts'
import { ALARMS, TEXTS } from './texts.ts'

/**
 * What a receipt proves of the attempts of its day. The receipt only counts, so the whole day is one equation over all
 * its attempts, whatever became of their submissions since; nothing is concluded that another explanation could also
 * give. Pure: the same day gives the same verdict.
 */
export function decideDay (input: DayInput): DayVerdict {
  const { giorno, now, attempts, units, looks } = input
  const inFlight = units.some(
    ({ id, stato, tentativo }) =>
      stato === 'in_invio' && attempts.some(({ invio, numero }) => invio === id && numero === tentativo)
  )
  if (inFlight) return { regola: 'in_volo', decisions: [] }
  const open = attempts.filter(({ esito }) => esito === '?')
  // Before the receipt is asked for: no receipt of one day can settle this.
  const astride = attempts.filter((attempt) => mayCount(attempt) && attempt.giorno_da !== attempt.giorno_a)
  if (astride.length > 0) {
    const text = (one: DayAttempt) => astride.includes(one) ? TEXTS.midnight(one) : TEXTS.besideMidnight(giorno)
    return review(input, 'mezzanotte', text)
  }
  const receipt = reading(giorno, looks)
  if (receipt === undefined) {
    return now < patienceUntil(giorno, 1)
      ? { regola: 'senza_ricevuta', decisions: [] }
      : review(input, 'senza_ricevuta', () => TEXTS.noReceipt(giorno))
  }
  if (receipt.changed) return review(input, 'ricevuta_mutata', () => TEXTS.changed(giorno), ALARMS.changed)
  return open.length === 0 ? withoutUnknowns(input, receipt) : withUnknowns(input, receipt, open)
}

/** Proven not to be there: the only attempts that no receipt can count. */
function mayCount ({ esito, per_decisione }: DayAttempt): boolean {
  return esito !== 'N' || per_decisione
}

function withoutUnknowns (input: DayInput, { counts }: Reading): DayVerdict {
  const regola = 'senza_incogniti'
  const rest = minus(counts, sum(input.attempts.filter(({ esito }) => esito === 'K')))
  if (isZero(rest)) return { regola, decisions: follow(input, { balanced: true }) }
  if (!isNegative(rest)) return { regola, decisions: [], ...(input.esclusivo ? { allarme: ALARMS.excess } : {}) }
  const contradiction = isNegative(minus(counts, sum(input.attempts.filter(isSure))))
  return contradiction ? contradicted(input, counts) : { regola, decisions: follow(input, { denied: true }) }
}

function withUnknowns (input: DayInput, { counts, stable }: Reading, open: readonly DayAttempt[]): DayVerdict {
  const { giorno, now, attempts, esclusivo } = input
  const rest = minus(counts, sum(attempts.filter(isSure)))
  if (isNegative(rest)) return contradicted(input, counts)
  // What a person decided is a belief: in the equation it is as unknown as the rest.
  const suspects = [...open, ...attempts.filter(({ esito, per_decisione }) => esito !== '?' && per_decisione)]
  if (isZero(rest)) {
    if (stable) return { regola: 'nessuno', decisions: follow(input, { proven: 'N', denied: true, balanced: true }) }
    return now < patienceUntil(giorno, 2)
      ? { regola: 'nessuno', decisions: [] }
      : review(input, 'nessuno', () => TEXTS.oneLook(giorno))
  }
  if (equal(rest, sum(suspects))) {
    return esclusivo
      ? { regola: 'tutti', decisions: follow(input, { proven: 'K', balanced: true }) }
      : review(input, 'suggerita', () => TEXTS.notExclusive(giorno))
  }
  const found = combinations(suspects, rest)
  if (found === undefined || found.length > 1) return review(input, 'ambigua', () => TEXTS.ambiguous(giorno))
  const [only] = found
  if (only) return review(input, 'suggerita', (one) => TEXTS.suggestion(giorno, only.has(suspects.indexOf(one))))
  return review(input, 'contraddetta', () => contradictionText(input, counts), ALARMS.noMatch)
}

function isSure ({ esito, per_decisione }: DayAttempt): boolean {
  return esito === 'K' && !per_decisione
}

interface Outcomes { proven?: 'K' | 'N', denied?: boolean, balanced?: boolean }

/** Every unknown attempt of the day becomes `proven`; `denied`: what persons said was acquired is not. */
function follow (input: DayInput, { proven, denied = false, balanced = false }: Outcomes): Decision[] {
  const { giorno, now } = input
  const proofs = (own: readonly DayAttempt[], esito: Proof['esito']) =>
    own
      .filter((attempt) => attempt.esito === '?')
      .map(({ numero, schedine, notti }): Proof => ({ numero, esito, schedine, notti }))
  return perUnit(input, (unit, own) => consequence(unit, own, {
    giorno,
    oggi: dayInRome(now),
    proofs: proven === undefined ? [] : proofs(own, proven),
    denied,
    balanced
  }))
}

/** The receipt counts less than the service itself said: everything of the day is laid before a person. */
function contradicted (input: DayInput, counts: Reading['counts']): DayVerdict {
  const nota = contradictionText(input, counts)
  const decisions = perUnit(input, (unit, own) => {
    const step = own.some(({ esito }) => esito === 'K') ? laid(unit, nota, ALARMS.contradiction) : undefined
    return step !== undefined && step.verso.length > 0 ? { invio: unit.id, prove: [], ...step } : doubt(unit, own, nota)
  })
  return { regola: 'contraddetta', decisions, allarme: ALARMS.contradiction }
}

function contradictionText ({ giorno, attempts }: DayInput, counts: Reading['counts']): string {
  return TEXTS.contradiction(giorno, counts, sum(attempts.filter(isSure)))
}

/** Nothing is proven: persons decide about what is unknown, each with the text of its last attempt. */
function review (input: DayInput, regola: Rule, text: (attempt: DayAttempt) => string, allarme?: string): DayVerdict {
  const decisions = perUnit(input, (unit, own) => {
    const last = own.find(({ numero }) => numero === unit.tentativo)
    return last && doubt(unit, own, text(last))
  })
  return { regola, decisions, ...(allarme === undefined ? {} : { allarme }) }
}

function perUnit (
  { units, attempts }: DayInput,
  decide: (unit: DayUnit, own: readonly DayAttempt[]) => Decision | undefined
): Decision[] {
  return units.flatMap(
    (unit) =>
      decide(
        unit,
        attempts.filter(({ invio }) => invio === unit.id)
      ) ?? []
  )
}
