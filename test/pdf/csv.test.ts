import fc from 'fast-check'
import t from 'tap'
import { readCsv, type CsvFile } from '#src/pdf/tables/csv.ts'

const read = (text: string | Buffer, decimali: CsvFile['decimali'] | 'unsaid' = 'punto') =>
  readCsv({ bytes: Buffer.from(text as string), decimali: decimali === 'unsaid' ? undefined : decimali })

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

t.test('what Excel writes in western Europe is read, too', async (t) => {
  t.same(read(Buffer.from('citt\xE0;\x80\nForl\xEC;1', 'latin1')), [{ città: 'Forlì', '€': '1' }])
})

const REFUSED: [what: string, text: string, riga: number | undefined, words: RegExp][] = [
  ['no line at all', '\n\n', undefined, /non ha righe/],
  ['a column without a name', 'a,,b\n1,2,3', 1, /colonna 2 non ha nome/],
  ['two columns of the same name', 'a,b, a\n1,2,3', 1, /«a» è ripetuta/],
  ['a row with too few fields', 'a,b\n1,2\n3', 3, /tanti campi/],
  ['a row with too many fields', 'a,b\n1,2\n3,4\n5,6,7', 4, /tanti campi/],
  ['a quotation that does not end', 'a,b\n1,"x', 2, /virgolette/],
  ['a quotation in the middle of a field', 'a,b\n1,x"y"', 2, /virgolette/],
  ['bytes that are no text', 'a,b\n1,\0', undefined, /non è un testo/]
]
for (const [what, text, riga, words] of REFUSED) {
  t.test(`a file is refused, with the line at fault: ${what}`, async (t) => {
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
