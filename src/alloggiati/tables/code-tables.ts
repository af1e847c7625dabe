import { createHash } from 'node:crypto'
// The package's main module would load the names in all 79 languages.
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
  /** SHA-256 (hex) of the content: the same rows have the same version, wherever they come from. */
  readonly version: string
  comune (codice: string): Comune | undefined
  /**
   * The comuni whose code ends with these six digits. Looked up, never computed: ISTAT codes and these do not always
   * agree.
   */
  comuniByShortCode (sixDigits: string): readonly Comune[]
  stato (codice: string): Stato | undefined
  documento (codice: string): Codice | undefined
  provincia (sigla: string): Provincia | undefined
  /** All rows of a list, or those that match `query`, best first, at most `limit`. */
  search<K extends keyof Lists> (list: K, query?: string, limit?: number): readonly Lists[K][]
}

/**
 * Builds the look-ups over `data`. What few callers need (short codes, search keys, the version) is built at first use.
 */
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

/** The signs that the comuni carry; a sign without a name here (a new province) is shown as it is. */
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

/** A state is found by its ISO codes and by what people call it, too. */
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
