import { createRequire } from 'node:module'
// The package's main module would load the names in all 79 languages.
import countries from 'i18n-iso-countries/index.js'
import type { Country } from '#schemas/country.ts'

const italian: countries.LocaleData = createRequire(import.meta.url)('i18n-iso-countries/langs/it.json')

/** Names that the package spells differently from everyday Italian. */
const EVERYDAY: Readonly<Record<string, string>> = {
  BQ: 'Bonaire, Sint Eustatius e Saba',
  CC: 'Isole Cocos (Keeling)',
  FO: 'Isole Faroe',
  GF: 'Guyana francese',
  IO: 'Territorio britannico dell’Oceano Indiano',
  MM: 'Myanmar (Birmania)',
  PA: 'Panama',
  TF: 'Terre australi e antartiche francesi',
  TW: 'Taiwan'
}

/** The countries of ISO 3166-1 with their Italian names, in alphabetical order. `id` is the numeric code. */
export function listCountries (): Country[] {
  countries.registerLocale(italian)
  return Object.entries(countries.getNames('it', { select: 'official' }))
    .map(([iso2, nome]) => ({
      id: Number(countries.alpha2ToNumeric(iso2)),
      nome: EVERYDAY[iso2] ?? nome.replace(/\s+/g, ' ').trim(),
      iso2,
      iso3: countries.alpha2ToAlpha3(iso2) ?? ''
    }))
    .filter(({ id }) => id > 0)
    .sort((a, b) => a.nome.localeCompare(b.nome, 'it'))
}

const names = new Map(listCountries().map(({ id, nome }) => [id, nome]))

/** The Italian name of a country by its ISO 3166-1 numeric code. An unknown code is shown as a number. */
export function countryName (id: number): string {
  return names.get(id) ?? `Paese ${id}`
}
