import type { Duplicato } from '#schemas/alloggiati.ts'
import { UNDER_WAY_STATES, type State } from '#schemas/submission.ts'
import { OspitiOltreLaPrenotazione, SchedineGiaInviate, SchedineInCorso } from '../sent-errors.ts'
import type { Conflict, Excess } from './conflicts.ts'

/** What stands against a list. */
export interface Obstacles {
  conflicts: readonly Conflict[]
  excess: readonly Excess[]
}

/** What a person's word lets pass. */
export interface Confirmed { rows: ReadonlySet<number>, references: string[] }

/** Of a submission what is looked at here. */
interface Word {
  confirmation?: { motivo: string } | undefined
  indices?: readonly number[] | undefined
}

/**
 * @param waiting the submissions among the obstacles that wait for their next try, with the time of it
 * @returns what a person's word lets pass; undefined when nothing stands against the list
 * @throws SchedineGiaInviate, SchedineInCorso, OspitiOltreLaPrenotazione
 */
export function confirmedOf (
  { confirmation, indices }: Word,
  { conflicts, excess }: Obstacles,
  waiting: ReadonlyMap<string, Date>
): Confirmed | undefined {
  const certain = conflicts.filter((each) => each.certain)
  if (conflicts.length > 0 && (confirmation === undefined || certain.length > 0)) {
    const standing = confirmation === undefined ? conflicts : certain
    const duplicati = standing.map(({ told }) => renumbered(told, indices))
    const days = standing.map(({ movedFrom }) => movedFrom)
    throw underWay(duplicati, waiting) ?? new SchedineGiaInviate(duplicati, {
      confirmable: certain.length === 0,
      movedFrom: days.every((day) => day !== undefined) ? days[0] : undefined
    })
  }
  const [first] = excess
  // A submission that has not ended may still fail and free its places: it is too early to confirm anything.
  for (const { gia_inviati, prenotazione_id } of excess) {
    const open = gia_inviati.find(isUnderWay)
    if (open) {
      const waitsUntil = waiting.get(open.ricevuta)
      throw new SchedineInCorso(open.ricevuta, open.stato, { waitsUntil, prenotazione_id })
    }
  }
  if (first && confirmation === undefined) throw new OspitiOltreLaPrenotazione(first)
  if (conflicts.length === 0 && first === undefined) return undefined
  return {
    rows: new Set(conflicts.map(({ told }) => told.ospite)),
    references: [...new Set(referencesOf({ conflicts, excess }))]
  }
}

/** The submissions that stand against a list. */
export function referencesOf ({ conflicts, excess }: Obstacles): string[] {
  return [
    ...conflicts.flatMap(({ told }) => told.ricevuta ?? []),
    ...excess.flatMap(({ gia_inviati }) => gia_inviati.map(({ ricevuta }) => ricevuta))
  ]
}

function renumbered (told: Duplicato, indices: Word['indices']): Duplicato {
  if (indices === undefined) return told
  const { ospite, altro_ospite } = told
  const other = altro_ospite === undefined ? {} : { altro_ospite: indices[altro_ospite]! }
  return { ...told, ospite: indices[ospite]!, ...other }
}

/** The refusal when all that stands against a list is being sent. */
function underWay (
  duplicati: readonly Duplicato[],
  waiting: ReadonlyMap<string, Date>
): SchedineInCorso | undefined {
  const [first] = duplicati
  if (!duplicati.every(isUnderWay) || !first?.ricevuta || !first.stato) return undefined
  return new SchedineInCorso(first.ricevuta, first.stato, { waitsUntil: waiting.get(first.ricevuta), duplicati })
}

function isUnderWay ({ stato }: { stato: State | null }): boolean {
  return UNDER_WAY_STATES.some((each) => each === stato)
}
