import { and, eq, inArray, ne, or, sql, type SQL } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import {
  FINAL_ATTEMPT_OUTCOMES, isUnderWay, LIVE_ROW_OUTCOMES, UNFINISHED_STATES, UNRECEIPTED_STATES, UNRESOLVED_ROW_OUTCOMES,
  type RowOutcome, type State
} from '#schemas/submission.ts'
import { staysById } from '#src/bookings/index.ts'
import { isOneOf, isOneOfBytes } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import type { Day } from '#src/lib/time.ts'
import { MAX_DECLARED_NIGHTS } from '../codec/layout.ts'
import type { WatchContext } from './ledger-context.ts'
import { provesDay } from '../receipts/receipt-days.ts'
import { scopeOf } from './read-ledger.ts'

/* Reads the live rows that are compared with the guests of bookings. */

/** Context of a comparison, as of `today`. */
export type Comparison = Pick<WatchContext, 'keys' | 'mode'> & { db: Executor, today: Day }

/** The fingerprints of a guest as hex. Null where missing. */
export interface Prints { identita: string, persona: string | null, documento: string | null }

/** A row that may match a guest of a booking. */
export interface Candidate extends Prints {
  /** The row was sent for this booking. A row without a booking counts only for a saved guest. */
  isOwn: boolean
  /** The row may also count for an unsaved guest: its booking has not changed since, or a correction was requested. */
  isTrusted: boolean
}

/** A live row and its outcome. */
export interface SentRow extends Candidate {
  id: string
  invio_id: number
  utente: string
  prenotazione_id: number | null
  data_arrivo: Day
  /** The declared nights. */
  permanenza: number
  esito: RowOutcome
  /** Its submission may still be acquired. */
  isUnfinished: boolean
  /** Its submission is `ricevuto`, or was acquired and has the complete receipts of each possible day. */
  isReceipted: boolean
  stato: State
  /**
   * The first day without a receipt on which the service may have counted it, else the first such day. Null if not
   * sent, or if its submission is `ricevuto`.
   */
  giorno: Day | null
  /** The questura was asked to correct the row. */
  isCorrected: boolean
}

export async function readOwnRows (comparison: Comparison, ids: readonly number[]): Promise<SentRow[]> {
  if (ids.length === 0) return []
  return readRows(comparison, {
    rows: sql`${staysById(comparison.db, ids).as('p')} join invii_schedine s on s.prenotazione_id = p.id`,
    isOwn: true,
    isCurrent: sql`i.creato_il >= p.schedine_cambiate_il`
  })
}

/**
 * Finds rows with one of these fingerprints that have no booking, or whose booking is deleted or not confirmed. Leaves
 * out rows that were confirmed as other guests, because the fingerprint indexes do not contain them.
 */
export async function readRowsOfNoStay (
  comparison: Comparison, accounts: readonly string[], prints: readonly Prints[]
): Promise<SentRow[]> {
  const printed = or(...(['identita', 'persona', 'documento'] as const).flatMap((kind) => {
    const found = prints.flatMap((each) => each[kind] ?? [])
    return found.length === 0 ? [] : isOneOfBytes(sql`s.${sql.raw(`impronta_${kind}`)}`, found)
  }))
  if (printed === undefined) return []
  const rows = await readRows(comparison, {
    rows: sql`invii_schedine s`,
    isOwn: false,
    isCurrent: sql`false`,
    where: and(inArray(sql`s.utente`, [...accounts]), sql`not s.confermata`, printed)
  })
  const bookings = rows.flatMap(({ prenotazione_id: id }) => id ?? [])
  const stays = bookings.length === 0 ? [] : await staysById(comparison.db, bookings)
  const existing = new Set(stays.flatMap(({ id, stato }) => stato === 'confermata' ? id : []))
  return rows.filter(({ prenotazione_id: id }) => id === null || !existing.has(id))
}

/** Finds, for each arrival, the accounts that have a submission with it. */
export async function accountsByArrival (
  { db, mode }: Pick<Comparison, 'db' | 'mode'>, arrivals: readonly Day[]
): Promise<ReadonlyMap<Day, string[]>> {
  if (arrivals.length === 0) return new Map()
  const days = `{${[...new Set(arrivals)].join()}}`
  const found = await db.execute<{ giorno: Day, utenti: string[] }>(sql`
    select d.giorno::text as giorno, json_agg(a.utente) as utenti
    from unnest(${days}::date[]) d (giorno)
    cross join (select distinct utente from invii_conteggi where ${scopeOf(mode, sql`utente`)}) a
    -- Reads one row of the index per day. Without the limit it would read all submissions.
    cross join lateral (select from invii i where i.data_arrivo = d.giorno and i.utente = a.utente limit 1) i
    group by d.giorno`)
  return new Map(found.map(({ giorno, utenti }) => [giorno, utenti]))
}

interface Reading {
  /** The SQL that selects the rows `s`. */
  rows: SQL
  isOwn: boolean
  /** The row was sent after the last change of its booking and guests. */
  isCurrent: SQL
  where?: SQL
}

function readRows ({ db, mode }: Comparison, { rows, isOwn, isCurrent, where }: Reading): Promise<SentRow[]> {
  return db.execute<SentRow & Record<string, unknown>>(sql`
    select s.invio_id || '/' || s.indice as id, s.invio_id, i.utente, s.prenotazione_id, s.permanenza, s.esito,
      i.data_arrivo::text as data_arrivo, encode(s.impronta_identita, 'hex') as identita,
      encode(s.impronta_persona, 'hex') as persona, encode(s.impronta_documento, 'hex') as documento,
      ${inArray(sql`i.stato`, UNFINISHED_STATES)} as "isUnfinished",
      -- A call around midnight may be on either of two receipts, so both must be stored.
      i.stato = 'ricevuto' or c.provato as "isReceipted", i.stato, c.giorno,
      q.corretta as "isCorrected", ${isOwn}::boolean as "isOwn", ${isCurrent} or q.corretta as "isTrusted"
    from ${rows}
    join invii i on i.id = s.invio_id
    cross join lateral (
      select ${inArray(sql`i.stato`, UNRECEIPTED_STATES)} and
          coalesce(bool_or(e.esito = 'K' and da.giorno is not null and a.giorno is not null), false) as provato,
        coalesce(
          min(case when da.giorno is null then t.giorno_da when a.giorno is null then t.giorno_a end), min(t.giorno_da)
        )::text as giorno
      from invii_tentativi t
      left join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero
        and ${inArray(sql`e.esito`, FINAL_ATTEMPT_OUTCOMES)}
      left join ricevute da on da.utente = i.utente and da.giorno = t.giorno_da and ${provesDay(sql`da`)}
      left join ricevute a on a.utente = i.utente and a.giorno = t.giorno_a and ${provesDay(sql`a`)}
      where t.invio_id = i.id and i.stato <> 'ricevuto' and e.esito is distinct from 'N'
    ) c
    cross join lateral (select exists (select from invii_correzioni c
      where c.invio_id = s.invio_id and coalesce(c.indice, s.indice) = s.indice) as corretta) q
    where ${and(scopeOf(mode, sql`i.utente`), inArray(sql`s.esito`, LIVE_ROW_OUTCOMES), where)}
    order by s.invio_id, s.indice`)
}

/**
 * The CTEs for `coperte`: the ids of stays whose nights until today are certainly covered. They read the stays from
 * `pagina` (`id`, `check_in`, `numero_notti`, `numero_ospiti`, `schedine_cambiate_il`). A stay is covered if enough
 * guests were sent after its last change, and receipts count them. Nearly all past bookings qualify, so only the
 * others need `stayComparer`.
 *
 * One query reads all submissions of the page's period. This is much cheaper than one query per booking.
 */
export function surelyCovered ({ mode, today }: Pick<Comparison, 'mode' | 'today'>): SQL {
  return sql`arrivati as materialized (
      select i.id, i.data_arrivo, i.creato_il from invii i
      where i.data_arrivo >= (select min(check_in) from pagina)
        and i.data_arrivo < (select max(check_in) from pagina) + ${MAX_DECLARED_NIGHTS}::int
        and i.stato = 'ricevuto' and ${scopeOf(mode, sql`i.utente`)}
    ), righe as materialized (
      select s.invio_id, s.prenotazione_id, s.permanenza from invii_schedine s
      where s.invio_id between (select min(id) from arrivati) and (select max(id) from arrivati)
        and s.esito = 'acquisita'
    ), inviati as materialized (
      select r.prenotazione_id, i.data_arrivo, i.creato_il, count(*) as ospiti,
        min(i.data_arrivo + r.permanenza) as fino
      from arrivati i join righe r on r.invio_id = i.id group by r.prenotazione_id, i.data_arrivo, i.creato_il
    ), coperte as (
      -- Compares the difference, so no index is used: an index would read 30 days of submissions per stay.
      select p.id from pagina p join inviati i on i.prenotazione_id = p.id
        and i.data_arrivo - p.check_in between 0 and ${MAX_DECLARED_NIGHTS - 1}::int
        and i.creato_il >= p.schedine_cambiate_il
      group by p.id, p.numero_ospiti, p.check_in, p.numero_notti having sum(i.ospiti) >= p.numero_ospiti
        -- A row that ends before the stay may leave nights undeclared.
        and min(i.fino) >= least(p.check_in + p.numero_notti, ${today}::date + 1)
    )`
}

/**
 * Finds unfinished submissions of these bookings. An ended submission counts as well if one of its rows has an unknown
 * outcome, unless an administrator cancelled it.
 */
export async function openSubmissions (db: Executor, ids: readonly number[]) {
  if (ids.length === 0) return []
  const { prenotazione_id } = schedine
  const isUnresolved = and(ne(invii.stato, 'annullato'), inArray(schedine.esito, UNRESOLVED_ROW_OUTCOMES))
  const found = await db.selectDistinct({ prenotazione_id, stato: invii.stato }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(isOneOf(prenotazione_id, ids), or(inArray(invii.stato, UNFINISHED_STATES), isUnresolved)))
  return found.map(({ prenotazione_id: id, stato }) => ({ prenotazione_id: id!, isUnknown: !isUnderWay(stato) }))
}

/**
 * The times from which receipts cover these submissions. A call around midnight needs both days' receipts. Without
 * stored receipts, the time at which the submission became `ricevuto` counts.
 */
export async function receiptTimes (db: Executor, ids: readonly number[]): Promise<ReadonlyMap<number, Date>> {
  if (ids.length === 0) return new Map()
  const found = await db.execute<{ id: number, ms: number }>(sql`
    select i.id, extract(epoch from coalesce(r.arrivata, x.quando, i.aggiornato_il))::float8 * 1000 as ms
    from invii i
    cross join lateral (
      select min(greatest(da.scaricata_il, a.scaricata_il)) as arrivata
      from invii_tentativi t
      join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
      join ricevute da on da.utente = i.utente and da.giorno = t.giorno_da
      join ricevute a on a.utente = i.utente and a.giorno = t.giorno_a
      where t.invio_id = i.id
    ) r
    cross join lateral (
      select max(x.quando) as quando from invii_transizioni x where x.invio_id = i.id and x.a = 'ricevuto'
    ) x
    where ${isOneOf(sql`i.id`, new Set(ids))}`)
  return new Map(found.map(({ id, ms }) => [id, new Date(ms)]))
}
