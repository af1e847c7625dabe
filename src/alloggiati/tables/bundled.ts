import { readFileSync } from 'node:fs'
import { GUEST_TYPES } from '#schemas/guest-types.ts'
import type { Stato, TablesData } from './types.ts'

/** The states of the snapshot: the only source of their ISO codes, which the service's table lacks. */
export function bundledStates (): Stato[] {
  return rows('stati').map(([codice = '', descrizione = '', cessato, iso2, iso3]) => (
    { codice, descrizione, cessato_il: cessato || null, iso2: iso2 || null, iso3: iso3 || null }))
}

/**
 * The snapshot of the service's tables that ships with the product (see `bundled/README.md`). Read from disk at every
 * call.
 */
export function bundledData (): TablesData {
  return {
    fonte: 'inclusa',
    comuni: rows('comuni').map(([codice = '', descrizione = '', provincia = '', cessato]) => (
      { codice, descrizione, provincia, cessato_il: cessato || null })),
    stati: bundledStates(),
    documenti: rows('documenti').map(([codice = '', descrizione = '']) => ({ codice, descrizione })),
    tipi_alloggiato: GUEST_TYPES,
    errori: [],
    appartamenti: []
  }
}

function rows (name: string): string[][] {
  const text = readFileSync(new URL(`bundled/${name}.tsv`, import.meta.url), 'utf8')
  return text.trimEnd().split('\n').slice(1).map((line) => line.split('\t'))
}
