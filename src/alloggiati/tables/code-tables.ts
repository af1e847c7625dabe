import { createHash } from 'node:crypto'
// The package's main module would load all 79 languages.
import countries from 'i18n-iso-countries/index.js'
import { bundledProvinces } from './bundled.ts'
import { comuneLabel, provinceLabel, stateLabel } from './labels.ts'
import { otherNames, type OtherNames } from './other-names.ts'
import { codeList, entryOf, type CodeList, type Entry } from './search-codes.ts'
import { searchKey } from '#src/lib/search-key.ts'
import type { Day } from '#src/lib/time.ts'
import { inForce, type Codice, type Comune, type Provincia, type Stato, type TablesData } from './types.ts'

interface Lists {
  tipi_documento: Codice
  paesi: Stato
  comuni: Comune
  province: Provincia
  tipi_alloggiato: Codice
}

export interface Tables {
  /** SHA-256 (hex) of the content. */
  readonly version: string
  comune (codice: string): Comune | undefined
  /** The comuni whose code ends with these six digits, which do not always match the ISTAT code. */
  comuniByShortCode (sixDigits: string): readonly Comune[]
  stato (codice: string): Stato | undefined
  documento (codice: string): Codice | undefined
  provincia (sigla: string): Provincia | undefined
  /** At most `limit` rows of a list that match `query`, best match first. Without a query, all rows match. */
  search<K extends keyof Lists> (list: K, query?: string, limit?: number): readonly Lists[K][]
  /** The rows whose name or code the text spells, such as `Bozen`, `DE` or `carta d'identità`. */
  named<K extends keyof Lists> (list: K, text: string): readonly Lists[K][]
  /** Builds the indexes of all lists in slices. Otherwise the first search builds them. */
  prepare (): Promise<void>
  /** Whether a comune had this province sign on `day`, or at any time without `day`. Ignores the sign in its row. */
  hadSign (comune: Comune, sign: string, day?: Day): boolean
}

/** Builds the look-ups for `data`. Short codes, search keys and the version are built on first use. */
export function createTables (data: TablesData): Tables {
  const comuni = byCode(data.comuni)
  const stati = byCode(data.stati)
  const documenti = byCode(data.documenti)
  const province = byCode(provincesOf(data.comuni))
  const shortCodes = once(() => Map.groupBy(data.comuni, ({ codice }) => codice.slice(3)))
  const version = once(() => versionOf(data))
  const other = once(otherNames)
  const lists: { [K in keyof Lists]: CodeList<Lists[K]> } = {
    tipi_documento: codeList(data.documenti, (row) => (
      entryOf(row, false, [row.descrizione, ...other().documento(row.codice)], [row.codice]))),
    paesi: codeList(data.stati, (row) => stateEntry(row, other())),
    comuni: codeList(data.comuni, (row) => comuneEntry(row, other(), province)),
    province: codeList([...province.values()], (row) => provinceEntry(row, other(), data.comuni)),
    tipi_alloggiato: codeList(data.tipi_alloggiato, (row) => entryOf(row, false, [row.descrizione], [row.codice]))
  }

  return {
    get version () { return version() },
    comune: (codice) => comuni.get(codice),
    comuniByShortCode: (sixDigits) => shortCodes().get(sixDigits) ?? [],
    stato: (codice) => stati.get(codice),
    documento: (codice) => documenti.get(codice),
    provincia: (sigla) => province.get(sigla),
    search: (list, query = '', limit = Infinity) => {
      const found = query.trim() === '' ? lists[list].rows : lists[list].search(query)
      return found.length > limit ? found.slice(0, limit) : found
    },
    named: (list, text) => lists[list].named(text),
    prepare: async () => {
      for (const list of Object.values(lists)) await list.prepare()
    },
    hadSign: (comune, sign, day) =>
      other().signs.some(({ sign: each, from, until, comuni }) => (
        each === sign && comuni.has(comune.codice) && (day === undefined || (from <= day && day <= until)))) ||
      lists.comuni.named(comune.descrizione).some((each) => (
        each.provincia === sign && each.cessato_il !== null && regionOf(each) === regionOf(comune) &&
        (day === undefined || inForce(each, day))))
  }
}

function regionOf ({ codice }: Comune): string {
  return codice.slice(0, 3)
}

function byCode<T extends Codice> (rows: readonly T[]): Map<string, T> {
  return new Map(rows.map((row) => [row.codice, row]))
}

/** The provinces of the comuni. A new province without a known name is shown by its abbreviation. */
function provincesOf (comuni: readonly Comune[]): Provincia[] {
  const names = bundledProvinces()
  const active = new Map<string, boolean>()
  for (const { provincia, cessato_il: ceased } of comuni) {
    active.set(provincia, active.get(provincia) === true || ceased === null)
  }
  return [...active.keys()].sort().map((codice) => (
    { codice, descrizione: names.get(codice) ?? codice, cessata: active.get(codice) === false }))
}

/** Searches also find a comune by other names, province and ISTAT codes. A province sign finds the capital. */
function comuneEntry (row: Comune, other: OtherNames, provinces: ReadonlyMap<string, Provincia>): Entry<Comune> {
  const { codice, descrizione, provincia, cessato_il: end } = row
  const names = [descrizione, ...other.comune(codice).flatMap((name) => [name, `${descrizione} ${name}`])]
  const isCapital = end === null && searchKey(provinces.get(provincia)!.descrizione) === searchKey(descrizione)
  const signs = [provincia, ...other.signs.filter(({ comuni }) => comuni.has(codice)).map(({ sign }) => sign)]
  return entryOf(
    row,
    end !== null,
    [...names, ...[...new Set(signs)].flatMap((sign) => names.map((name) => `${name} ${sign}`)),
      ...end === null ? [] : [comuneLabel(row)]],
    [codice, codice.slice(3), ...other.istat(codice), ...isCapital ? [provincia] : []]
  )
}

/** Searches also find a province by the names of its capital, and by former signs of its comuni. */
function provinceEntry (row: Provincia, other: OtherNames, comuni: readonly Comune[]): Entry<Provincia> {
  const own = comuni.filter(({ provincia }) => provincia === row.codice)
  const capital = own.find(({ descrizione, cessato_il: end }) => (
    end === null && searchKey(descrizione) === searchKey(row.descrizione)))
  const past = other.signs.filter(({ sign, comuni: had }) => (
    sign !== row.codice && own.filter(({ codice }) => had.has(codice)).length > had.size / 2))
  return entryOf(
    row,
    row.cessata,
    [row.descrizione, provinceLabel(row), ...capital === undefined ? [] : other.comune(capital.codice),
      ...past.flatMap(({ sign }) => FORMER_PROVINCES[sign] ?? [])],
    [row.codice, ...past.map(({ sign }) => sign)]
  )
}

/** Searches also find states by ISO codes and other names. */
function stateEntry (row: Stato, other: OtherNames): Entry<Stato> {
  const { codice, descrizione, iso2, iso3, altri_nomi: names, cessato_il: end } = row
  const codes = [codice, iso2, iso3, iso2 && countries.alpha2ToNumeric(iso2)].filter((code) => code != null)
  return entryOf(row, end !== null, [descrizione, ...names, ...other.stato(iso2), stateLabel(row)], codes)
}

/** Provinces of Sardinia that the service's tables do not have. */
const FORMER_PROVINCES: Readonly<Record<string, readonly string[]>> = {
  CI: ['Carbonia-Iglesias', 'Sulcis Iglesiente'],
  OG: ['Ogliastra'],
  OT: ['Olbia-Tempio', 'Gallura Nord-Est Sardegna'],
  SU: ['Sud Sardegna'],
  VS: ['Medio Campidano']
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
