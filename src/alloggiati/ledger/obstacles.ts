import type { Duplicato } from '#schemas/alloggiati.ts'
import { isUnderWay } from '#schemas/submission.ts'
import {
  InviataConAltroAccount, OspitiOltreLaPrenotazione, SchedineGiaInviate, SchedineInCorso, type Excess
} from '../sent-errors.ts'
import type { Conflict, Elsewhere } from './conflicts.ts'

/** Guests who were or may have been sent, and bookings with too many guests. */
interface Obstacles { conflicts: readonly Conflict[], excess: readonly Excess[] }

/** The rows that a person confirmed, and the references of the submissions that the person was shown. */
export interface Confirmed { rows: ReadonlySet<number>, references: string[] }

/** A person's confirmation, and the caller's index of each row. */
interface Confirmable { confirmation?: { motivo: string }, indices?: readonly number[] }

/**
 * @param waiting the retry times of submissions that wait for a retry, by reference
 * @returns the obstacles that a confirmation lifts. Undefined when there is no obstacle
 * @throws SchedineGiaInviate, SchedineInCorso, OspitiOltreLaPrenotazione
 */
export function confirmedOf (
  { confirmation, indices }: Confirmable, { conflicts, excess }: Obstacles, waiting: ReadonlyMap<string, Date>
): Confirmed | undefined {
  const certain = conflicts.filter((each) => each.certain)
  if (conflicts.length > 0 && (confirmation === undefined || certain.length > 0)) {
    const matches = confirmation === undefined ? conflicts : certain
    const duplicati = matches.map(({ duplicate }) => renumbered(duplicate, indices))
    const days = matches.map(({ movedFrom }) => movedFrom)
    throw underWay(duplicati, waiting) ?? new SchedineGiaInviate(duplicati, {
      confirmable: certain.length === 0,
      movedFrom: days.every((day) => day !== undefined) ? days[0] : undefined
    })
  }
  const [first] = excess
  // A submission in progress may still fail and free its places, so a confirmation is not possible yet.
  for (const { gia_inviati, prenotazione_id } of excess) {
    const open = gia_inviati.find(({ stato }) => isUnderWay(stato))
    if (open) {
      const waitsUntil = waiting.get(open.ricevuta)
      throw new SchedineInCorso(open.ricevuta, open.stato, { waitsUntil, prenotazione_id })
    }
  }
  if (first && confirmation === undefined) throw new OspitiOltreLaPrenotazione(first)
  if (conflicts.length === 0 && first === undefined) return undefined
  return {
    // A row with another arrival has other fingerprints. No unique index refuses the new row, so it needs no mark.
    rows: new Set(conflicts.flatMap(({ duplicate, movedFrom }) => movedFrom === undefined ? duplicate.ospite : [])),
    references: [...new Set(referencesOf({ conflicts, excess }))]
  }
}

/** @throws InviataConAltroAccount unless the caller confirms it */
export function confirmedElsewhere (
  { confirmation }: Confirmable, elsewhere: Elsewhere | undefined
): Confirmed | undefined {
  if (elsewhere === undefined) return undefined
  if (confirmation === undefined) throw new InviataConAltroAccount(elsewhere)
  return { rows: new Set(), references: [elsewhere.ricevuta] }
}

/** The references of the submissions that cause the obstacles. */
export function referencesOf ({ conflicts, excess }: Obstacles): string[] {
  return [
    ...conflicts.flatMap(({ duplicate }) => duplicate.ricevuta ?? []),
    ...excess.flatMap(({ gia_inviati }) => gia_inviati.map(({ ricevuta }) => ricevuta))
  ]
}

function renumbered (duplicate: Duplicato, indices: Confirmable['indices']): Duplicato {
  if (indices === undefined) return duplicate
  const { ospite, altro_ospite } = duplicate
  const other = altro_ospite === undefined ? {} : { altro_ospite: indices[altro_ospite]! }
  return { ...duplicate, ospite: indices[ospite]!, ...other }
}

/** The error for duplicates that are all in submissions in progress. */
function underWay (
  duplicati: readonly Duplicato[], waiting: ReadonlyMap<string, Date>
): SchedineInCorso | undefined {
  const [first] = duplicati
  if (!duplicati.every(({ stato }) => isUnderWay(stato)) || !first?.ricevuta || !first.stato) return undefined
  return new SchedineInCorso(first.ricevuta, first.stato, { waitsUntil: waiting.get(first.ricevuta), duplicati })
}
