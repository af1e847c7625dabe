import fc from 'fast-check'
import t from 'tap'
import { renderPdf } from '#src/pdf/render.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

/* Templates as authors who know HTML and Liquid write them. */

const textOf = async (template: string, data: unknown = {}, language = 'it') => {
  const { bytes, warnings } = await renderPdf(template, data, { date: DATE, language })
  t.same(warnings, [])
  return (await readPages(bytes)).join(' | ')
}
const value = (expression: string, data: unknown = {}) => textOf(`{{ ${expression} }}`, data)

t.test('a fragment without a document is printed on an A4 page', async (t) => {
  t.equal(await textOf('<p>Gentile {{ nome }}</p>', { nome: 'Anna' }), 'Gentile Anna')
  t.equal(await textOf('Gentile {{ nome }}<hr/><h1>Uno</h1>', { nome: 'Anna' }), 'Gentile Anna Uno')
  const { bytes } = await renderPdf('<p>a</p>', {}, { date: DATE })
  t.match(/MediaBox \[[^\]]*\]/.exec(bytes.toString('latin1'))![0], /0 0 595\.28\d* 841\.89/)
})

t.test('an HTML page is printed, with the title of its head', async (t) => {
  const page = `<!DOCTYPE html>
    <html lang="it"><head><meta charset="utf-8"><title>Conferma</title></head>
    <body class="carta" style="font-family: Arial">
      <h1 id="uno">Conferma &egrave; qui</h1><p>Gentile <strong>{{ nome }}</strong>,<br>a <em>presto</em>
      <span style="color: rgb(200, 0, 0)">rosso</span> <u>sotto</u> <b style="color: navy">blu</b></p>
      <ul><li>uno</li><li>due <b>tre</b></li></ul><ol><li>quattro</li><li>cinque</li></ol><hr>
    </body></html>`
  const { bytes } = await renderPdf(page, { nome: 'Anna' }, { date: DATE })
  t.same(await readPages(bytes), [
    'Conferma è qui Gentile Anna, a presto rosso sotto blu • uno • due tre 1. quattro 2. cinque'
  ])
  t.ok(bytes.includes('(Conferma)'), 'the title of the PDF')
})

t.test('a table with rows from a loop repeats its head on every page', async (t) => {
  const table = '<table border="1"><thead><tr><th>Notte</th><th align="right">Prezzo</th></tr></thead><tbody>' +
    '{% for riga in righe %}<tr><td width="60%">{{ riga.a }}</td><td>{{ riga.b | currency }}</td></tr>{% endfor %}' +
    '<tr><td colspan="2">Totale {{ righe | sum: "b" | currency }}</td></tr></tbody></table>'
  const righe = Array.from({ length: 60 }, (_, at) => ({ a: `notte ${at}`, b: '61.70' }))
  const pages = (await textOf(`<h2>Prezzi</h2>${table}`, { righe })).split(' | ')
  t.ok(pages.length > 1)
  for (const page of pages) t.match(page, /^(Prezzi )?Notte Prezzo notte/)
  t.match(pages.at(-1), /notte 59 61,70 € Totale 3\.702,00 €$/)
  await t.rejects(textOf('<table/>'), { code: 'ATTRIBUTO_MANCANTE', message: /data/ })
})

t.test('an unknown element causes an error with the nearest known element and the position', async (t) => {
  const nearest: [template: string, message: string][] = [
    ['<p>a<br>b<br>\n  <stron>x</stron></p>', '2, colonna 3: elemento <stron> sconosciuto: il più simile è <strong>'],
    ['<tabel/>', '1, colonna 1: elemento <tabel> sconosciuto: il più simile è <table>'],
    ['<p>{{ nome }}</p>\n<bage>x</bage>', '2, colonna 1: elemento <bage> sconosciuto: il più simile è <page>']
  ]
  for (const [template, words] of nearest) {
    await t.rejects(renderPdf(template, { nome: 'Anna' }, { date: DATE }), { message: `riga ${words}` })
  }
})

t.test('arithmetic in templates is exact for decimals', async (t) => {
  const results: [expression: string, result: string][] = [
    ['0.1 | plus: 0.2', '0.3'],
    ['"61.70" | times: 3', '185.1'],
    ['"12345678901234567.89" | plus: "0.01"', '12345678901234567.9'],
    ['1 | minus: 0.9', '0.1'],
    ['10 | divided_by: 4', '2.5'],
    ['2 | divided_by: 3', '0.666666666667'],
    ['2.345 | round: 2', '2.35'],
    ['1.005 | round: 2', '1.01'],
    ['-2.5 | round', '-3'],
    ['"7.10" | modulo: 2', '1.1'],
    ['-1.2 | ceil', '-1'],
    ['-1.2 | floor', '-2'],
    ['-1.5 | abs', '1.5'],
    ['nessuno | plus: 1 | at_least: 3 | at_most: 2', '2']
  ]
  for (const [expression, result] of results) t.equal(await value(expression, { nessuno: null }), result, expression)
  t.equal(await textOf('{% assign x = "9.5" | times: 2 %}{% if x > 18 %}sì{% endif %}'), 'sì', 'results compare')
  for (const expression of ['"abc" | plus: 1', '1 | divided_by: 0', '1 | modulo: 0']) {
    await t.rejects(value(expression), { code: 'VALORE_NON_VALIDO' }, expression)
  }
})

t.test('the sum of a list is exact', async () => {
  await fc.assert(fc.asyncProperty(fc.array(fc.integer({ min: -1e9, max: 1e9 }), { maxLength: 20 }), async (cents) => {
    const list = cents.map((each) => ({ v: (each / 100).toFixed(2) }))
    const total = cents.reduce((all, each) => all + each, 0)
    return Number(await value('list | sum: "v"', { list })) === total / 100
  }), { numRuns: 10 })
})

t.test('a date is written by a pattern, with names in the language', async (t) => {
  const data = { giorno: '2026-03-01', ora: '2026-11-22T23:30:05Z', altro: 'presto' }
  const patterns: [expression: string, language: string, result: string][] = [
    ['giorno | date: "%d/%m/%Y"', 'it', '01/03/2026'],
    ['giorno | date: "%A %-d %B %y"', 'it', 'domenica 1 marzo 26'],
    ['giorno | date: "%a, %e %b"', 'en', 'Sun, 1 Mar'],
    ['ora | date: "%F %T"', 'it', '2026-11-23 00:30:05'],
    ['ora | date: "%I:%M %p 100%%"', 'it', '12:30 AM 100%'],
    ['altro | date: "%d"', 'it', 'presto'],
    ['giorno | date', 'it', '01/03/2026']
  ]
  for (const [expression, language, result] of patterns) {
    t.equal(await textOf(`{{ ${expression} }}`, data, language), result, expression)
  }
  for (const pattern of ['"%Q"', '"d/m/Y"', '3']) {
    await t.rejects(value(`giorno | date: ${pattern}`, data), { code: 'VALORE_NON_VALIDO' }, pattern)
  }
})

t.test('HTML in a whole document is accepted, too', async (t) => {
  t.equal(await textOf(pageWith('<section><strong>a</strong> <small>b</small></section>')), 'a b')
})
