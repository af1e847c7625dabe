import { asc, eq, sql } from 'drizzle-orm'
import { invii, invii_schedine as schedine } from '#drizzle/tables/ledger.ts'
import type { HeldData } from '#schemas/privacy.ts'
import type { State } from '#schemas/submission.ts'
import { jsonFile, type Holding } from '#src/bookings/index.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { dayInRome, type Day } from '#src/lib/time.ts'
import { isoInstant } from '#src/database/columns.ts'
import type { Executor } from '#src/database/connect.ts'
import { decode } from '../codec/codec.ts'
import { erasableFrom } from './erasure.ts'
import { unsealLine } from './rows.ts'

/** The law wants receipts kept so long. */
const RECEIPT_YEARS = 5

const LEGAL = { ospite: null, lato: null, per_legge: true, stato: 'prova_di_legge' } satisfies Partial<HeldData>
const WITHOUT =
  'esiti, impronte e storia, senza nomi né documenti, tranne quelli che una persona abbia scritto in un motivo'
const HISTORY = `Prova della comunicazione alla Polizia (art. 109 TULPS): ${WITHOUT}`
/** Of submissions by which the police got nothing, as far as is known. */
const VOID_HISTORY = `Storia di un invio alla Polizia che non è partito o è stato annullato: ${WITHOUT}`
const SENT = 'Dati trasmessi alla Polizia'
/** What else the records are, by the state of their submission. */
const RECORDS: Partial<Record<State, string>> = {
  pronto: 'Dati da trasmettere alla Polizia',
  preso: 'Dati da trasmettere alla Polizia',
  non_inviato: 'Dati di un invio alla Polizia che non è partito',
  annullato: 'Dati di un invio alla Polizia annullato'
}
const ERASED_LATER = 'si cancellano a un termine dalla fine dell’invio'
const UNDECIDED = 'servono finché l’invio non è concluso e provato'
const RECEIPT = `La legge vuole la ricevuta conservata almeno ${RECEIPT_YEARS} anni: solo totali del giorno, senza nomi`

/** What the ledger holds of a booking, as long as the law wants it, also when the booking is gone. */
export function ledgerHolding ({ keys, eraseAfterDays }: { keys: Keys, eraseAfterDays: number }): Holding {
  async function describe (db: Executor, booking: number): Promise<HeldData[]> {
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

  return {
    describe,
    async files (db, booking) {
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
      const submissions = Map.groupBy(rows, ({ invio_id }) => invio_id).values()
      return [jsonFile('invii.json', [...submissions].map((own) => ({
        ...own[0]!.invio,
        schedine: own.map(({ invio: _, invio_id: id, riga, ...row }) =>
          ({ ...row, schedina: readLine(id, row.indice, riga) }))
      })))]
    }
  }

  /** The record as it was sent; null once it is erased. */
  function readLine (id: number, indice: number, riga: Buffer | null) {
    if (riga === null) return null
    const line = unsealLine(keys, id, indice, riga)
    const decoded = decode(line)
    return 'record' in decoded ? decoded.record : line
  }
}

/** The days whose receipts are kept, on which guests of a booking were acquired. */
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
