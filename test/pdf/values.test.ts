import fc from 'fast-check'
import t from 'tap'
import { addDecimals, readDecimal, writeDecimal, ZERO } from '#src/pdf/decimal.ts'
import { ticks } from '#src/pdf/layout/charts.ts'
import { type CsvFile, readCsv } from '#src/pdf/tables/csv.ts'
import { wordBreaker } from '#src/pdf/text/words.ts'
import { wifiText } from '#src/pdf/layout/qr.ts'

const read = (text: string | Buffer, decimali: CsvFile['decimali'] | 'unsaid' = 'punto') =>
  readCsv({ bytes: Buffer.from(text as string), decimali: decimali === 'unsaid' ? undefined : decimali })

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

t.test('no letter is lost at the places at which words may be broken', (t) => {
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

t.test('the delimiter is the one that the first line has most of, outside of quotation marks', async (t) => {
  const wanted = [{ a: '1', b: 'x' }]
  for (const text of ['a,b\n1,x', 'a;b\r\n1;x\r\n', 'a\tb\n1\tx', 'a|b\n1|x', '\uFEFFa,b\n\n1, x \n']) {
    t.same(read(text), wanted, JSON.stringify(text))
  }
  t.same(read('"a,,,";b\n1;"due; ""tre"""'), [{ 'a,,,': '1', b: 'due; "tre"' }])
  t.same(read('solo\nuno\ndue'), [{ solo: 'uno' }, { solo: 'due' }])
})

t.test('Italian numbers are read where the caller says so, and never guessed', async (t) => {
  const text = 'n;x\n1.234,56;IT\n1.234;\n-0,5;1.2.3\n12,50;1.234.567,8'
  t.same(read(text, 'virgola').map(({ n, x }) => [n, x]), [
    ['1234.56', 'IT'], ['1234', ''], ['-0.5', '1.2.3'], ['12.50', '1234567.8']
  ])
  t.same(read(text)[0], { n: '1.234,56', x: 'IT' })
})

t.test('a number that may be an Italian one is refused where nobody says how they are written', async (t) => {
  for (const number of ['1.200', '-1.234.567', '1.234,56', '0,5', '1200,50']) {
    t.throws(() => read(`n;x\n1;2\n${number};3`, 'unsaid'), {
      code: 'CSV_NON_VALIDO', place: { riga: 3 }, message: /decimali=virgola/
    }, number)
  }
  for (const number of ['1200', '1200.5', '1234.567', '0.12', '0.125', '1.2345', '1.2.3', 'IT,1', '']) {
    t.same(read(`n;x\n"${number}";3`, 'unsaid'), [{ n: number, x: '3' }], number)
  }
})

t.test('the line in which Excel names the separator is none of the table, and is counted', async (t) => {
  t.same(read('sep=;\na,b;c\n1;2'), [{ 'a,b': '1', c: '2' }])
  t.same(read('\uFEFFSEP=,\r\na,b\r\n1,2\r\n'), [{ a: '1', b: '2' }])
  t.throws(() => read('sep=;\na;b\n1;2\n3'), { code: 'CSV_NON_VALIDO', place: { riga: 4 } })
  t.same(read('sep=a;b\n1;2'), [{ 'sep=a': '1', b: '2' }])
})

t.test('files of Excel in western Europe are read, too', async (t) => {
  t.same(read(Buffer.from('citt\xE0;\x80\nForl\xEC;1', 'latin1')), [{ città: 'Forlì', '€': '1' }])
})

const REFUSED: [fault: string, text: string, riga: number | undefined, words: RegExp][] = [
  ['no line at all', '\n\n', undefined, /non ha righe/],
  ['a column without a name', 'a,,b\n1,2,3', 1, /colonna 2 non ha nome/],
  ['two columns of the same name', 'a,b, a\n1,2,3', 1, /«a» è ripetuta/],
  ['a row with too few fields', 'a,b\n1,2\n3', 3, /tanti campi/],
  ['a row with too many fields', 'a,b\n1,2\n3,4\n5,6,7', 4, /tanti campi/],
  ['a quotation that does not end', 'a,b\n1,"x', 2, /virgolette/],
  ['a quotation in the middle of a field', 'a,b\n1,x"y"', 2, /virgolette/],
  ['bytes that are no text', 'a,b\n1,\0', undefined, /non è un testo/]
]
for (const [kind, text, riga, words] of REFUSED) {
  t.test(`a file is refused, with the line at fault: ${kind}`, async (t) => {
    let fault: unknown
    try { read(text) } catch (err) { fault = err }
    t.match(fault, { code: 'CSV_NON_VALIDO', message: words })
    t.equal((fault as { place?: { riga: number } }).place?.riga, riga)
  })
}

t.test('more rows than a report takes are refused', async (t) => {
  t.throws(() => read(`a\n${'1\n'.repeat(20_001)}`), { code: 'LIMITE_SUPERATO' })
})

t.test('every table that is written as CSV reads back as it was', async () => {
  const cell = fc.string().map((text) => text.replace(/\0/g, '').trim())
  const name = fc.stringMatching(/^[a-z]{1,8}$/)
  const table = fc.uniqueArray(name, { minLength: 1, maxLength: 5 }).chain((names) => fc.record({
    names: fc.constant(names),
    rows: fc.array(fc.array(cell, { minLength: names.length, maxLength: names.length }), { maxLength: 5 })
  }))
  fc.assert(fc.property(table, fc.constantFrom(',', ';'), ({ names, rows }, delimiter) => {
    const quoted = (cells: string[]) => cells.map((each) => `"${each.replaceAll('"', '""')}"`).join(delimiter)
    const found = read([names.join(delimiter), ...rows.map(quoted)].join('\r\n'))
    const wanted = rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])))
    return JSON.stringify(found) === JSON.stringify(wanted)
  }))
})
