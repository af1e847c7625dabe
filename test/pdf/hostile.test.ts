import t from 'tap'
import { PROBLEMS, type Problem } from '#src/pdf/errors.ts'
import { renderPdf } from '#src/pdf/render.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

const long = (count: number, text = 'a') => text.repeat(count)
const nested = (count: number) => `${'<div>'.repeat(count)}${'</div>'.repeat(count)}`

/** Templates that somebody hostile, or careless, could send; each with the reason for which it is refused. */
const REFUSED: [what: string, template: unknown, code: Problem][] = [
  ['a file of the server, included', pageWith('{% include "package.json" %}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['a file of the server, rendered', pageWith('{% render "/etc/passwd" %}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['a layout', '{% layout "package.json" %}', 'ISTRUZIONE_SCONOSCIUTA'],
  ['Liquid inside Liquid', pageWith('{% liquid\n include "x" %}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['an unescaped value', pageWith('{{ markup | raw }}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['a dump of the data', pageWith('{{ nome | json }}{{ nome | inspect }}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['chance', pageWith('{{ lista | sample }}'), 'ISTRUZIONE_SCONOSCIUTA'],
  ['a loop without end', pageWith('{% for i in (1..100000000) %}x{% endfor %}'), 'LIMITE_SUPERATO'],
  ['loops inside loops',
    pageWith(`${long(4, '{% for i in (1..200) %}')}x${long(4, '{% endfor %}')}`), 'LIMITE_SUPERATO'],
  ['a text that doubles',
    pageWith(`{% assign s = "aa" %}${long(40, '{% assign s = s | append: s %}')}`), 'LIMITE_SUPERATO'],
  ['a large capture',
    pageWith('{% capture c %}{% for i in (1..90000) %}aaaaaaaaaa{% endfor %}{% endcapture %}'), 'LIMITE_SUPERATO'],
  ['a long range, joined', pageWith('{{ (1..100000000) | join }}'), 'LIMITE_SUPERATO'],
  ['thousands of conditions inside each other', pageWith(long(5000, '{% if a %}')), 'LIMITE_SUPERATO'],
  ['a template that is too long', pageWith(long(70_000)), 'LIMITE_SUPERATO'],
  ['a template that is an object', { toString: () => pageWith('x') }, 'DATI_NON_VALIDI'],
  ['a script', pageWith('<script>alert(1)</script>'), 'ELEMENTO_SCONOSCIUTO'],
  ['an inner frame', pageWith('<iframe src="http://127.0.0.1/"/>'), 'ELEMENTO_SCONOSCIUTO'],
  ['a style sheet', pageWith('<style>@import "http://127.0.0.1/x.css"</style>'), 'ELEMENTO_SCONOSCIUTO'],
  ['a drawing', pageWith('<svg onload="alert(1)"/>'), 'ELEMENTO_SCONOSCIUTO'],
  ['an element named as a property of every object', pageWith('<constructor/>'), 'ELEMENTO_SCONOSCIUTO'],
  ['another element of that kind', pageWith('<__proto__/>'), 'ELEMENTO_SCONOSCIUTO'],
  ['an attribute of that kind', pageWith('<p constructor="x">a</p>'), 'ATTRIBUTO_SCONOSCIUTO'],
  ['an event handler', pageWith('<p onclick="alert(1)">a</p>'), 'ATTRIBUTO_SCONOSCIUTO'],
  ['a picture by its address', pageWith('<image src="http://169.254.169.254/latest"/>'), 'ATTRIBUTO_SCONOSCIUTO'],
  ['a picture by a path', pageWith('<image asset="../../etc/passwd"/>'), 'VALORE_NON_VALIDO'],
  ['a picture by a file address', pageWith('<image asset="file:///etc/passwd"/>'), 'VALORE_NON_VALIDO'],
  ['a picture in its address', pageWith('<image asset="data:image/png;base64,AAAA"/>'), 'VALORE_NON_VALIDO'],
  ['an address in a style', pageWith('<p style="background: url(http://127.0.0.1/)">a</p>'), 'STILE_NON_AMMESSO'],
  ['an address in a colour', pageWith('<p style="color: url(http://127.0.0.1/)">a</p>'), 'STILE_NON_AMMESSO'],
  ['a style that covers others', pageWith('<p style="position: absolute; top: 0">a</p>'), 'STILE_NON_AMMESSO'],
  ['a style named as a property of every object', pageWith('<p style="__proto__: 1">a</p>'), 'STILE_NON_AMMESSO'],
  ['a height of a thousand sheets', pageWith('<div style="height: 10000000pt">a</div>'), 'STILE_NON_AMMESSO'],
  ['a negative margin', pageWith('<div style="margin: -500pt">a</div>'), 'STILE_NON_AMMESSO'],
  ['letters as high as a house', pageWith('<p style="font-size: 9999pt">a</p>'), 'STILE_NON_AMMESSO'],
  ['a link to a script', pageWith('<a href="javascript:alert(1)">a</a>'), 'COLLEGAMENTO_NON_AMMESSO'],
  ['a link to a script, in disguise',
    pageWith('<a href="  JaVa&#9;Script:alert(1)">a</a>'), 'COLLEGAMENTO_NON_AMMESSO'],
  ['a link to a file', pageWith('<a href="file:///etc/passwd">a</a>'), 'COLLEGAMENTO_NON_AMMESSO'],
  ['a link from the data to a script', pageWith('<a href="{{ link }}">a</a>'), 'COLLEGAMENTO_NON_AMMESSO'],
  ['a document type with an entity',
    `<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>${pageWith('&x;')}`, 'XML_NON_BEN_FORMATO'],
  ['entities that double',
    `<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>${pageWith('&b;')}`, 'XML_NON_BEN_FORMATO'],
  ['a processing instruction', pageWith('<?xml-stylesheet href="x"?>'), 'XML_NON_BEN_FORMATO'],
  ['an unknown entity', pageWith('&nonesuch;'), 'XML_NON_BEN_FORMATO'],
  ['an element that is not closed', pageWith('<p>a'), 'XML_NON_BEN_FORMATO'],
  ['two documents', pageWith('a') + pageWith('b'), 'XML_NON_BEN_FORMATO'],
  ['a page in a page', pageWith('<page>a</page>'), 'ELEMENTO_FUORI_POSTO'],
  ['a block in a line', pageWith('<p><table data="righe"/></p>'), 'ELEMENTO_FUORI_POSTO'],
  ['no document', '<page>a</page>', 'ELEMENTO_FUORI_POSTO'],
  ['boxes without end inside each other', pageWith(nested(40)), 'LIMITE_SUPERATO'],
  ['thousands of elements', pageWith('{% for i in (1..7000) %}<br/>{% endfor %}'), 'LIMITE_SUPERATO'],
  ['a word without end', pageWith(long(1500)), 'LIMITE_SUPERATO'],
  ['a word without end in the data', pageWith('{{ parola }}'), 'LIMITE_SUPERATO'],
  ['a word without end in a table', pageWith('<table data="righe"/>'), 'LIMITE_SUPERATO'],
  ['a code that no telephone reads', pageWith('<qr value="{{ parola }}"/>'), 'LIMITE_SUPERATO'],
  ['hundreds of codes', pageWith('{% for i in (1..60) %}<qr value="a"/>{% endfor %}'), 'LIMITE_SUPERATO'],
  ['the prototype as a list', pageWith('<table data="__proto__.x"/><table data="nome"/>'), 'DATI_NON_VALIDI'],
  ['a currency that is none', pageWith('{{ 1 | currency: "<b>" }}'), 'VALORE_NON_VALIDO']
]

const DATA = {
  nome: 'Anna',
  lista: [1, 2],
  markup: '<script>',
  link: 'javascript:alert(1)',
  parola: long(2000),
  righe: [{ a: long(1500) }]
}

for (const [what, template, code] of REFUSED) {
  t.test(`a template is refused with a code: ${what}`, async (t) => {
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

t.test('what stands in the data is text: markup and instructions in it are printed', async (t) => {
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

t.test('a picture that decodes to more than it may is refused by its head', async (t) => {
  const head = Buffer.from('89504e470d0a1a0a0000000d494844520000271000002710080600000000000000', 'hex')
  const template = pageWith('<image asset="logo"/>')
  const assets = (data: Buffer, format: 'png' | 'jpg') => ({ logo: { data, format } })
  await t.rejects(renderPdf(template, {}, { date: DATE, assets: assets(head, 'png') }), { code: 'LIMITE_SUPERATO' })
  for (const format of ['png', 'jpg'] as const) {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'.padEnd(64))
    await t.rejects(renderPdf(template, {}, { date: DATE, assets: assets(svg, format) }), { code: 'DATI_NON_VALIDI' })
  }
})
