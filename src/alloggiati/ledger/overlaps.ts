import { and, eq, gt, inArray, lt, ne, or, sql, type AnyColumn, type SQL } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import { LIVE_ROW_OUTCOMES } from '#schemas/submission.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { addDays } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { Conflict } from './conflicts.ts'
import { fingerprint, type Guest } from './fingerprints.ts'
import { endOf } from './stay-nights.ts'

/** A guest of a list, with the nights to declare. */
interface Declared extends Guest { prenotazione_id: number | null, permanenza: number }

/**
 * Finds guests without a booking who were sent with another arrival, for nights that overlap. Fingerprints include the
 * arrival, so they are computed for each arrival of the account. The guests of a booking are compared with its rows.
 */
export async function findOverlaps (
  db: Executor, keys: Keys, account: string, guests: readonly Declared[]
): Promise<Conflict[]> {
  const direct = guests.map((guest, ospite) => ({ guest, ospite })).filter(({ guest }) =>
    guest.prenotazione_id === null)
  if (direct.length === 0) return []
  const { data_arrivo } = guests[0]!
  const isNear = and(
    eq(invii.utente, account),
    ne(invii.data_arrivo, data_arrivo),
    gt(invii.data_arrivo, addDays(data_arrivo, -MAX_DECLARED_NIGHTS)),
    lt(invii.data_arrivo, addDays(data_arrivo, Math.max(...guests.map(({ permanenza }) => permanenza))))
  )
  const arrivals = await db.selectDistinct({ day: invii.data_arrivo }).from(invii).where(isNear)
  const prints = direct.flatMap(({ guest, ospite }) => arrivals.map(({ day }) =>
    ({ ospite, guest, day, ...fingerprint(keys, account, { ...guest, data_arrivo: day }) })))
  if (prints.length === 0) return []
  const { ricevuta, stato } = invii
  const { esito, prenotazione_id, permanenza, impronta_persona: persona, impronta_documento: documento } = schedine
  const rows = await db
    .select({ ricevuta, stato, esito, prenotazione_id, permanenza, persona, documento, data_arrivo: invii.data_arrivo })
    .from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(isNear, inArray(esito, LIVE_ROW_OUTCOMES), or(
      isAnyOf(persona, prints.map((each) => each.persona)),
      isAnyOf(documento, prints.flatMap((each) => each.documento ?? []))
    )))
    .orderBy(invii.id, schedine.indice)
  return prints.flatMap(({ ospite, guest, day, persona, documento }) => rows.flatMap((row): Conflict[] => {
    const isOverlap = row.data_arrivo === day && data_arrivo < endOf(row) && day < endOf(guest)
    const samePerson = row.persona.equals(persona)
    if (!isOverlap || !(samePerson || (documento !== null && row.documento?.equals(documento)))) return []
    const motivo = samePerson ? 'stessa_persona' : 'stesso_documento'
    const duplicate = { ospite, ricevuta: row.ricevuta, stato: row.stato, motivo } as const
    return [{ duplicate, earlier: row, certain: false, movedFrom: day }]
  }))
}

/** A single parameter: a statement has at most 65,535. */
function isAnyOf (column: AnyColumn, prints: readonly Buffer[]): SQL {
  const hashes = `{${prints.map((print) => `"\\\\x${print.toString('hex')}"`).join()}}`
  return sql`${column} = any(${hashes}::bytea[])`
}
