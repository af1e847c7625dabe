import fc from 'fast-check'
import t from 'tap'
import { addDecimals, readDecimal, writeDecimal, ZERO } from '#src/pdf/decimal.ts'
import { type Problem, PROBLEMS } from '#src/pdf/errors.ts'
import { ticks } from '#src/pdf/layout/charts.ts'
import { renderPdf } from '#src/pdf/render.ts'
import { type CsvFile, readCsv } from '#src/pdf/tables/csv-file.ts'
import { wordBreaker } from '#src/pdf/text/words.ts'
import { wifiText } from '#src/pdf/layout/qr.ts'
import { DATA, REFUSED } from './hostile-templates.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

const render = async (template: string, data: unknown = {}) => {
  const made = await renderPdf(template, data, { date: DATE })
  return { ...made, texts: await readPages(made.bytes) }
}

const NAMES: Record<string, string> = {
  Latin: 'Łukasz Wiśniewski Ångström Çelik Ždanov',
  Vietnamese: 'Nguyễn Thị Ánh Đặng',
  Greek: 'Αλέξανδρος Παπαδόπουλος',
  Cyrillic: 'Екатерина Щербакова Їжак',
  Arabic: 'محمد علي حسن',
  Hebrew: 'יעקב כהן',
  Thai: 'สมชาย ใจดี',
  'simplified Chinese': '王小明 刘伟',
  'traditional Chinese': '陳美麗 劉偉',
  Japanese: '山田太郎 ヤマダ はなこ',
  Korean: '김민수 박뷁',
  Devanagari: 'अमित',
  emoji: '🏖😀🍝🎉'
}
/** Some readers give letters from right to left, and joined ones, in the order in which they stand on the page. */
const letters = (text: string) => [...text.normalize('NFKC').replace(/\s/g, '')].sort().join('')

t.test('the same template, data and date give the same bytes; another date does not', async (t) => {
  const content = '<h1>{{ nome }}</h1><qr value="a"/><table data="righe"/>'
  const template = pageWith(`${content}<bar-chart data="righe" label="m" value="v"/>`)
  const data = { nome: 'Łukasz 王', righe: [{ m: 'gen', v: '1.5' }, { m: 'feb', v: '2' }] }
  const [first, second] = [await render(template, data), await render(template, data)]
  t.ok(first.bytes.equals(second.bytes))
  const later = await renderPdf(template, data, { date: new Date('2026-11-24T00:00:00Z') })
  t.notOk(first.bytes.equals(later.bytes))
})

t.test('the bytes do not depend on what was made before, and every letter reads as itself', async (t) => {
  const template = pageWith('<p>{{ testo }}</p>')
  const alone = await render(template, { testo: 'Anna incipit A i' })
  await render(template, { testo: 'Ángel Thị Á ị ﬁ' })
  const after = await render(template, { testo: 'Anna incipit A i' })
  t.ok(alone.bytes.equals(after.bytes))
  t.same((await render(template, { testo: 'ẹ e ị i Á A' })).texts, ['ẹ e ị i Á A'])
})

t.test('every page has its header, its footer and its number', async (t) => {
  const paragraphs = '{% for i in (1..120) %}<p>riga {{ i }}</p>{% endfor %}'
  const { pages, texts } = await render(pageWith(`<header>Testa</header><footer><page-number/></footer>${paragraphs}`))
  t.ok(pages > 2)
  t.equal(texts.length, pages)
  texts.forEach((text, at) => {
    t.match(text, /Testa/)
    t.match(text, `Pagina ${at + 1} di ${pages}`)
  })
})

t.test('a page number is in the language of the document, or as the author writes it', async (t) => {
  const pageNumber = async (attributes: string, format = '') =>
    (await render(pageWith(`<footer><page-number${format}/></footer>x`, attributes))).texts[0]
  t.match(await pageNumber(' language="de"'), 'Seite 1 von 1')
  t.match(await pageNumber(' language="fr"'), 'Page 1 sur 1')
  t.match(await pageNumber('', ' format="{n}/{t}"'), '1/1')
})

t.test('a long footer, in a strip that is too low for it, is still there', async (t) => {
  const footer = '<footer height="10"><p>Via dell’Esempio 1</p>\n<p>\n CIN {{ cin }}\n</p></footer>'
  const { texts } = await render(pageWith(`${footer}x`), { cin: 'IT0' })
  t.match(texts[0], /Via dell’Esempio 1/)
  t.match(texts[0], /CIN IT0/)
})

const rows = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ nome: `ospite ${at}`, importo: '0.10', data: '2026-03-01' }))
const TABLE = '<table data="righe"><col field="nome" title="Nome"/>' +
  '<col field="importo" format="currency" total="sum"/><col field="data" format="date"/></table>'

for (const count of [300, 301, 2000]) {
  t.test(`a table of ${count} rows repeats its head, loses no row and adds its amounts exactly`, async (t) => {
    const { texts, pages } = await render(pageWith(`<footer><page-number/></footer>${TABLE}`), { righe: rows(count) })
    t.ok(pages > 2)
    t.ok(texts.every((text) => /Nome/.test(text)))
    const found = [...texts.join(' ').matchAll(/ospite (\d+)/g)].map(([, number]) => Number(number))
    t.same(found, rows(count).map((_, at) => at))
    const euros = (count / 10).toFixed(2).replace('.', ',')
    t.match(texts.at(-1), new RegExp(`Totale ${euros} €`))
    t.match(texts.at(-1), `Pagina ${pages} di ${pages}`)
    t.match(texts[0], /01\/03\/2026/)
  })
}

t.test('a long table parts its page: what stands before and after it keeps its place', async (t) => {
  const { texts } = await render(pageWith(`<h1>Prima</h1>${TABLE}<p>Dopo</p>`), { righe: rows(301) })
  t.match(texts[0], /^Prima$/)
  t.match(texts[1], /ospite 0/)
  t.match(texts.at(-1), /^Dopo$/)
  await t.rejects(render(pageWith(`<div>${TABLE}</div>`), { righe: rows(301) }), { code: 'ELEMENTO_FUORI_POSTO' })
})

t.test('in a long table texts that do not fit are shortened, and the author is told; numbers never are', async (t) => {
  const nome = 'una parola dopo l’altra '.repeat(10)
  const righe = rows(301).map((row) => ({ ...row, nome, importo: '123456789.10' }))
  const { texts, warnings } = await render(pageWith(TABLE), { righe })
  t.match(warnings, [{ codice: 'TESTO_TRONCATO' }])
  t.match(texts[0], /…/)
  t.match(texts[0], /123\.456\.789,10 €/)
})

t.test('columns may come from the data, or be all fields of the rows', async (t) => {
  const data = { righe: [{ a: '1', b: 'x' }], colonne: [{ field: 'b', title: 'Soltanto' }] }
  t.match((await render(pageWith('<table data="righe" columns="colonne"/>'), data)).texts[0], /^Soltanto x$/)
  t.match((await render(pageWith('<table data="righe"/>'), data)).texts[0], /^A B 1 x 1 Totale$/)
})

t.test('fields that the data lack are left out, and the author is told', async (t) => {
  const { texts, warnings } = await render(pageWith('<p>a{{ x.y }}b</p><table data="righe"/><image asset="logo"/>'))
  t.match(texts[0], /^ab/)
  t.same(warnings.map(({ codice }) => codice), ['VARIABILE_MANCANTE', 'VARIABILE_MANCANTE', 'IMMAGINE_MANCANTE'])
})

t.test('values are written as people of the language write them', async (t) => {
  const template = (language: string) => pageWith(
    '<p>{{ v | currency }} {{ v | number }} {{ v | currency: "CHF" }} {{ d | date }} {{ d | long_date }} ' +
    '{{ i | date_time }}</p>',
    ` language="${language}"`
  )
  const data = { v: '-4317.456', d: '2026-03-01', i: '2026-11-22T23:30:00Z' }
  const written = async (language: string) => (await render(template(language), data)).texts[0]
  t.equal(await written('it'), '-4.317,46 € -4.317,46 -4.317,46 CHF 01/03/2026 domenica 1 marzo 2026 23/11/2026, 00:30')
  t.match(await written('en'), /^-€4,317.46 -4,317.46 -CHF 4,317.46 01\/03\/2026 Sunday,? 1 March 2026/)
  t.match(await written('de'), /^-4.317,46 € -4.317,46 -4.317,46 CHF 01.03.2026 Sonntag, 1. März 2026/)
  t.match(await written('fr'), /^-4 317,46 € -4 317,46 -4 317,46 CHF 01\/03\/2026 dimanche 1 mars 2026/)
})

t.test('an error names line and column of the template, also behind a loop that has written many lines', async (t) => {
  const loop = '{% for i in (1..50) %}\n<p>{{ i }}\nx</p>\n{% endfor %}'
  const template = `<document>\n<page>\n${loop}\n  <nix/>\n</page></document>`
  await t.rejects(render(template), {
    code: 'ELEMENTO_SCONOSCIUTO',
    message: 'riga 7, colonna 3: elemento <nix> sconosciuto'
  })
  await t.rejects(render('<document>\n <page>{{ a | nix }}</page></document>'), { message: /^riga 2, colonna 8/ })
  await t.rejects(render(pageWith('\n<p style="foo: 1">a</p>')), { message: /^riga 2, colonna 1/ })
})

t.test('lines of the data are kept where the author wants them', async (t) => {
  const { texts } = await render(pageWith('<p lines="keep">\n  {{ t }}</p>'), { t: 'uno\r\ndue\n\ntre' })
  t.equal(texts[0], 'uno due tre')
  const joined = await render(pageWith('<p>  a \n <b> b</b>\n c<br/> d </p>'))
  t.equal(joined.texts[0], 'a b c d')
})

t.test('a block that must stand on one page and is higher is cut, and a warning says so', async (t) => {
  const printed = t.capture(process.stderr, 'write')
  const lines = Array.from({ length: 100 }, (_, at) => `riga ${at};`).join('\n')
  const content = '<div keep="together"><p lines="keep">{{ nota }}</p></div><p>dopo</p>'
  const { texts, warnings } = await render(pageWith(content), { nota: lines })
  t.match(texts.join(), /riga 0;.*dopo/)
  t.notMatch(texts.join(), /riga 99;/)
  t.match(warnings, [{ codice: 'TESTO_TRONCATO', messaggio: /più alto della pagina/ }])
  t.same(printed(), [], 'nothing stands between the lines of the log')
  t.match((await render(pageWith('<p lines="keep">{{ nota }}</p>'), { nota: lines })).texts.join(), /riga 99;/)
})

for (const [script, name] of Object.entries(NAMES)) {
  t.test(`a name reads back from the PDF: ${script}`, async (t) => {
    const { bytes, warnings } = await renderPdf(pageWith('<p>{{ nome }}</p>'), { nome: name }, { date: DATE })
    const [text] = await readPages(bytes)
    t.equal(letters(text!), letters(name))
    t.same(warnings, [])
  })

  t.test(`a name reads back from a long table, in a bold heading and in a serif letter: ${script}`, async (t) => {
    const rows = Array.from({ length: 301 }, () => ({ nome: name }))
    const template = pageWith('<table data="righe"/>')
    const table = await renderPdf(template, { righe: rows }, { date: DATE })
    const [first] = await readPages(table.bytes, 0, 1)
    t.ok(letters(first!).includes(letters(name)[0]!))
    t.ok([...letters(name)].every((letter) => letters(first!).includes(letter)))
    const heading = pageWith('<h1><i>{{ nome }}</i></h1>', ' font="serif"')
    const [text] = await readPages((await renderPdf(heading, { nome: name }, { date: DATE })).bytes)
    t.equal(letters(text!), letters(name))
  })
}

t.test('a letter that no font has is written in a simpler form or as a box, and the author is told', async (t) => {
  const { bytes, warnings } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n: 'გიორგი Արմեն ᖃ😀 ❤️' }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^giorgi Armen □😀 ❤$/u)
  t.match(warnings, [{ codice: 'CARATTERE_SEMPLIFICATO' }, { codice: 'CARATTERE_MANCANTE', messaggio: /ᖃ(?! 😀)/u }])
})

t.test('controls and marks that turn text round do not reach the document', async (t) => {
  const n = 'a\u0000b\u001Bc\u202Ed\u2066e\uD800f\uFFFEg'
  const { bytes } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^abcde.fg$/)
})

const HYPHENATED = [
  '\u00AD', '\u00AD\u00ADAnna', 'Anna \u00AD\u00ADMaria', 'An\u00AD\u200b\u00ADna', 'Anna\u00AD', 'An\u00ADna'
]
for (const text of HYPHENATED) {
  t.test(`places for hyphens, wherever they stand, keep no PDF from being made: ${JSON.stringify(text)}`, async (t) => {
    const template = pageWith('<h1>{{ nome }}</h1><p>{{ nome }}</p><table data="righe"/>')
    const { bytes } = await renderPdf(template, { nome: text, righe: [{ nome: text }] }, { date: DATE })
    const [page] = await readPages(bytes)
    t.equal(letters(page!.replace('Nome', '')), letters(text.replace(/[\u00AD\u200b]/g, '').repeat(3)))
  })
}

for (const [kind, template, code] of REFUSED) {
  t.test(`a template is refused with a code: ${kind}`, async (t) => {
    await t.rejects(renderPdf(template as string, DATA, { date: DATE }), { name: 'Error', code })
  })
}

t.test('every code of a refusal has a template that meets it, but for those that only a renderer could', async (t) => {
  const met = new Set(REFUSED.map(([, , code]) => code))
  const others: Problem[] = ['SINTASSI_NON_VALIDA', 'ATTRIBUTO_MANCANTE', 'CSV_NON_VALIDO']
  t.same(PROBLEMS.filter((code) => !met.has(code)), others)
  await t.rejects(renderPdf(pageWith('{% if a %}'), {}, { date: DATE }), { code: 'SINTASSI_NON_VALIDA' })
  await t.rejects(renderPdf(pageWith('<qr/>'), {}, { date: DATE }), { code: 'ATTRIBUTO_MANCANTE' })
})

t.test('the data are text: markup and instructions in them are printed', async (t) => {
  const data = { nome: '<b>{{ 7 | times: 7 }}</b>{% include "x" %}&amp;<script/>' }
  const { bytes } = await renderPdf(pageWith('<p>{{ nome }}</p>'), data, { date: DATE })
  t.same(await readPages(bytes), [data.nome])
})

t.test('a template does not reach what every object has, nor functions', async (t) => {
  const data = JSON.parse('{"a":{"__proto__":{"x":"no"}},"constructor":{"x":"no"},"f":"sì"}') as Record<string, unknown>
  const expressions = ['f.constructor', 'a.__proto__.x', 'constructor.x', 'a.toString', 'f.length.constructor', 'this']
  const template = pageWith(`<p>[${expressions.map((name) => `{{ ${name} }}`).join('')}]</p>`)
  const { bytes } = await renderPdf(template, data, { date: DATE })
  t.same(await readPages(bytes), ['[]'])
  await t.rejects(renderPdf(template, { f: () => 'no' }, { date: DATE }), { code: 'DATI_NON_VALIDI' })
})

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

const REFUSED_FILES: [fault: string, text: string, riga: number | undefined, words: RegExp][] = [
  ['no line at all', '\n\n', undefined, /non ha righe/],
  ['a column without a name', 'a,,b\n1,2,3', 1, /colonna 2 non ha nome/],
  ['two columns of the same name', 'a,b, a\n1,2,3', 1, /«a» è ripetuta/],
  ['a row with too few fields', 'a,b\n1,2\n3', 3, /tanti campi/],
  ['a row with too many fields', 'a,b\n1,2\n3,4\n5,6,7', 4, /tanti campi/],
  ['a quotation that does not end', 'a,b\n1,"x', 2, /virgolette/],
  ['a quotation in the middle of a field', 'a,b\n1,x"y"', 2, /virgolette/],
  ['bytes that are no text', 'a,b\n1,\0', undefined, /non è un testo/]
]
for (const [kind, text, riga, words] of REFUSED_FILES) {
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
