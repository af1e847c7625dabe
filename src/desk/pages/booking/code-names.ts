import type { Codice, Codici } from '#schemas/codici.ts'
import type { Desk } from '../desk-page.ts'
import type { Option, Values } from '../field-types.ts'

type List = keyof Codici

const CODES = '/api/alloggiati/codici'
/** More than the number of states or document types. A search finds the comuni. */
const LISTED = 300
const FOUND = 50
const TYPED_MAX = 100

/** The fields that have a code, with the lists of their codes. The type of document is chosen from its list. */
const LISTS: ReadonlyMap<string, readonly List[]> = new Map(Object.entries({
  stato_nascita: ['paesi'],
  cittadinanza: ['paesi'],
  comune_nascita: ['comuni'],
  luogo_rilascio: ['comuni', 'paesi']
}))

/** The codes of the police with their names. */
export interface CodeNames {
  states: readonly Option[]
  documents: readonly Option[]
  /** The name of a code, or the text itself. */
  nameOf: (text: string) => string
}

/** The code tables, and the names of the comuni among these texts. */
export async function codeNames (desk: Desk, texts: Iterable<string | null | undefined>): Promise<CodeNames> {
  const { paesi, tipi_documento: documents } = await search(desk, `limit=${LISTED}`)
  const names = new Map([...paesi, ...documents].map(({ codice, descrizione }) => [codice, descrizione]))
  const codes = new Set([...texts].filter((text): text is string => /^\d{9}$/.test(text ?? '')))
  for (const code of codes) {
    if (names.has(code)) continue
    const { comuni } = await search(desk, `limit=${FOUND}&q=${code}`)
    for (const { codice, descrizione } of comuni) names.set(codice, descrizione)
  }
  return {
    states: optionsOf(paesi),
    documents: optionsOf(commonFirst(documents)),
    nameOf: (text) => names.get(text) ?? text
  }
}

const COMMON = ['IDENT', 'IDELE', 'PASOR', 'PATEN']

function commonFirst (documents: readonly Codice[]): Codice[] {
  const isCommon = ({ codice }: Codice) => COMMON.includes(codice)
  return [...documents.filter(isCommon), ...documents.filter((each) => !isCommon(each))]
}

/** The places that a typed text finds, for the field with this name. */
export async function searchPlaces (desk: Desk, field: string, text: string): Promise<Option[]> {
  const lists = LISTS.get(fieldOf(field))
  if (lists === undefined || text.trim() === '') return []
  const found = await search(desk, `limit=${FOUND}&q=${encodeURIComponent(text.slice(0, TYPED_MAX))}`)
  return optionsOf(lists.flatMap((list) => found[list])).slice(0, FOUND)
}

/** Replaces each name with its code if exactly one code matches. The police rules check the other names. */
export async function withCodes (desk: Desk, values: Values): Promise<Record<string, string | undefined>> {
  const result: Record<string, string | undefined> = { ...values }
  for (const [name, text = ''] of Object.entries(values)) {
    const typed = text.trim()
    if (!LISTS.has(fieldOf(name)) || typed === '' || /^\d+$/.test(typed)) continue
    result[name] = exactly(typed, await searchPlaces(desk, name, typed)) ?? text
  }
  return result
}

function exactly (typed: string, found: readonly Option[]): string | undefined {
  const key = typed.toUpperCase()
  const same = found.filter(({ label }) => label.toUpperCase() === key)
  const [one, ...others] = same.length > 0 ? same : found.filter(({ label }) => withoutProvince(label) === key)
  return others.length > 0 ? undefined : one?.value
}

/** `ROMA` of `ROMA (RM)`. A comune that has ceased keeps its remark. */
function withoutProvince (label: string): string {
  return label.toUpperCase().replace(/ \([A-Z]{2}\)$/, '')
}

/** `cognome` of `dati[0].cognome`. */
function fieldOf (name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}

async function search (desk: Desk, query: string): Promise<Codici> {
  return (await desk.call<Codici>({ method: 'GET', url: `${CODES}?${query}` })).body
}

function optionsOf (rows: readonly Codice[]): Option[] {
  return rows.map(({ codice, descrizione }) => ({ value: codice, label: descrizione }))
}

/** A message of the rules in words for a host, with names instead of codes and without URLs of the API. */
export function plainMessage (messaggio: string, { nameOf }: Pick<CodeNames, 'nameOf'>): string {
  return messaggio
    .replace(/\. Cercare il codice con il nome in GET \S+/, ': scrivere il nome e scegliere dall’elenco')
    .replace(/,? ripetere con confermo_diverso e motivo/, ', scrivere perché e confermare')
    .replace('Gli altri ospiti si inviano con solo_mancanti.', 'Gli altri ospiti si possono inviare da soli.')
    .replaceAll(/ ?\((?:POST|GET|PUT|per l’Italia \d)[^)]*\)/g, '')
    .replaceAll(/\b(?:\d{9}|[A-Z]{5}) (?=[A-Z]{2})/g, '')
    .replaceAll(/\b\d{9}\b/g, (code) => nameOf(code))
}
