import fc from 'fast-check'
import t from 'tap'
import { addDecimals, readDecimal, writeDecimal, ZERO } from '#src/pdf/decimal.ts'
import { type Problem, PROBLEMS } from '#src/pdf/errors.ts'
import { ticks } from '#src/pdf/layout/charts.ts'
import { renderPdf } from '#src/pdf/render.ts'
import { readCsvRows } from '#src/pdf/tables/csv-rows.ts'
import { symbolsOf } from '#src/pdf/text/emoji.ts'
import { shorten, widthOf } from '#src/pdf/text/measure.ts'
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
/** Compare sorted characters, because some readers return right-to-left text and ligatures in page order. */
const letters = (text: string) => [...text.normalize('NFKC').replace(/\s/g, '')].sort().join('')

t.test('the same template, data and date give the same bytes, and another date gives different bytes', async (t) => {
  const content = '<h1>{{ nome }}</h1><qr value="a"/><table data="righe"/>'
  const template = pageWith(`${content}<bar-chart data="righe" label="m" value="v"/>`)
  const data = { nome: 'Łukasz 王', righe: [{ m: 'gen', v: '1.5' }, { m: 'feb', v: '2' }] }
  const [first, second] = [await render(template, data), await render(template, data)]
  t.ok(first.bytes.equals(second.bytes))
  const later = await renderPdf(template, data, { date: new Date('2026-11-24T00:00:00Z') })
  t.notOk(first.bytes.equals(later.bytes))
})

t.test('output does not depend on earlier documents, and every letter is extracted correctly', async (t) => {
  const template = pageWith('<p>{{ testo }}</p>')
  const alone = await render(template, { testo: 'Anna incipit A i' })
  await render(template, { testo: 'Ángel Thị Á ị ﬁ' })
  const after = await render(template, { testo: 'Anna incipit A i' })
  t.ok(alone.bytes.equals(after.bytes))
  t.same((await render(template, { testo: 'ẹ e ị i Á A' })).texts, ['ẹ e ị i Á A'])
})

t.test('every page has header, footer and page number', async (t) => {
  const paragraphs = '{% for i in (1..120) %}<p>riga {{ i }}</p>{% endfor %}'
  const { pages, texts } = await render(pageWith(`<header>Testa</header><footer><page-number/></footer>${paragraphs}`))
  t.ok(pages > 2)
  t.equal(texts.length, pages)
  texts.forEach((text, at) => {
    t.match(text, /Testa/)
    t.match(text, `Pagina ${at + 1} di ${pages}`)
  })
})

t.test('a page number is in the document language or in the given format', async (t) => {
  const pageNumber = async (attributes: string, format = '') =>
    (await render(pageWith(`<footer><page-number${format}/></footer>x`, attributes))).texts[0]
  t.match(await pageNumber(' language="de"'), 'Seite 1 von 1')
  t.match(await pageNumber(' language="fr"'), 'Page 1 sur 1')
  t.match(await pageNumber('', ' format="{n}/{t}"'), '1/1')
})

t.test('a footer higher than its strip is still printed', async (t) => {
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
  t.test(`a table of ${count} rows repeats its head, keeps every row and adds up exactly`, async (t) => {
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

t.test('a long table splits its page and keeps the content before and after in order', async (t) => {
  const { texts } = await render(pageWith(`<p>Inizio</p><h1>Prima</h1>${TABLE}<p>Dopo</p>`), { righe: rows(301) })
  t.match(texts[0], /^Inizio$/)
  t.match(texts[1], /^Prima Nome .*ospite 0/, 'the heading is on the first page of its table')
  t.match(texts.at(-1), /^Dopo$/)
  await t.rejects(render(pageWith(`<div>${TABLE}</div>`), { righe: rows(301) }), { code: 'ELEMENTO_FUORI_POSTO' })
})

t.test('a long table cuts texts with a warning, and never numbers', async (t) => {
  const nome = 'una parola dopo l’altra '.repeat(10)
  const righe = rows(301).map((row) => ({ ...row, nome, importo: '123456789.10' }))
  const { texts, warnings } = await render(pageWith(TABLE), { righe })
  t.match(warnings, [{ codice: 'TESTO_TRONCATO' }])
  t.match(texts[0], /…/)
  t.match(texts[0], /123\.456\.789,10 €/)
})

t.test('the data may list the columns, and otherwise all fields of the rows are columns', async (t) => {
  const data = { righe: [{ a: '1', b: 'x' }], colonne: [{ field: 'b', title: 'Soltanto' }] }
  t.match((await render(pageWith('<table data="righe" columns="colonne"/>'), data)).texts[0], /^Soltanto x$/)
  t.match((await render(pageWith('<table data="righe"/>'), data)).texts[0], /^A B 1 x 1 Totale$/)
})

t.test('missing fields are left out with a warning', async (t) => {
  const { texts, warnings } = await render(pageWith('<p>a{{ x.y }}b</p><table data="righe"/><image asset="logo"/>'))
  t.match(texts[0], /^ab/)
  t.same(warnings.map(({ codice }) => codice), ['VARIABILE_MANCANTE', 'VARIABILE_MANCANTE', 'IMMAGINE_MANCANTE'])
})

t.test('values are formatted in the document language', async (t) => {
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

t.test('an error names line and column of the template, even after a loop', async (t) => {
  const loop = '{% for i in (1..50) %}\n<p>{{ i }}\nx</p>\n{% endfor %}'
  const template = `<document>\n<page>\n${loop}\n  <nix/>\n</page></document>`
  await t.rejects(render(template), {
    code: 'ELEMENTO_SCONOSCIUTO',
    message: 'riga 7, colonna 3: elemento <nix> sconosciuto: il più simile è <div>'
  })
  await t.rejects(render('<document>\n <page>{{ a | nix }}</page></document>'), { message: /^riga 2, colonna 8/ })
  await t.rejects(render(pageWith('\n<p style="foo: 1">a</p>')), { message: /^riga 2, colonna 1/ })
})

t.test('line breaks in data are kept with lines="keep", and otherwise joined', async (t) => {
  const { texts } = await render(pageWith('<p lines="keep">\n  {{ t }}</p>'), { t: 'uno\r\ndue\n\ntre' })
  t.equal(texts[0], 'uno due tre')
  const joined = await render(pageWith('<p>  a \n <b> b</b>\n c<br/> d </p>'))
  t.equal(joined.texts[0], 'a b c d')
})

t.test('an unbreakable block higher than the page is cut with a warning', async (t) => {
  const printed = t.capture(process.stderr, 'write')
  const lines = Array.from({ length: 100 }, (_, at) => `riga ${at};`).join('\n')
  const content = '<div keep="together"><p lines="keep">{{ nota }}</p></div><p>dopo</p>'
  const { texts, warnings } = await render(pageWith(content), { nota: lines })
  t.match(texts.join(), /riga 0;.*dopo/)
  t.notMatch(texts.join(), /riga 99;/)
  t.match(warnings, [{ codice: 'TESTO_TRONCATO', messaggio: /più alto della pagina/ }])
  t.same(printed(), [], 'the log has only JSON lines')
  t.match((await render(pageWith('<p lines="keep">{{ nota }}</p>'), { nota: lines })).texts.join(), /riga 99;/)
})

for (const [script, name] of Object.entries(NAMES)) {
  t.test(`a name is extracted from the PDF unchanged: ${script}`, async (t) => {
    const { bytes, warnings } = await renderPdf(pageWith('<p>{{ nome }}</p>'), { nome: name }, { date: DATE })
    const [text] = await readPages(bytes)
    t.equal(letters(text!), letters(name))
    t.same(warnings, [])
  })

  t.test(`a name is extracted from a long table, a bold heading and serif text: ${script}`, async (t) => {
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

t.test('a character without a font is simplified or becomes a box, with a warning', async (t) => {
  const { bytes, warnings } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n: 'გიორგი Արմեն ᖃ😀 ❤️' }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^giorgi Armen □😀 ❤\uFE0F$/u)
  t.match(warnings, [{ codice: 'CARATTERE_SEMPLIFICATO' }, { codice: 'CARATTERE_MANCANTE', messaggio: /ᖃ(?! 😀)/u }])
})

t.test('an emoji of several characters is drawn as one, in paragraphs and tables of any length', async (t) => {
  const emoji = ['👨‍👩‍👧', '👩‍🍳', '🇮🇹', '👍🏽', '🏳️‍🌈', '1️⃣']
  const widths = emoji.map((each) => widthOf(each, 400, 1))
  t.same(new Set(widths), new Set([widthOf('😀', 400, 1)]))
  t.same(emoji.map((each) => symbolsOf(`a${each}b`)), emoji.map((each) => ['a', each, 'b']))
  t.same(emoji.map((each) => shorten(`${each}${each}aaa`, 400, 10, 30)), emoji.map((each) => `${each}…`))
  for (const count of [1, 301]) {
    const righe = Array.from({ length: count }, () => ({ a: emoji.join(' ') }))
    const template = pageWith('<p>{{ n }}</p><table data="righe"/>', ' font="serif"')
    const { bytes, warnings } = await renderPdf(template, { n: emoji.join(' '), righe }, { date: DATE })
    t.same(warnings, [])
    const text = (await readPages(bytes, 0, 2)).join(' ')
    for (const each of emoji) t.ok(text.includes(each), each)
  }
  t.same(wordBreaker('it')(`${'a'.repeat(7)}👨‍👩‍👧${'b'.repeat(20)}`)[0], 'aaaaaaa👨‍👩‍👧')
})

t.test('control and bidirectional override characters are removed', async (t) => {
  const n = 'a\u0000b\u001Bc\u202Ed\u2066e\uD800f\uFFFEg'
  const { bytes } = await renderPdf(pageWith('<p>{{ n }}</p>'), { n }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /^abcde.fg$/)
})

const HYPHENATED = [
  '\u00AD', '\u00AD\u00ADAnna', 'Anna \u00AD\u00ADMaria', 'An\u00AD\u200b\u00ADna', 'Anna\u00AD', 'An\u00ADna'
]
for (const text of HYPHENATED) {
  t.test(`soft hyphens at any position do not break rendering: ${JSON.stringify(text)}`, async (t) => {
    const template = pageWith('<h1>{{ nome }}</h1><p>{{ nome }}</p><table data="righe"/>')
    const { bytes } = await renderPdf(template, { nome: text, righe: [{ nome: text }] }, { date: DATE })
    const [page] = await readPages(bytes)
    t.equal(letters(page!.replace('Nome', '')), letters(text.replace(/[\u00AD\u200b]/g, '').repeat(3)))
  })
}

for (const [kind, template, code] of REFUSED) {
  t.test(`rejects a template with an error code: ${kind}`, async (t) => {
    await t.rejects(renderPdf(template as string, DATA, { date: DATE }), { name: 'Error', code })
  })
}

t.test('the hostile templates cover every error code but three', async (t) => {
  const met = new Set(REFUSED.map(([, , code]) => code))
  const others: Problem[] = ['SINTASSI_NON_VALIDA', 'ATTRIBUTO_MANCANTE', 'CSV_NON_VALIDO']
  t.same(PROBLEMS.filter((code) => !met.has(code)), others)
  await t.rejects(renderPdf(pageWith('{% if a %}'), {}, { date: DATE }), { code: 'SINTASSI_NON_VALIDA' })
  await t.rejects(renderPdf(pageWith('<qr/>'), {}, { date: DATE }), { code: 'ATTRIBUTO_MANCANTE' })
})

t.test('markup and Liquid syntax in data are printed as text', async (t) => {
  const data = { nome: '<b>{{ 7 | times: 7 }}</b>{% include "x" %}&amp;<script/>' }
  const { bytes } = await renderPdf(pageWith('<p>{{ nome }}</p>'), data, { date: DATE })
  t.same(await readPages(bytes), [data.nome])
})

t.test('a template cannot access prototype properties or functions', async (t) => {
  const data = JSON.parse('{"a":{"__proto__":{"x":"no"}},"constructor":{"x":"no"},"f":"sì"}') as Record<string, unknown>
  const expressions = ['f.constructor', 'a.__proto__.x', 'constructor.x', 'a.toString', 'f.length.constructor', 'this']
  const template = pageWith(`<p>[${expressions.map((name) => `{{ ${name} }}`).join('')}]</p>`)
  const { bytes } = await renderPdf(template, data, { date: DATE })
  t.same(await readPages(bytes), ['[]'])
  await t.rejects(renderPdf(template, { f: () => 'no' }, { date: DATE }), { code: 'DATI_NON_VALIDI' })
})

const read = (text: string | Buffer) => readCsvRows(Buffer.from(text as string)).rows

t.test('every decimal number is the same after it is written and read', (t) => {
  fc.assert(fc.property(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat(10), (units, scale) => {
    t.same(readDecimal(writeDecimal({ units, scale })), { units, scale })
  }))
  t.end()
})

t.test('sums of amounts are exact to the cent', (t) => {
  fc.assert(fc.property(fc.array(fc.integer({ min: -1e9, max: 1e9 })), (cents) => {
    const amounts = cents.map((each) => readDecimal(writeDecimal({ units: BigInt(each), scale: 2 }))!)
    const sum = amounts.reduce(addDecimals, ZERO)
    t.equal(sum.units * (sum.scale === 0 ? 100n : 1n), cents.reduce((all, each) => all + BigInt(each), 0n))
  }))
  t.end()
})

t.test('readDecimal returns undefined for ambiguous and invalid numbers', (t) => {
  for (const text of ['1.234,50', '1,5', '1e5', '', ' ', '0x10', '1.', '.5', 'NaN', '--1', '1 000', '1'.repeat(40)]) {
    t.equal(readDecimal(text), undefined, text)
  }
  t.end()
})

/** Parses a Wi-Fi code as phones do: a backslash escapes the next character. */
function readWifi (text: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [, key, value] of text.slice('WIFI:'.length).matchAll(/([A-Z]):((?:\\[^]|[^\\;])*);/g)) {
    fields[key!] = value!.replace(/\\([^])/g, '$1')
  }
  return fields
}

t.test('a Wi-Fi code gives back any network name and password', (t) => {
  const texts = fc.string({ unit: fc.constantFrom('a', 'è', ';', ':', ',', '\\', '"', ' ', 'T', 'P'), minLength: 1 })
  fc.assert(fc.property(texts, texts, (name, password) => {
    t.same(readWifi(wifiText({ name, password, security: 'WPA' })), { T: 'WPA', S: name, P: password })
  }))
  t.same(readWifi(wifiText({ name: 'a', password: '', security: 'WPA' })), { T: 'nopass', S: 'a' })
  t.end()
})

t.test('a chart scale covers all values with at most eight lines', (t) => {
  const values = fc.double({ min: 0, max: 1e12, noNaN: true }).filter((value) => value === 0 || value > 1e-6)
  fc.assert(fc.property(values, values, (below, above) => {
    const scale = ticks(-below, above)
    t.ok(scale[0]! <= -below && scale.at(-1)! >= above && scale.length >= 2 && scale.length <= 8)
    t.ok(scale.includes(0))
  }))
  t.end()
})

t.test('the splitting of words loses no letter', (t) => {
  for (const language of ['it', 'en', 'de', 'fr'] as const) {
    const breakWord = wordBreaker(language)
    fc.assert(fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (word) => {
      const bare = word.replaceAll('\u00AD', '')
      t.equal(breakWord(word).join(''), bare)
    }))
  }
  t.same(wordBreaker('it')('benvenuti'), ['ben', 've', 'nu', 'ti'])
  t.same(wordBreaker('it')('AB12CD34EF56GH78IJ90KL12MN34'), ['AB12CD34', '', 'EF56GH78', '', 'IJ90KL12', '', 'MN34'])
  t.same(wordBreaker('it')('HMABCDEFGHK'), ['HMABCDEFGHK'], 'a code is not hyphenated')
  t.ok(wordBreaker('it')('東京都港区').length > 1)
  t.end()
})

t.test('the CSV delimiter is the most frequent one in the header outside of quotes', async (t) => {
  const wanted = [{ a: '1', b: 'x' }]
  for (const text of ['a,b\n1,x', 'a;b\r\n1;x\r\n', 'a\tb\n1\tx', 'a|b\n1|x', '\uFEFFa,b\n\n1, x \n']) {
    t.same(read(text), wanted, JSON.stringify(text))
  }
  t.same(read('"a,,,";b\n1;"due; ""tre"""'), [{ 'a,,,': '1', b: 'due; "tre"' }])
  t.same(read('solo\nuno\ndue'), [{ solo: 'uno' }, { solo: 'due' }])
})

t.test('the sep= line of Excel is not a row, and counts in line numbers', async (t) => {
  t.same(read('sep=;\na,b;c\n1;2'), [{ 'a,b': '1', c: '2' }])
  t.same(read('\uFEFFSEP=,\r\na,b\r\n1,2\r\n'), [{ a: '1', b: '2' }])
  t.throws(() => read('sep=;\na;b\n1;2\n3'), { code: 'CSV_NON_VALIDO', place: { riga: 4 } })
  t.same(read('sep=a;b\n1;2'), [{ 'sep=a': '1', b: '2' }])
})

t.test('reads CSV files in Windows-1252', async (t) => {
  t.same(read(Buffer.from('citt\xE0;\x80\nForl\xEC;1', 'latin1')), [{ città: 'Forlì', '€': '1' }])
})

t.test('reads CSV files in UTF-16, with and without a byte order mark', async (t) => {
  for (const mark of ['\uFEFF', '']) {
    const little = Buffer.from(`${mark}città\t€\r\nForlì\t1\r\n`, 'utf16le')
    t.same(read(little), [{ città: 'Forlì', '€': '1' }])
    t.same(read(Buffer.from(little).swap16()), [{ città: 'Forlì', '€': '1' }])
  }
})

t.test('a column without a name and without values is left out', async (t) => {
  t.same(read('a;b;\n1;2;\n3;4;'), [{ a: '1', b: '2' }, { a: '3', b: '4' }])
})

const REFUSED_FILES: [fault: string, text: string, place: string | undefined, words: RegExp][] = [
  ['no line at all', '\n\n', undefined, /non ha righe/],
  ['a column without a name', 'a,,b\n1,2,3', '1:2', /colonna non ha nome/],
  ['two columns of the same name', 'a,b, a\n1,2,3', '1:3', /«a» è ripetuta/],
  ['a row with too few fields', 'a,b\n1,2\n3', '3:2', /tanti campi/],
  ['a row with too many fields', 'a,b\n1,2\n3,4\n5,6,7', '4:4', /tanti campi/],
  ['a quotation that does not end', 'a,b\n1,"x', '2:2', /virgolette/],
  ['a quotation in the middle of a field', 'a,b\n1,x"y"', '2:2', /virgolette/],
  ['bytes that are no text', 'a,b\n1,\0', undefined, /non è un testo/]
]
for (const [kind, text, wanted, words] of REFUSED_FILES) {
  t.test(`rejects a CSV file with the line and column of the error: ${kind}`, async (t) => {
    let fault: unknown
    try { read(text) } catch (err) { fault = err }
    t.match(fault, { code: 'CSV_NON_VALIDO', message: words })
    const { place } = fault as { place?: { riga: number, colonna: number } }
    t.equal(place && `${place.riga}:${place.colonna}`, wanted)
  })
}

t.test('rejects more rows than the limit', async (t) => {
  t.throws(() => read(`a\n${'1\n'.repeat(20_001)}`), { code: 'LIMITE_SUPERATO' })
})

t.test('every table is the same after it is written as CSV and read', async () => {
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
