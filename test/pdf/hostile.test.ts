import t from 'tap'
import { PROBLEMS, type Problem } from '#src/pdf/errors.ts'
import { renderPdf } from '#src/pdf/render.ts'
import { DATA, REFUSED } from './hostile-templates.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

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
