import type { Static } from '@sinclair/typebox'
import type { Apartment } from '#schemas/apartment.ts'
import { countWithNoun } from '#src/lib/count-with-noun.ts'
import { isDay, type Day } from '#src/lib/time.ts'
import { bundledStates } from './bundled.ts'
import { ITALY, type Codice, type Comune, type Stato, type TablesData } from './types.ts'

/** The code tables of the service's `Tabella` operation, by their names in the protocol. */
export const TIPI_TABELLA = ['Luoghi', 'Tipi_Documento', 'Tipi_Alloggiato'] as const
export type TipoTabella = typeof TIPI_TABELLA[number] | 'ListaAppartamenti'

/** The code tables as CSV. */
export type Csvs = Readonly<Partial<Record<typeof TIPI_TABELLA[number], string>>>

/** An invalid download of a table. The message names table, row and reason, without texts of the service. */
export class TabellaError extends Error {
  readonly tipo: TipoTabella
  constructor (tipo: TipoTabella, reason: string) {
    super(`Tabella ${tipo} non accettata: ${reason}`)
    this.name = 'TabellaError'
    this.tipo = tipo
  }
}

/**
 * Checks of a download. `header` is the start of the first row, from the WS manual (p. 18) for apartments and from the
 * live service for the other tables. `minRows` rejects an empty or truncated download. For places and documents it is
 * below the bundled row count (11 294 comuni, 236 states, 95 documents), because these tables may shrink.
 */
const EXPECTED: Record<TipoTabella, { header: string, code: RegExp, minRows: number }> = {
  Luoghi: { header: 'Codice;Descrizione;Provincia;DataFineVal', code: /^[14]\d{8}$/, minRows: 10_000 },
  Tipi_Documento: { header: 'Codice;Descrizione', code: /^[A-Z0-9]{5}$/, minRows: 60 },
  Tipi_Alloggiato: { header: 'Codice;Descrizione', code: /^\d{2}$/, minRows: 5 },
  ListaAppartamenti: { header: 'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario', code: /^\d{1,6}$/, minRows: 0 }
}
const MIN_STATES = 200
const ESTERO = 'ES'
/** The row number of the first record, after the header. */
const FIRST_ROW = 2

/**
 * Parses the CSVs of the service's `Tabella` operation: `;` between fields, LF or CRLF between rows, a header row.
 * @throws TabellaError for a missing table, an unexpected header, too few rows, or an invalid row
 */
export function parseTabelle (csvs: Csvs): TablesData {
  return {
    ...parseLuoghi(csvs.Luoghi ?? ''),
    documenti: codes('Tipi_Documento', csvs.Tipi_Documento ?? ''),
    tipi_alloggiato: codes('Tipi_Alloggiato', csvs.Tipi_Alloggiato ?? '')
  }
}

function parseLuoghi (csv: string): Pick<TablesData, 'comuni' | 'stati'> {
  const known = new Map(bundledStates().map((state) => [state.codice, state]))
  const comuni: Comune[] = []
  const stati: Stato[] = []
  for (const [at, record] of records('Luoghi', csv).entries()) {
    const [codice = '', descrizione = '', provincia = '', dataFine = ''] = record
    const row = at + FIRST_ROW
    const place = { codice, descrizione, cessato_il: endOfValidity(dataFine, row) }
    if (!/^[A-Z]{2}$/.test(provincia) || (provincia === ESTERO) !== codice.startsWith('1')) {
      throw new TabellaError('Luoghi', `riga ${row}: la provincia non corrisponde al codice`)
    }
    if (provincia === ESTERO) stati.push({ iso2: null, iso3: null, altri_nomi: [], ...known.get(codice), ...place })
    else comuni.push({ ...place, provincia })
  }
  if (stati.length < MIN_STATES) {
    throw new TabellaError('Luoghi', `solo ${countWithNoun(stati.length, 'stato', 'stati')}`)
  }
  if (!stati.some(({ codice }) => codice === ITALY)) throw new TabellaError('Luoghi', `manca l’Italia (${ITALY})`)
  return { comuni: byName(comuni), stati: byName(stati) }
}

function codes (tipo: TipoTabella, csv: string): Codice[] {
  return records(tipo, csv).map(([codice = '', descrizione = '']) => ({ codice, descrizione }))
}

/**
 * Parses the table of apartments. The table is empty for an account without apartments.
 * @throws TabellaError
 */
export function parseApartments (csv: string): Static<typeof Apartment>[] {
  if (csv.trim() === '') return []
  return records('ListaAppartamenti', csv).map(
    ([id, descrizione = '', comune = '', provincia = '', indirizzo = '', proprietario = '']) => ({
      id: Number(id),
      descrizione,
      comune,
      provincia,
      indirizzo,
      proprietario
    })
  )
}

/** The data rows of a CSV as trimmed fields, checked against `EXPECTED`. */
function records (tipo: TipoTabella, csv: string): string[][] {
  const expected = EXPECTED[tipo]
  const [header = [], ...rows] = csv.replace(/^\uFEFF/, '').split(/\r?\n/).filter((line) => line.trim() !== '')
    .map((line) => line.split(';').map((field) => field.replace(/\s+/g, ' ').trim()))
  if (header.length < 2 || !header.join(';').toLowerCase().startsWith(expected.header.toLowerCase())) {
    throw new TabellaError(tipo, `intestazione sconosciuta di ${countWithNoun(header.length, 'campo', 'campi')}`)
  }
  if (rows.length < expected.minRows) {
    const found = countWithNoun(rows.length, 'riga', 'righe')
    throw new TabellaError(tipo, `solo ${found}, attese almeno ${expected.minRows}`)
  }
  const seen = new Set<string>()
  rows.forEach((row, index) => {
    const [code = '', description = ''] = row
    const refuse = (reason: string) => { throw new TabellaError(tipo, `riga ${index + FIRST_ROW}: ${reason}`) }
    // A `;` in a host's apartment text may add fields after the id. In other tables it means a damaged row.
    if (row.length < header.length || (row.length > header.length && tipo !== 'ListaAppartamenti')) {
      refuse(countWithNoun(row.length, 'campo', 'campi'))
    }
    if (!expected.code.test(code)) refuse('codice non valido')
    if (description === '') refuse('descrizione vuota')
    if (seen.has(code)) refuse('codice ripetuto')
    seen.add(code)
  })
  return rows
}

/** `DataFineVal` (`gg/mm/aaaa hh:mm:ss`, or empty) as a day. */
function endOfValidity (text: string, row: number): Day | null {
  if (text === '') return null
  const match = /^(\d{2})\/(\d{2})\/(\d{4})(?: \d{2}:\d{2}:\d{2})?$/.exec(text)
  const day = match ? `${match[3]}-${match[2]}-${match[1]}` : ''
  if (!isDay(day)) throw new TabellaError('Luoghi', `riga ${row}: data di fine non valida`)
  return day
}

function byName<T extends Codice> (rows: T[]): T[] {
  return rows.sort((a, b) => a.descrizione === b.descrizione ? 0 : a.descrizione < b.descrizione ? -1 : 1)
}
