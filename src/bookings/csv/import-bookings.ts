import { inArray, sql } from 'drizzle-orm'
import { prenotazioni as t } from '#drizzle/tables/bookings.ts'
import {
  IMPORT_LISTED_MAX, IMPORT_ROWS_MAX, type Duplicate, type ImportError, type ImportQuery, type ImportResponse
} from '#schemas/booking-csv.ts'
import type { FieldError } from '#schemas/common.ts'
import type { Database, Transaction } from '#src/database/connect.ts'
import { LOCKS } from '#src/database/locks.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { CampiNonValidi } from '#src/lib/errors.ts'
import { CsvFault, readCsv, type CsvTable } from '#src/lib/read-csv.ts'
import { searchKey } from '#src/lib/search-key.ts'
import { UnitaOccupata } from '../errors.ts'
import { bookingValues } from '../repository.ts'
import { occupying } from '../units/overlap.ts'
import { listUnits } from '../units/unit-repository.ts'
import { isOfGuests, recognize, type Columns } from './csv-columns.ts'
import { inFile, readLine, type ReadLine, type Validator } from './read-line.ts'

/**
 * Bookings per statement. When PostgreSQL refuses a batch, the import repeats it in parts, and a refused part booking
 * by booking. Each statement takes longer than the one before, because it writes the same row of the counts.
 */
const BATCH = 250
const PART = 16
const COLUMNS_MAX = 100

interface Order extends ImportQuery {
  file: Buffer
  isValid: Validator
  /** Writes further rows in the transaction of the import. */
  noteDone (tx: Transaction): Promise<void>
}

/** Rolls back a dry run, or an import with errors. */
class RolledBack extends Error {}

/**
 * Imports the bookings of a CSV file in one transaction: all of them, or none. A dry run does the same, and rolls back.
 * The import skips and reports a line whose code a stored booking or an earlier line has.
 * @throws CampiNonValidi for a file that is not CSV, or is too large, and without `prova` for wrong lines
 */
export async function importBookings (db: Database, order: Order): Promise<ImportResponse> {
  const { prova = true } = order
  const table = tableOf(order.file)
  const columns = recognize(table.names)
  const errors = missingColumns(columns, order)
  const lines = errors.length > 0 ? [] : await readLines(db, table, columns, order)
  errors.push(...lines.flatMap((line) => line.errors))
  let added: ReadLine[] = []
  let duplicates: Duplicate[] = []
  await db.transaction(async (tx) => {
    duplicates = await findDuplicates(tx, lines)
    const isKnown = new Set(duplicates.map(({ riga }) => riga))
    added = lines.filter((line) => line.errors.length === 0 && !isKnown.has(line.riga))
    errors.push(...await insertAll(tx, added, columns))
    if (prova || errors.length > 0) throw new RolledBack()
    await order.noteDone(tx)
  }).catch((err: unknown) => {
    if (!(err instanceof RolledBack)) throw err
  })
  errors.sort((one, other) => one.riga - other.riga)
  if (!prova && errors.length > 0) {
    throw new CampiNonValidi(...errors.slice(0, IMPORT_LISTED_MAX).map(({ riga, colonna, campo, ...error }) =>
      ({ campo: `riga ${riga}, ${colonna ?? campo}`, ...error })))
  }
  const wrong = new Set(errors.map(({ riga }) => riga))
  const importate = added.filter(({ riga }) => !wrong.has(riga)).length
  return {
    success: errors.length === 0,
    message: messageOf(prova, importate, wrong.size) + guestsLeftOut(columns),
    prova,
    righe: table.rows.length,
    importate,
    totale_errori: errors.length,
    totale_doppioni: duplicates.length,
    errori: errors.slice(0, IMPORT_LISTED_MAX),
    doppioni: duplicates.slice(0, IMPORT_LISTED_MAX),
    colonne: Object.entries(columns.of).map(([campo, colonna]) => ({ colonna, campo })),
    colonne_ignorate: columns.ignored
  }
}

function messageOf (prova: boolean, count: number, wrong: number): string {
  const verb = prova ? ['sarebbe importata', 'sarebbero importate'] as const : ['importata', 'importate'] as const
  const imported = countWithNoun(count, `prenotazione ${verb[0]}`, `prenotazioni ${verb[1]}`)
  return wrong === 0 ? imported : `${imported}, ${countWithNoun(wrong, 'riga sbagliata', 'righe sbagliate')}`
}

function guestsLeftOut ({ ignored }: Columns): string {
  const names = ignored.filter(isOfGuests)
  return names.length === 0
    ? ''
    : `. I dati degli ospiti non si importano (${names.join(', ')}): inserirli nella prenotazione`
}

/** @throws CampiNonValidi */
function tableOf (file: Buffer): CsvTable {
  const fault = (messaggio: string) => new CampiNonValidi({ campo: 'file', messaggio })
  const check = (what: 'rows' | 'columns', count: number) => {
    if (what === 'rows' && count > IMPORT_ROWS_MAX) throw fault(`ha più di ${IMPORT_ROWS_MAX} righe`)
    if (what === 'columns' && count > COLUMNS_MAX) throw fault(`ha più di ${COLUMNS_MAX} colonne`)
  }
  try {
    const table = readCsv(file, { rowsMax: IMPORT_ROWS_MAX, check })
    // Such an export has a line for each guest, so that each guest would become a booking.
    if (table.names.some((name) => name.startsWith('ospite_'))) {
      throw fault('ha una riga per ospite, e gli ospiti non si importano: usare un’esportazione senza «ospiti=true»')
    }
    return table
  } catch (err) {
    if (!(err instanceof CsvFault)) throw err
    const { place, message } = err
    throw fault(place === undefined ? message : `riga ${place.riga}, colonna ${place.colonna}: ${message}`)
  }
}

/** The errors for required columns that the file lacks. They name the header line. */
function missingColumns (columns: Columns, { paese_id }: ImportQuery): ImportError[] {
  const { of } = columns
  const lacks = (messaggio: string, campo: string): FieldError => ({ campo, messaggio })
  return [
    ...of.nome_cognome ?? of.nome ?? of.cognome ? [] : [lacks('manca la colonna dell’ospite', 'nome_cognome')],
    ...of.check_in ? [] : [lacks('manca la colonna dell’arrivo', 'check_in')],
    ...of.check_out ?? of.numero_notti ? [] : [lacks('manca la colonna della partenza o delle notti', 'check_out')],
    ...of.numero_ospiti ?? of.adulti ? [] : [lacks('manca la colonna del numero di ospiti', 'numero_ospiti')],
    ...of.paese_id ?? paese_id ? [] : [lacks('manca la colonna del paese, o paese_id', 'paese_id')]
  ].map((error) => inFile(error, 1, columns))
}

async function readLines (
  db: Database, { rows, lines }: CsvTable, columns: Columns, { paese_id, lingua, isValid }: Order
): Promise<ReadLine[]> {
  const units = new Map((await listUnits(db)).map(({ id, nome }) => [searchKey(nome), id]))
  return rows.map((row, at) => readLine(row, lines[at]!, { columns, units, isValid, paese_id, lingua }))
}

/** The lines with the code of a stored booking, or of an earlier line. The lock makes another import wait. */
async function findDuplicates (tx: Transaction, lines: readonly ReadLine[]): Promise<Duplicate[]> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.bookingImports})`)
  const codes = lines.flatMap(({ booking: { idf_gen: code } }) => typeof code === 'string' ? code : [])
  const stored = codes.length === 0
    ? []
    : await tx.select({ id: t.id, code: t.idf_gen }).from(t).where(inArray(t.idf_gen, codes))
  const owners = new Map<string, number | null>(stored.map(({ id, code }) => [code!, id]))
  return lines.flatMap(({ riga, booking: { idf_gen: code } }) => {
    if (typeof code !== 'string') return []
    const owner = owners.get(code)
    if (owner === undefined) owners.set(code, null)
    return owner === undefined ? [] : { riga, codice: code, prenotazione_id: owner }
  })
}

/** Inserts the bookings of lines. A line whose unit is occupied or not in use becomes an error. */
async function insertAll (tx: Transaction, lines: readonly ReadLine[], columns: Columns): Promise<ImportError[]> {
  const errors: ImportError[] = []
  /** The line of each inserted booking, by id. */
  const made = new Map<number, number>()
  await insertBy(BATCH, lines)
  return errors

  async function insertBy (size: number, some: readonly ReadLine[]): Promise<void> {
    for (let at = 0; at < some.length; at += size) await insert(some.slice(at, at + size))
  }

  async function insert (batch: readonly ReadLine[]): Promise<void> {
    try {
      const values = batch.map(({ booking }) => bookingValues(booking))
      const created = await occupying(() => tx.transaction((savepoint) =>
        savepoint.insert(t).values(values).returning({ id: t.id })))
      for (const [at, { id }] of created.entries()) made.set(id, batch[at]!.riga)
    } catch (err) {
      if (!(err instanceof UnitaOccupata || err instanceof CampiNonValidi)) throw err
      if (batch.length > 1) await insertBy(batch.length > PART ? PART : 1, batch)
      else errors.push(inFile({ campo: 'unita_id', messaggio: wordsOf(err) }, batch[0]!.riga, columns))
    }
  }

  function wordsOf (err: Error): string {
    if (err instanceof CampiNonValidi) return err.dettagli[0]!.messaggio
    return err.message.replace(/dalla prenotazione (\d+)$/, (all, id: string) => {
      const riga = made.get(Number(id))
      return riga === undefined ? all : `dalla riga ${riga}`
    })
  }
}
