// The package's main module would load the names in all 79 languages.
import countries from 'i18n-iso-countries/index.js'

/**
 * Codes that zones print beside those of ISO 3166-1 (ICAO Doc 9303 part 3, section 5): Germany, British nationals,
 * Kosovo, organisations, people without a state, and the made-up country of specimens.
 */
const OTHERS = [
  'D', 'GBD', 'GBN', 'GBO', 'GBP', 'GBS', 'RKS', 'XKK', 'EUE', 'UNO', 'UNA', 'UNK', 'XBA', 'XIM', 'XCC', 'XCE', 'XCO',
  'XEC', 'XPO', 'XES', 'XOM', 'XDC', 'XXA', 'XXB', 'XXC', 'XXX', 'UTO'
]

/** What the fields of the issuer and of the nationality may hold, without fillers. */
export const ISSUERS: ReadonlySet<string> = new Set([...Object.keys(countries.getAlpha3Codes()), ...OTHERS])
