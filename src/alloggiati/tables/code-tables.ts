import { createHash } from 'node:crypto'
// The package's main module would load all 79 languages.
import countries from 'i18n-iso-countries/index.js'
import { bundledProvinces } from './bundled.ts'
import { search, searchKey, type Entry } from './search-codes.ts'
import type { Codice, Comune, Provincia, Stato, TablesData } from './types.ts'

interface Lists {
  tipi_documento: Codice
  paesi: Stato
  comuni: Comune
  province: Provincia
  tipi_alloggiato: Codice
}

export interface Tables {
  /** SHA-256 (hex) of the content, whatever its source. */
  readonly version: string
  comune (codice: string): Comune | undefined
  /**
   * The comuni whose code ends with these six digits. Looked up, because the digits do not always match the ISTAT code.
   */
  comuniByShortCode (sixDigits: string): readonly Comune[]
  stato (codice: string): Stato | undefined
  documento (codice: string): Codice | undefined
  provincia (sigla: string): Provincia | undefined
  /** The rows of a list that match `query` (all by default), best first, at most `limit`. */
  search<K extends keyof Lists> (list: K, query?: string, limit?: number): readonly Lists[K][]
}

/** Builds the look-ups over `data`. Short codes, search keys and the version are built on first use. */
export function createTables (data: TablesData): Tables {
  const comuni = byCode(data.comuni)
  const stati = byCode(data.stati)
  const documenti = byCode(data.documenti)
  const province = byCode(provincesOf(data.comuni))
  const shortCodes = once(() => Map.groupBy(data.comuni, ({ codice }) => codice.slice(3)))
  const version = once(() => versionOf(data))
  const lists: { [K in keyof Lists]: readonly Lists[K][] } = {
    tipi_documento: data.documenti,
    paesi: data.stati,
    comuni: data.comuni,
    province: [...province.values()],
    tipi_alloggiato: data.tipi_alloggiato
  }
  const entries: { [K in keyof Lists]: () => Entry<Lists[K]>[] } = {
    tipi_documento: once(() => lists.tipi_documento.map((row) => entry(row, false))),
    paesi: once(() => lists.paesi.map(stateEntry)),
    comuni: once(() => lists.comuni.map((row) => entry(row, row.cessato_il !== null, row.provincia))),
    province: once(() => lists.province.map((row) => entry(row, row.cessata))),
    tipi_alloggiato: once(() => lists.tipi_alloggiato.map((row) => entry(row, false)))
  }

  return {
    get version () { return version() },
    comune: (codice) => comuni.get(codice),
    comuniByShortCode: (sixDigits) => shortCodes().get(sixDigits) ?? [],
    stato: (codice) => stati.get(codice),
    documento: (codice) => documenti.get(codice),
    provincia: (sigla) => province.get(sigla),
    search: (list, query = '', limit = Infinity) => {
      const found = query.trim() === '' ? lists[list] : search(entries[list](), query)
      return found.length > limit ? found.slice(0, limit) : found
    }
  }
}

function byCode<T extends Codice> (rows: readonly T[]): Map<string, T> {
  return new Map(rows.map((row) => [row.codice, row]))
}

/** The provinces of the comuni. A new one without a name here is shown by its abbreviation. */
function provincesOf (comuni: readonly Comune[]): Provincia[] {
  const names = bundledProvinces()
  const active = new Map<string, boolean>()
  for (const { provincia, cessato_il: ceased } of comuni) {
    active.set(provincia, active.get(provincia) === true || ceased === null)
  }
  return [...active.keys()].sort().map((codice) => (
    { codice, descrizione: names.get(codice) ?? codice, cessata: active.get(codice) === false }))
}

function entry<T extends Codice> (row: T, ceased: boolean, provincia?: string): Entry<T> {
  const name = searchKey(row.descrizione)
  return { row, name, text: provincia === undefined ? name : `${name} ${provincia}`, code: row.codice, ceased }
}

/** States are also found by ISO codes and alternative names. */
function stateEntry (row: Stato): Entry<Stato> {
  const { iso2, iso3, altri_nomi: names, cessato_il: ceased } = row
  const codes = [iso2, iso3, iso2 && countries.alpha2ToNumeric(iso2)].filter((code) => code != null)
  return { ...entry(row, ceased !== null), aliases: names.map(searchKey), codes }
}

function versionOf ({ comuni, stati, documenti, tipi_alloggiato }: TablesData): string {
  const places = [...comuni, ...stati].map((row) =>
    [row.codice, row.descrizione, 'provincia' in row ? row.provincia : null, row.cessato_il])
  const codes = [documenti, tipi_alloggiato].map((rows) => rows.map((row) => [row.codice, row.descrizione]))
  return createHash('sha256').update(JSON.stringify([places, codes])).digest('hex')
}

function once<T> (build: () => T): () => T {
  let built: { value: T } | undefined
  return () => (built ??= { value: build() }).value
}
