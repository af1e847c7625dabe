import { readRows } from './bundled.ts'
import type { Day } from '#src/lib/time.ts'

/* Facts that the service's tables lack, by the codes of these tables (`bundled/README.md`). */

const LANGUAGES = ['it', 'en', 'de', 'fr']

/** A current or former province sign of comuni that the service's table lacks. */
interface OtherSign { sign: string, from: Day, until: Day, comuni: ReadonlySet<string> }

export interface OtherNames {
  /** Names of a comune in other languages, or in ISTAT's spelling. */
  comune (codice: string): readonly string[]
  /** Six-digit ISTAT codes of a comune that differ from the end of its police code. */
  istat (codice: string): readonly string[]
  documento (codice: string): readonly string[]
  /** Names of a state in four languages, of its citizens, and of former states on its territory. */
  stato (iso2: string | null): readonly string[]
  signs: readonly OtherSign[]
}

export function otherNames (): OtherNames {
  const comuni = new Map(readRows('comuni-nomi').map(([code = '', names, istat]) => (
    [code, { names: listed(names, '; '), istat: listed(istat, ' ') }])))
  const documents = new Map(readRows('documenti-nomi').map(([code = '', names]) => [code, listed(names, '; ')]))
  const states = new Map<string, string[]>()
  for (const [names, iso2] of readRows('stati-nomi')) {
    for (const code of listed(iso2, ' ')) states.set(code, [...states.get(code) ?? [], ...listed(names, '; ')])
  }
  const regions = LANGUAGES.map((language) => new Intl.DisplayNames(language, { type: 'region' }))
  return {
    comune: (code) => comuni.get(code)?.names ?? [],
    istat: (code) => comuni.get(code)?.istat ?? [],
    documento: (code) => documents.get(code) ?? [],
    stato: (iso2) => iso2 === null
      ? []
      : [...regions.map((names) => names.of(iso2) ?? ''), ...states.get(iso2) ?? []],
    signs: readRows('sigle-passate').map(([sign = '', from = '', until, codes]) => (
      { sign, from, until: until || '9999-12-31', comuni: new Set(listed(codes, ' ')) }))
  }
}

function listed (text: string | undefined, separator: string): string[] {
  return text ? text.split(separator) : []
}
