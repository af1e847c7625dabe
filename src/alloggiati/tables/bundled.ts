import { readFileSync } from 'node:fs'
import { GUEST_TYPES } from '#schemas/guest-types.ts'
import type { Stato, TablesData } from './types.ts'

/** The states of the snapshot, with ISO codes and alternative names, which the service does not provide. */
export function bundledStates (): Stato[] {
  return readRows('stati').map(([codice = '', descrizione = '', cessato, iso2, iso3, others]) => ({
    codice,
    descrizione,
    cessato_il: cessato || null,
    iso2: iso2 || null,
    iso3: iso3 || null,
    altri_nomi: others ? others.split('; ') : []
  }))
}

/** The Italian names of the provinces, by the abbreviations of the `Luoghi` table. */
export function bundledProvinces (): ReadonlyMap<string, string> {
  return new Map(readRows('province').map(([sign = '', name = '']) => [sign, name]))
}

/** The bundled snapshot of the service's tables (see `bundled/README.md`). Read from disk at every call. */
export function bundledData (): TablesData {
  return {
    comuni: readRows('comuni').map(([codice = '', descrizione = '', provincia = '', cessato]) => (
      { codice, descrizione, provincia, cessato_il: cessato || null })),
    stati: bundledStates(),
    documenti: readRows('documenti').map(([codice = '', descrizione = '']) => ({ codice, descrizione })),
    tipi_alloggiato: GUEST_TYPES
  }
}

/** The rows of a bundled file, without its header. */
export function readRows (name: string): string[][] {
  const text = readFileSync(new URL(`bundled/${name}.tsv`, import.meta.url), 'utf8')
  return text.trimEnd().split('\n').slice(1).map((line) => line.split('\t'))
}
