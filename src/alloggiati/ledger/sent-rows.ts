import { and, inArray, or, sql, type SQL } from 'drizzle-orm'
import { LIVE_ROW_OUTCOMES, type RowOutcome } from '#schemas/submission.ts'
import { staysById } from '#src/bookings/index.ts'
import type { Day } from '#src/lib/time.ts'
import type { Executor } from '#src/database/connect.ts'
import type { WatchContext } from './context.ts'
import type { Candidate, Prints } from './filled-places.ts'
import { isUnfinished, receiptOf } from './guest-counts.ts'
import { scopeOf } from './read.ts'

/* The live rows with which the guests of bookings are compared. */

/** Whose bookings and submissions are compared, as of a day. */
export type Comparison = Pick<WatchContext, 'keys' | 'mode'> & { db: Executor, today: Day }

/** A live row, and what became of it. */
export interface SentRow extends Candidate {
  /** Its place in the ledger. */
  id: string
  invio_id: number
  prenotazione_id: number | null
  data_arrivo: Day
  esito: RowOutcome
  /** Its submission may still be acquired. */
  isUnfinished: boolean
  /** What was acquired of its submission is on a receipt that is kept. */
  isReceipted: boolean
  /** That receipt is not due yet. */
  isAwaited: boolean
  /** The questura was asked to correct it. */
  isCorrected: boolean
}

/** Its guest was acquired, or filed by another way. */
export function isFiled ({ esito }: SentRow): boolean {
  return esito === 'acquisita' || esito === 'depositata'
}

/** The rows that were sent for bookings, of every arrival. */
export function readOwnRows (comparison: Comparison, ids: readonly number[]): Promise<SentRow[]> {
  if (ids.length === 0) return Promise.resolve([])
  const { db } = comparison
  return readRows(comparison, {
    rows: sql`${staysById(db, ids).as('p')} join invii_schedine s on s.prenotazione_id = p.id`,
    isOwn: true,
    isCurrent: sql`i.creato_il >= p.schedine_cambiate_il`
  })
}

/**
 * The rows with any of these fingerprints whose booking does not exist any more, or that have none. Not those that were
 * confirmed to be other guests than the ones sent before: the indexes of fingerprints do not hold them.
 */
export async function readRowsOfNoStay (
  comparison: Comparison,
  accounts: readonly string[],
  prints: readonly Prints[]
): Promise<SentRow[]> {
  const printed = or(...(['identita', 'persona', 'documento'] as const).flatMap((kind) => {
    const found = prints.flatMap((each) => each[kind] ?? [])
    // One parameter: a statement has 65,535 at most, and the guests of large groups have more fingerprints than that.
    const hashes = `{${found.map((hash) => `"\\\\x${hash}"`).join()}}`
    return found.length === 0 ? [] : sql`s.${sql.raw(`impronta_${kind}`)} = any(${hashes}::bytea[])`
  }))
  if (printed === undefined) return []
  const { db } = comparison
  const rows = await readRows(comparison, {
    rows: sql`invii_schedine s`,
    isOwn: false,
    isCurrent: sql`false`,
    where: and(inArray(sql`s.utente`, [...accounts]), sql`not s.confermata`, printed)
  })
  const bookings = rows.flatMap(({ prenotazione_id: id }) => id ?? [])
  const existing = new Set(bookings.length === 0 ? [] : (await staysById(db, bookings)).map(({ id }) => id))
  return rows.filter(({ prenotazione_id: id }) => id === null || !existing.has(id))
}

/** The accounts with submissions of these arrivals. */
export async function readAccounts (
  { db, mode }: Comparison,
  arrivals: readonly Day[]
): Promise<ReadonlyMap<Day, string[]>> {
  if (arrivals.length === 0) return new Map()
  const days = `{${[...new Set(arrivals)].join()}}`
  const found = await db.execute<{ giorno: Day, utenti: string[] }>(sql`
    select d.giorno::text as giorno, json_agg(a.utente) as utenti
    from unnest(${days}::date[]) d (giorno)
    cross join (select distinct utente from invii_conteggi where ${scopeOf(mode, sql`utente`)}) a
    -- One row of the index for each day: without the limit all submissions would be read.
    cross join lateral (select from invii i where i.data_arrivo = d.giorno and i.utente = a.utente limit 1) i
    group by d.giorno`)
  return new Map(found.map(({ giorno, utenti }) => [giorno, utenti]))
}

interface Reading {
  /** Gives the rows `s`. */
  rows: SQL
  isOwn: boolean
  /** The row was sent since its booking and the guests were last changed. */
  isCurrent: SQL
  where?: SQL
}

function readRows (
  { db, mode, today }: Comparison,
  { rows, isOwn, isCurrent, where }: Reading
): Promise<SentRow[]> {
  return db.execute<SentRow & Record<string, unknown>>(sql`
    select s.invio_id || '/' || s.indice as id, s.invio_id, s.prenotazione_id, s.esito,
      i.data_arrivo::text as data_arrivo, encode(s.impronta_identita, 'hex') as identita,
      encode(s.impronta_persona, 'hex') as persona, encode(s.impronta_documento, 'hex') as documento,
      ${isUnfinished} as "isUnfinished",
      r.provato as "isReceipted", r.atteso as "isAwaited", c.corretta as "isCorrected", ${isOwn}::boolean as "isOwn",
      ${isCurrent} or c.corretta as "isTrusted"
    from ${rows}
    join invii i on i.id = s.invio_id
    cross join lateral ${receiptOf(today)} r
    cross join lateral (select exists (select from invii_correzioni c
      where c.invio_id = s.invio_id and coalesce(c.indice, s.indice) = s.indice) as corretta) c
    where ${and(scopeOf(mode, sql`i.utente`), inArray(sql`s.esito`, LIVE_ROW_OUTCOMES), where)}
    order by s.invio_id, s.indice`)
}
