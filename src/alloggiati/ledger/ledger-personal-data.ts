import { asc, eq, sql, and, exists, inArray, isNotNull, lt, notExists, or, type SQL } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { HeldData } from '#schemas/privacy.ts'
import { type State, ERASABLE_STATES, UNRESOLVED_ROW_OUTCOMES, UNFINISHED_STATES } from '#schemas/submission.ts'
import { jsonFile, type PersonalDataReport } from '#src/bookings/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import { isOneOf, isoInstant } from '#src/database/columns.ts'
import type { Executor, Database, Transaction } from '#src/database/connect.ts'
import { decode } from '../codec/codec.ts'
import { unsealLine } from './submission-rows.ts'
import { invii_cancellazioni as erasures } from '#drizzle/tables/decisions.ts'
import { RECEIPT_WINDOW_DAYS } from '../receipts/receipt-days.ts'
import { InvioInCorso } from '../errors.ts'

const RECEIPT_YEARS = 5

const LEGAL = { ospite: null, lato: null, per_legge: true, stato: 'prova_di_legge' } satisfies Partial<HeldData>
const WITHOUT =
  'esiti, impronte e storia, senza nomi né documenti, tranne quelli che una persona abbia scritto in un motivo'
const HISTORY = `Prova della comunicazione alla Polizia (art. 109 TULPS): ${WITHOUT}`
/** Label of the history of a submission that was not sent, or was abandoned by decision. */
const VOID_HISTORY = `Storia di un invio alla Polizia che non è partito o è stato annullato: ${WITHOUT}`
const SENT = 'Dati trasmessi alla Polizia'
/** Labels of records that are not known to be transmitted, by state of their submission. */
const RECORDS: Partial<Record<State, string>> = {
  pronto: 'Dati da trasmettere alla Polizia',
  preso: 'Dati da trasmettere alla Polizia',
  non_inviato: 'Dati di un invio alla Polizia che non è partito',
  annullato: 'Dati di un invio alla Polizia annullato'
}
const ERASED_LATER = 'si cancellano alla scadenza indicata'
const UNDECIDED = 'servono finché l’invio non è concluso e provato'
const RECEIPT = `La legge vuole la ricevuta conservata almeno ${RECEIPT_YEARS} anni: solo totali del giorno, senza nomi`

/** The ledger's part of a booking's personal-data report. The law requires these data even for deleted bookings. */
export function ledgerReport ({ keys, eraseAfterDays }: { keys: Keys, eraseAfterDays: number }): PersonalDataReport {
  return {
    describe: (db, booking) => describeHeld(db, booking, eraseAfterDays),
    files: async (db, booking) => [jsonFile('invii.json', await readSent(db, booking, keys))]
  }
}

async function describeHeld (db: Executor, booking: number, eraseAfterDays: number): Promise<HeldData[]> {
  const submissions = await db
    .select({
      ricevuta: invii.ricevuta,
      stato: invii.stato,
      rows: sql<number>`count(*)::int`,
      lines: sql<number>`count(${schedine.riga})::int`,
      erasable: sql<number | null>`extract(epoch from ${erasableFrom(db, eraseAfterDays)})::float8`
    })
    .from(schedine).innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(eq(schedine.prenotazione_id, booking)).groupBy(invii.id).orderBy(asc(invii.id))
  const receipts = await receiptDays(db, booking)
  return [
    ...submissions.flatMap(({ ricevuta: riferimento, stato, rows, lines, erasable }): HeldData[] => {
      const until = erasable === null ? null : dayInRome(new Date(erasable * 1000))
      const about = { ...LEGAL, riferimento }
      const isVoid = stato === 'non_inviato' || stato === 'annullato'
      const history: HeldData = {
        ...about, cosa: 'storia_invio', quanti: rows, fino_a: null, motivo: isVoid ? VOID_HISTORY : HISTORY
      }
      if (lines === 0) return [history]
      const motivo = `${RECORDS[stato] ?? SENT}, cifrati: ${until === null ? UNDECIDED : ERASED_LATER}`
      return [{ ...about, cosa: 'schedine_cifrate', quanti: lines, fino_a: until, motivo }, history]
    }),
    ...receipts.map(({ giorno, fino_a }): HeldData =>
      ({ ...LEGAL, cosa: 'ricevuta_polizia', quanti: 1, riferimento: giorno, fino_a, motivo: RECEIPT }))
  ]
}

/** The submissions of a booking with their records as sent. An erased record is null. */
async function readSent (db: Executor, booking: number, keys: Keys) {
  const rows = await db
    .select({
      invio: {
        ricevuta: invii.ricevuta,
        stato: invii.stato,
        metodo: invii.metodo,
        id_appartamento: invii.id_appartamento,
        data_arrivo: invii.data_arrivo,
        permanenza: invii.permanenza,
        scadenza: isoInstant(invii.scadenza),
        creato_il: isoInstant(invii.creato_il),
        aggiornato_il: isoInstant(invii.aggiornato_il)
      },
      invio_id: schedine.invio_id,
      indice: schedine.indice,
      riga: schedine.riga,
      esito: schedine.esito,
      codice_errore: schedine.codice_errore,
      messaggio_soap: schedine.messaggio_soap,
      dettaglio: schedine.dettaglio
    })
    .from(schedine).innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(eq(schedine.prenotazione_id, booking)).orderBy(asc(invii.id), asc(schedine.indice))
  return [...Map.groupBy(rows, ({ invio_id }) => invio_id).values()].map((own) => ({
    ...own[0]!.invio,
    schedine: own.map(({ invio: _, invio_id: id, riga, ...row }) =>
      ({ ...row, schedina: riga && readLine(unsealLine(keys, id, row.indice, riga)) }))
  }))
}

function readLine (line: string) {
  const decoded = decode(line)
  return 'record' in decoded ? decoded.record : line
}

/** The days on which guests of a booking were acquired, and for which a receipt is stored. */
async function receiptDays (db: Executor, booking: number): Promise<{ giorno: Day, fino_a: Day }[]> {
  return await db.execute<{ giorno: Day, fino_a: Day }>(sql`
    select distinct r.giorno::text as giorno,
      (r.giorno + make_interval(years => ${RECEIPT_YEARS}))::date::text as fino_a
    from invii_schedine s
    join invii i on i.id = s.invio_id
    join invii_tentativi t on t.invio_id = i.id
    join invii_esiti e on e.invio_id = t.invio_id and e.numero = t.numero and e.esito = 'K'
    join ricevute r on r.utente = i.utente and r.giorno between t.giorno_da and t.giorno_a
    where s.prenotazione_id = ${booking} and s.esito = 'acquisita'
    order by giorno`)
}

/**
 * Erases encrypted records of submissions `days` days after their end: the law requires transmitted data to be
 * destroyed after the receipt has arrived. Fingerprints, outcomes, receipts and history stay. The records are kept
 * while a person may have to decide on a row, unless the submission was given up. After a partial acquisition they are
 * also kept while a receipt can contradict it.
 */
export async function eraseRecords (db: Database, days: number): Promise<{ submissions: number, rows: number }> {
  const hasRecords = exists(db.select({ one: sql`1` }).from(schedine)
    .where(and(eq(schedine.invio_id, invii.id), isNotNull(schedine.riga))))
  return db.transaction(async (tx) => {
    const ended = await tx.select({ id: invii.id }).from(invii)
      .where(and(lt(erasableFrom(db, days), sql`now()`), hasRecords))
      .orderBy(invii.id).for('update', { skipLocked: true })
    const kept = and(isOneOf(schedine.invio_id, ended.map(({ id }) => id)), isNotNull(schedine.riga))
    // The trigger allows the erasure of a record only after this insert.
    const erased = await tx.insert(erasures)
      .select(
        tx
          .select({
            invio_id: schedine.invio_id,
            righe: sql<number>`count(*)::int`.as('righe'),
            quando: sql<string>`now()`.as('quando')
          })
          .from(schedine)
          .where(kept)
          .groupBy(schedine.invio_id)
      )
      .returning({ righe: erasures.righe })
    await tx.update(schedine).set({ riga: null }).where(kept)
    return { submissions: erased.length, rows: erased.reduce((sum, { righe }) => sum + righe, 0) }
  })
}

/** The instant from which the records of the submission may be erased. Null while an outcome is open. */
function erasableFrom (db: Executor, days: number): SQL<string | null> {
  const unresolved = db.select({ one: sql`1` }).from(schedine)
    .where(and(eq(schedine.invio_id, invii.id), inArray(schedine.esito, UNRESOLVED_ROW_OUTCOMES)))
  const isOver = and(inArray(invii.stato, ERASABLE_STATES), or(eq(invii.stato, 'annullato'), notExists(unresolved)))
  const inPart = Math.max(days, RECEIPT_WINDOW_DAYS + 1)
  return sql`case when ${isOver} then ${invii.aggiornato_il} +
    case when ${invii.stato} = 'parziale' then ${inPart}::int else ${days}::int end * interval '1 day' end`
}

/**
 * Refuses to delete bookings with a guest in an unfinished submission.
 * @throws InvioInCorso, which names the bookings
 */
export async function refuseWhileUnfinished (tx: Transaction, bookingIds: readonly number[]): Promise<void> {
  const unfinished = await tx.selectDistinct({ id: schedine.prenotazione_id }).from(schedine)
    .innerJoin(invii, eq(invii.id, schedine.invio_id))
    .where(and(inArray(schedine.prenotazione_id, [...bookingIds]), inArray(invii.stato, UNFINISHED_STATES)))
    .orderBy(schedine.prenotazione_id)
  if (unfinished.length > 0) throw new InvioInCorso(unfinished.map(({ id }) => id).join(', '))
}
