import { and, asc, desc, eq, gte, inArray, like, lt, lte, notLike, sql, sum, type SQL } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { invii, invii_conteggi as counts, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { Invio, InvioDetail, InvioQuery } from '#schemas/invio.ts'
import { STATE_NAMES, type State } from '#schemas/submission.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { InvioNonTrovato } from '../errors.ts'
import {
  readAttempts, readConfirmation, readCorrections, readDecisions, readReceipt, readTransitions
} from './history.ts'
import { maskLine } from './mask.ts'
import { unsealLine } from './rows.ts'
import { isIntact } from './seals/verify.ts'

type Mode = 'sandbox' | 'production'

/**
 * Which submissions are seen: the sandbox's are no part of the real ledger, nor the other way round. The account of a
 * mode may change; what was sent with the one before is seen all the same.
 * @param utente where the account stands, when it is not the submission's own
 */
export function scopeOf (mode: Mode, utente: SQL | AnyPgColumn = invii.utente): SQL {
  return (mode === 'sandbox' ? like : notLike)(utente, 'sandbox:%')
}

/** The only order of the list: the newest first. */
const SORT = '-id'

const columns = {
  id: invii.id,
  ricevuta: invii.ricevuta,
  stato: invii.stato,
  metodo: invii.metodo,
  id_appartamento: invii.id_appartamento,
  prenotazione_id: invii.prenotazione_id,
  data_arrivo: invii.data_arrivo,
  permanenza: invii.permanenza,
  scadenza: isoInstant(invii.scadenza),
  numero_schedine: sql<number>`(select count(*)::int from ${schedine} s where s.invio_id = ${invii}.id)`,
  operatore: invii.operatore,
  nota: invii.nota,
  creato_il: isoInstant(invii.creato_il),
  aggiornato_il: isoInstant(invii.aggiornato_il)
}

type Filters = Omit<InvioQuery, 'limit' | 'cursor' | 'conteggio'>

export interface InvioPage { data: Invio[], next: Position | undefined }

/** One page of the ledger, the newest first, and where the next one begins. */
export async function readSubmissionPage (
  db: Executor,
  scope: SQL,
  filters: Filters,
  limit: number,
  cursor?: string
): Promise<InvioPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  const page = db
    .select({ id: invii.id })
    .from(invii)
    .where(and(...conditions(scope, filters), after && lt(invii.id, after.id)))
    .orderBy(desc(invii.id))
    // One row more than asked for tells whether anything follows.
    .limit(limit + 1)
  // The page first: otherwise the columns of all that match are made before they are sorted.
  const found = await db.select(columns).from(invii).where(inArray(invii.id, page)).orderBy(desc(invii.id))
  const last = found.length > limit ? found[limit - 1] : undefined
  return { data: found.slice(0, limit), next: last && { sort: SORT, value: String(last.id), id: last.id } }
}

/**
 * How many submissions the filters let through: without a filter, or with a state alone, from the counts that the
 * database keeps.
 */
export async function countSubmissions (db: Executor, mode: Mode, { stato, ...rest }: Filters): Promise<number> {
  if (Object.values(rest).some((value) => value !== undefined)) {
    return db.$count(invii, and(...conditions(scopeOf(mode), { stato, ...rest })))
  }
  const counted = await countByState(db, mode)
  return stato === undefined ? [...counted.values()].reduce((total, n) => total + n, 0) : counted.get(stato)!
}

/** The submissions of a mode by state, every state, from the counts that the database keeps. */
export async function countByState (db: Executor, mode: Mode): Promise<ReadonlyMap<State, number>> {
  const found = await db.select({ stato: counts.stato, n: sum(counts.quanti).mapWith(Number) }).from(counts)
    .where(scopeOf(mode, counts.utente)).groupBy(counts.stato)
  return new Map(STATE_NAMES.map((state) => [state, found.find(({ stato }) => stato === state)?.n ?? 0]))
}

/**
 * A submission with its whole history, as of one moment. Its guests are masked: no caller reads them in clear here.
 * @throws InvioNonTrovato
 */
export function readSubmission (db: Database, keys: Keys, scope: SQL, id: number): Promise<InvioDetail> {
  return db.transaction(async (tx) => {
    const [found] = await tx.select({ invio: columns, utente: invii.utente, versione: invii.versione }).from(invii)
      .where(and(scope, eq(invii.id, id)))
    if (!found) throw new InvioNonTrovato()
    const { invio, utente, versione } = found
    const tentativi = await readAttempts(tx, id)
    return {
      ...invio,
      versione,
      righe: await readMaskedRows(tx, keys, id),
      tentativi,
      transizioni: await readTransitions(tx, id),
      decisioni: await readDecisions(tx, id),
      conferma: await readConfirmation(tx, id),
      correzioni: await readCorrections(tx, id),
      ricevuta_giorno: await readReceipt(tx, utente, tentativi),
      integro: await isIntact(tx, keys, id)
    }
  }, { isolationLevel: 'repeatable read', accessMode: 'read only' })
}

function conditions (scope: SQL, { stato, prenotazione_id, da, a, ricevuta }: Filters): (SQL | undefined)[] {
  return [
    scope,
    stato === undefined ? undefined : eq(invii.stato, stato),
    prenotazione_id === undefined ? undefined : hasGuestOf(prenotazione_id),
    da === undefined ? undefined : gte(invii.data_arrivo, da),
    a === undefined ? undefined : lte(invii.data_arrivo, a),
    ricevuta === undefined ? undefined : eq(invii.ricevuta, ricevuta)
  ]
}

/** By the rows: one submission may hold guests of several bookings. */
function hasGuestOf (prenotazione_id: number): SQL {
  return sql`${invii.id} in (select s.invio_id from ${schedine} s where s.prenotazione_id = ${prenotazione_id})`
}

async function readMaskedRows (db: Executor, keys: Keys, id: number): Promise<InvioDetail['righe']> {
  const rows = await db.select().from(schedine).where(eq(schedine.invio_id, id)).orderBy(asc(schedine.indice))
  return rows.map(({ indice, capo, esito, codice_errore, messaggio_soap, dettaglio, permanenza, riga }) => ({
    indice,
    capo,
    esito,
    codice_errore,
    messaggio_soap,
    dettaglio,
    permanenza,
    schedina: riga === null ? null : maskLine(unsealLine(keys, id, indice, riga))
  }))
}
