// The package's main module would load country names in all its languages.
import countries from 'i18n-iso-countries/index.js'

/**
 * Codes besides ISO 3166-1 (ICAO Doc 9303 part 3, section 5): Germany, British nationals, Kosovo, organisations,
 * stateless people, and the fictitious country of specimens. Documents still in use also have former codes. Slovenia's
 * first identity cards have SI.
 */
const OTHERS = [
  'D', 'GBD', 'GBN', 'GBO', 'GBP', 'GBS', 'RKS', 'XKK', 'EUE', 'UNO', 'UNA', 'UNK', 'XBA', 'XIM', 'XCC', 'XCE', 'XCO',
  'XEC', 'XPO', 'XES', 'XOM', 'XDC', 'XXA', 'XXB', 'XXC', 'XXX', 'UTO',
  'SI', 'ROM', 'ZAR', 'TMP', 'YUG', 'SCG', 'ANT'
]

/** Valid issuer and nationality codes, without fillers. */
export const ISSUERS: ReadonlySet<string> = new Set([...Object.keys(countries.getAlpha3Codes()), ...OTHERS])
