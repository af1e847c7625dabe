import fc from 'fast-check'
import t from 'tap'
import { addDecimals, readDecimal, writeDecimal, ZERO } from '#src/pdf/decimal.ts'
import { ticks } from '#src/pdf/layout/ticks.ts'
import { wifiText } from '#src/pdf/wifi.ts'
import { wordBreaker } from '#src/pdf/text/words.ts'

t.test('any decimal number reads back as it was written', (t) => {
  fc.assert(fc.property(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat(10), (units, scale) => {
    t.same(readDecimal(writeDecimal({ units, scale })), { units, scale })
  }))
  t.end()
})

t.test('amounts add up to the cent, however many', (t) => {
  fc.assert(fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 })), (cents) => {
    const amounts = cents.map((each) => readDecimal(writeDecimal({ units: BigInt(each), scale: 2 }))!)
    const sum = amounts.reduce(addDecimals, ZERO)
    t.equal(sum.units * (sum.scale === 0 ? 100n : 1n), cents.reduce((all, each) => all + BigInt(each), 0n))
  }))
  t.end()
})

t.test('a number that could be read in two ways is none', (t) => {
  for (const text of ['1.234,50', '1,5', '1e5', '', ' ', '0x10', '1.', '.5', 'NaN', '--1', '1 000', '1'.repeat(40)]) {
    t.equal(readDecimal(text), undefined, text)
  }
  t.end()
})

/** Reads the notation as a telephone does: a mark behind a backslash is a letter. */
function readWifi (text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [, key, value] of text.slice('WIFI:'.length).matchAll(/([A-Z]):((?:\\[^]|[^\\;])*);/g)) {
    fields[key!] = value!.replace(/\\([^])/g, '$1')
  }
  return fields
}

t.test('a network with any name and password reads back from its code', (t) => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'è', ';', ':', ',', '\\', '"', ' ', 'T', 'P'), minLength: 1 })
  fc.assert(fc.property(texts, texts, (name, password) => {
    t.same(readWifi(wifiText({ name, password, security: 'WPA' })), { T: 'WPA', S: name, P: password })
  }))
  t.same(readWifi(wifiText({ name: 'a', password: '', security: 'WPA' })), { T: 'nopass', S: 'a' })
  t.end()
})

t.test('the scale of a chart holds all its values, and has few lines', (t) => {
  const values = fc.double({ min: 0, max: 1e12, noNaN: true }).filter((value) => value === 0 || value > 1e-6)
  fc.assert(fc.property(values, values, (below, above) => {
    const scale = ticks(-below, above)
    t.ok(scale[0]! <= -below && scale.at(-1)! >= above && scale.length >= 2 && scale.length <= 8)
    t.ok(scale.includes(0))
  }))
  t.end()
})

t.test('where words may be broken, no letter is lost', (t) => {
  for (const language of ['it', 'en', 'de', 'fr'] as const) {
    const breakWord = wordBreaker(language)
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (word) => {
      const bare = word.replaceAll('\u00AD', '')
      t.equal(breakWord(word).join(''), bare)
    }))
  }
  t.same(wordBreaker('it')('benvenuti'), ['ben', 've', 'nu', 'ti'])
  t.same(wordBreaker('it')('AB12CD34EF56GH78IJ90KL12MN34'), ['AB12CD34', '', 'EF56GH78', '', 'IJ90KL12', '', 'MN34'])
  t.ok(wordBreaker('it')('東京都港区').length > 1)
  t.end()
})
