import type { Day } from '#src/lib/time.ts'
import { inForce, ITALY, type Comune, type Stato } from '../tables/types.ts'
import type { Tables } from '../tables/code-tables.ts'

/** The result of a comune look-up on a given day. */
type ComuneLookup =
  { status: 'absent' | 'unknown' } |
  { status: 'found', comune: Comune } |
  { status: 'ceased', comune: Comune } |
  { status: 'ambiguous', candidates: readonly Comune[] }

/** The place of birth, as far as the input determines it. */
export interface BirthPlace {
  /** Code of the birth state: given, or implied by the comune. `''` if unknown. */
  stateCode: string
  state: Stato | undefined
  /** Abbreviation of the province: as given, or the comune's if none or a former one is given. `''` if unknown. */
  provincia: string
  /** The given province differs from the comune's, but the comune belonged to it at the birth. */
  isFormerProvince: boolean
  /** `found` only for a birth in Italy. `misplaced`: the birth was abroad, but the comune is not the state's code. */
  comune: ComuneLookup | { status: 'misplaced' }
}

/** The result of a look-up of the place of issue. `abroad` is a foreign state in force, `italy` the code of Italy. */
export type IssuePlace = ComuneLookup | { status: 'abroad' | 'italy' } | { status: 'ceased-state', state: Stato }

/** The context of a look-up. `born` is undefined while the birth date is missing or wrong. */
interface Context { tables: Tables, born: Day | undefined, today: Day }

/**
 * Resolves the place of birth. For a birth abroad the comune may be empty or repeat the state's code, which then fills
 * an empty state. An Italian comune fills an empty state with Italy. The province of the comune replaces an empty
 * province, or a province to which the comune belonged at the birth.
 */
export function resolveBirth (
  given: { comune: string; provincia: string; stato: string }, { tables, born }: Context
): BirthPlace {
  const comune: ComuneLookup =
    tables.stato(given.comune) === undefined
      ? findComune(given.comune, tables, born, given.provincia)
      : { status: given.comune === ITALY ? 'absent' : 'unknown' }
  const stateCode = given.stato || impliedState(given.comune, comune, tables)
  const state = tables.stato(stateCode)
  if (stateCode === ITALY) {
    const own = comune.status === 'found' ? comune.comune.provincia : ''
    const isFormerProvince = comune.status === 'found' && born !== undefined && given.provincia !== own &&
      given.provincia !== '' && tables.hadSign(comune.comune, given.provincia, born)
    return { stateCode, state, comune, isFormerProvince, provincia: isFormerProvince ? own : given.provincia || own }
  }
  const fits = state === undefined || given.comune === '' || given.comune === stateCode
  return {
    stateCode,
    state,
    comune: { status: fits ? 'absent' : 'misplaced' },
    isFormerProvince: false,
    provincia: given.provincia
  }
}

/**
 * Resolves the place of issue of a document. Only existing places are valid here (the guide, p. 9, allows ceased places
 * for births).
 */
export function resolveIssue (code: string, { tables, today }: Context): IssuePlace {
  const state = tables.stato(code)
  if (state === undefined) return findComune(code, tables, today, '')
  if (code === ITALY) return { status: 'italy' }
  return inForce(state, today) ? { status: 'abroad' } : { status: 'ceased-state', state }
}

function impliedState (code: string, comune: ComuneLookup, tables: Tables): string {
  if (tables.stato(code) !== undefined) return code
  return comune.status === 'absent' || comune.status === 'unknown' ? '' : ITALY
}

/** Looks up a comune by its 9 digits, or by its last 6. If several match on `day`, the province must select one. */
function findComune (code: string, tables: Tables, day: Day | undefined, provincia: string): ComuneLookup {
  if (code === '') return { status: 'absent' }
  const known = code.length === 6 ? tables.comuniByShortCode(code) : [tables.comune(code) ?? []].flat()
  const [first] = known
  if (first === undefined) return { status: 'unknown' }
  const current = day === undefined ? known : known.filter((comune) => inForce(comune, day))
  if (current.length === 0) return { status: 'ceased', comune: first }
  const [match, ...others] = current.length > 1 ? current.filter((comune) => comune.provincia === provincia) : current
  return match !== undefined && others.length === 0
    ? { status: 'found', comune: match }
    : { status: 'ambiguous', candidates: current }
}
