import { TRANSITIONS, type Evidence } from './transitions.ts'
import type { State } from '#schemas/submission.ts'
import { ownAttempts, type Day, type Unit, type World } from './world.ts'

const ALLOWED = new Map(TRANSITIONS.map(({ da, a, serve }) => [`${da}>${a}`, serve]))

/** Whether the table contains this transition. */
export function inTable (da: State, a: State): boolean {
  return ALLOWED.has(`${da}>${a}`)
}

/**
 * Changes a submission's state if the database allows it: by the table of transitions, with the evidence that each
 * needs.
 * @param decided whether a decision on this version was recorded in the same step
 */
export function go (w: World, u: Unit, a: State, decided = false): void {
  const change = `${u.stato}>${a}`
  const { trigger, made } = w.law
  if (trigger !== 'absent' && !isAllowed(w, u, change, decided)) {
    if (trigger === 'asserts') w.fault = `the table refuses ${change}`
    w.refused = true
  }
  made.add(change)
  u.stato = a
}

function isAllowed (w: World, u: Unit, change: string, decided: boolean): boolean {
  if (!ALLOWED.has(change)) return false
  const serve = ALLOWED.get(change)
  return serve === undefined || EVIDENCE[serve](w, u, decided)
}

/** The same checks as the function `invii_prova` of the migration. */
const EVIDENCE: Record<Evidence, (w: World, u: Unit, decided: boolean) => boolean> = {
  tentativo_aperto: (_w, u) => ownAttempts(u).at(-1)?.outcome === '',
  esito_K: (_w, u) => ownAttempts(u).some(({ outcome }) => outcome === 'K' || outcome === 'P'),
  esito_N: (_w, u) => ownAttempts(u).at(-1)?.outcome === 'N',
  tutti_N: (_w, u) => ownAttempts(u).every(({ outcome }) => outcome === 'N'),
  reinvia: (_w, _u, decided) => decided,
  depositato: (_w, _u, decided) => decided,
  annulla: (_w, _u, decided) => decided,
  ricevuta: (w, u) =>
    ownAttempts(u).some(({ outcome, at }) => (outcome === 'K' || outcome === 'P') && w.time >= firstDay(at) + 3)
}

/** The first of the two days of an attempt around midnight: `giorno_da`. */
function firstDay (at: number): Day {
  return at < 3 ? 0 : 1
}
