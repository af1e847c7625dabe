import { and, asc, desc, eq, gte, inArray, like, lt, lte, notLike, sql, sum, type SQL, gt } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import {
  invii, invii_conteggi as counts, invii_schedine as schedine, invii_esiti as observations, invii_tentativi as attempts,
  invii_transizioni as transitions
} from '#drizzle/tables/ledger.ts'
import type { Invio, InvioDetail, InvioQuery, Mascherata } from '#schemas/invio.ts'
import { STATE_NAMES, type State, STATES } from '#schemas/submission.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Database, Executor } from '#src/database/connect.ts'
import { decodeCursor, type Position } from '#src/lib/paging.ts'
import { InvioNonTrovato } from '../errors.ts'
import { unsealLine } from './submission-rows.ts'
import { isIntact } from './verify-ledger.ts'
import { decode } from '../codec/codec.ts'
import { ricevute } from '#drizzle/tables/alloggiati.ts'
import {
  invii_conferme as confirmations, invii_correzioni as corrections, invii_decisioni as decisions
} from '#drizzle/tables/decisions.ts'
import { currentSuspension } from './suspension.ts'

type Mode = 'sandbox' | 'production'

/**
 * Limits a query to the submissions of one mode, because the sandbox and the real ledger must not mix. Includes
 * submissions of earlier accounts.
 * @param utente the column with the account, if the query does not read it from the submission
 */
export function scopeOf (mode: Mode, utente: SQL | AnyPgColumn = invii.utente): SQL {
  return (mode === 'sandbox' ? like : notLike)(utente, 'sandbox:%')
}

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

interface InvioPage { data: Invio[], next: Position | undefined }

/** One page of the ledger, newest first, and the position where the next page starts. */
export async function readSubmissionPage (
  db: Executor, scope: SQL, filters: Filters, limit: number, cursor?: string
): Promise<InvioPage> {
  const after = cursor === undefined ? undefined : decodeCursor(cursor, SORT)
  const page = db
    .select({ id: invii.id })
    .from(invii)
    .where(and(...conditions(scope, filters), after && lt(invii.id, after.id)))
    .orderBy(desc(invii.id))
    // One extra row shows whether another page follows.
    .limit(limit + 1)
  // Select the page's ids first. Otherwise PostgreSQL computes all columns of all matches before the sort.
  const found = await db.select(columns).from(invii).where(inArray(invii.id, page)).orderBy(desc(invii.id))
  const last = found.length > limit ? found[limit - 1] : undefined
  return { data: found.slice(0, limit), next: last && { sort: SORT, value: String(last.id), id: last.id } }
}

/**
 * Counts the submissions that match the filters. Without a filter, or by state alone, it uses the counts that the
 * database keeps.
 */
export async function countSubmissions (db: Executor, mode: Mode, { stato, ...rest }: Filters): Promise<number> {
  if (Object.values(rest).some((value) => value !== undefined)) {
    return db.$count(invii, and(...conditions(scopeOf(mode), { stato, ...rest })))
  }
  const counted = await countByState(db, mode)
  return stato === undefined ? [...counted.values()].reduce((total, n) => total + n, 0) : counted.get(stato)!
}

/** Counts of a mode by state, from the counts that the database keeps. States without submissions are included. */
export async function countByState (db: Executor, mode: Mode): Promise<ReadonlyMap<State, number>> {
  const found = await db.select({ stato: counts.stato, n: sum(counts.quanti).mapWith(Number) }).from(counts)
    .where(scopeOf(mode, counts.utente)).groupBy(counts.stato)
  return new Map(STATE_NAMES.map((state) => [state, found.find(({ stato }) => stato === state)?.n ?? 0]))
}

/**
 * A submission with its whole history, from one snapshot. Guests are masked.
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
      integro: await isIntact(tx, id)
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

/** Filters by rows, because one submission may contain guests of several bookings. */
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

/**
 * Retry times of the given submissions that wait for a retry, after a claim or a decision. New submissions are left
 * out, because they are sent at once.
 */
export async function readRetryTimes (db: Executor, references: readonly string[]): Promise<ReadonlyMap<string, Date>> {
  if (references.length === 0) return new Map()
  const { ricevuta, stato, versione, lease_fino_al } = invii
  const found = await db.select({ ricevuta, lease_fino_al }).from(invii)
    .where(and(inArray(ricevuta, [...references]), eq(stato, 'pronto'), gt(versione, 0)))
  return new Map(found.map((each) => [each.ricevuta, new Date(each.lease_fino_al)]))
}

/** Maximum number of trailing characters shown of a document number. */
const SHOWN = 3

/** The masked guest of a line. Null if the line is not a record. */
export function maskLine (line: string): Mascherata | null {
  const decoded = decode(line)
  if (!('record' in decoded)) return null
  const { tipo_alloggiato, cognome, nome, data_nascita, cittadinanza, tipo_doc, num_doc } = decoded.record
  // Shows at most half of the number, so that short numbers stay masked.
  const shown = Math.min(SHOWN, Math.floor(num_doc.length / 2))
  return {
    tipo_alloggiato,
    cognome: `${cognome.slice(0, 1)}.`,
    nome: `${nome.slice(0, 1)}.`,
    anno_nascita: Number(data_nascita.slice(0, 4)),
    cittadinanza,
    tipo_documento: tipo_doc,
    numero_documento: num_doc === '' ? '' : `…${num_doc.slice(num_doc.length - shown)}`
  }
}

type Attempt = InvioDetail['tentativi'][number]

/** The attempts of a submission with their observations. The outcome is the final one, else the first observed one. */
export async function readAttempts (db: Executor, id: number): Promise<Attempt[]> {
  const { numero, base, inviato_il, giorno_da, giorno_a, schedine, notti } = attempts
  const made = await db
    .select({ numero, base, inviato_il: isoInstant(inviato_il), giorno_da, giorno_a, schedine, notti })
    .from(attempts).where(eq(attempts.invio_id, id)).orderBy(asc(numero))
  const { esito, fonte, schedine: acquired, notti: nights, http_status, errore, registrato_il } = observations
  const seen = await db
    .select({
      numero: observations.numero,
      observation: {
        esito, fonte, schedine: acquired, notti: nights, http_status, errore, registrato_il: isoInstant(registrato_il)
      }
    })
    .from(observations).where(eq(observations.invio_id, id)).orderBy(asc(observations.id))
  return made.map((attempt) => {
    const osservazioni = seen.filter((one) => one.numero === attempt.numero).map(({ observation }) => observation)
    const { esito } = osservazioni.find(({ esito }) => esito !== '?') ?? osservazioni[0] ?? { esito: null }
    return { ...attempt, esito, osservazioni }
  })
}

async function readTransitions (db: Executor, id: number): Promise<InvioDetail['transizioni']> {
  const { da, a, chi, perche, quando, hash } = transitions
  return db
    .select({
      id: transitions.id, da, a, chi, perche, quando: isoInstant(quando), hash: sql<string>`encode(${hash}, 'hex')`
    })
    .from(transitions).where(eq(transitions.invio_id, id)).orderBy(asc(transitions.id))
}

async function readDecisions (db: Executor, id: number): Promise<InvioDetail['decisioni']> {
  const { decisione, versione, chi, motivo, protocollo, quando } = decisions
  return db.select({ decisione, versione, chi, motivo, protocollo, quando: isoInstant(quando) })
    .from(decisions).where(eq(decisions.invio_id, id)).orderBy(asc(decisions.id))
}

async function readConfirmation (db: Executor, id: number): Promise<InvioDetail['conferma']> {
  const { chi, motivo, precedenti, quando } = confirmations
  const [found] = await db.select({ chi, motivo, precedenti, quando: isoInstant(quando) })
    .from(confirmations).where(eq(confirmations.invio_id, id))
  return found ?? null
}

async function readCorrections (db: Executor, id: number): Promise<InvioDetail['correzioni']> {
  const { indice: riga, chi, motivo, protocollo, quando } = corrections
  return db.select({ riga, chi, motivo, protocollo, quando: isoInstant(quando) })
    .from(corrections).where(eq(corrections.invio_id, id)).orderBy(asc(corrections.id))
}

async function readReceipt (
  db: Executor, utente: string, made: readonly Attempt[]
): Promise<InvioDetail['ricevuta_giorno']> {
  const attempt = made.findLast(({ esito }) => esito === 'K') ?? made.at(-1)
  if (attempt === undefined) return null
  const { giorno, sha256, schedine, notti } = ricevute
  const [kept] = await db
    .select({ giorno, sha256, schedine, notti })
    .from(ricevute)
    .where(and(eq(ricevute.utente, utente), eq(giorno, attempt.giorno_da)))
  return kept ?? null
}

export interface LedgerSummary {
  states: { stato: State, description: string, submissions: number }[]
  suspended: boolean
}

export async function ledgerSummary (db: Executor, mode: Mode): Promise<LedgerSummary> {
  const counted = await countByState(db, mode)
  const states = STATE_NAMES.map((stato) => ({ stato, description: STATES[stato], submissions: counted.get(stato)! }))
  return { states, suspended: await currentSuspension(db) !== undefined }
}
