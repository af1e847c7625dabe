import fc from 'fast-check'
import t from 'tap'
import { TemplateError } from '#src/pdf/errors.ts'
import { ELEMENTS, type ElementName } from '#src/pdf/markup/elements.ts'
import { renderHtml, renderPdf } from '#src/pdf/render.ts'
import type { Rule } from '#src/pdf/markup/elements.ts'
import { DATE } from './read-pdf.ts'

const LENGTHS = ['0', '0.1pt', '1', '20mm', '5in', '800', '2000']
const TEXTS = [
  'ciao', 'x'.repeat(200), '\u00AD\u00ADa', 'Łukasz Ñ', 'مرحبا بكم', '漢字テスト', 'สมชาย', '😀', '\u200b', 'שלום עולם',
  '1234.50'
]
const STYLES = [
  'color: red', 'font-size: 40', 'text-align: justify', 'line-height: 4', 'letter-spacing: 20', 'margin: L',
  'padding: L', 'padding: L L L L', 'margin: L L L L',
  'margin-left: L', 'border: L dashed red', 'border-radius: L', 'width: L',
  'width: 50%', 'max-width: 10%', 'height: L', 'flex: 20', 'justify-content: space-between', 'align-items: baseline',
  'gap: L', 'text-transform: capitalize'
]
/** Values of attributes, by name; those of others are texts. A wrong one is refused, which is right, too. */
const VALUES: Record<string, readonly string[]> = {
  data: ['righe', 'molte', 'nessuna', 'manca'],
  field: ['a', 'b', 'c'],
  label: ['a', 'b'],
  value: ['b', 'c'],
  group: ['a', 'c'],
  columns: ['colonne'],
  size: ['A5', 'A3', '0', '50'],
  orientation: ['landscape', 'portrait'],
  margin: LENGTHS,
  width: ['1', '50%', '0', '100'],
  height: LENGTHS,
  'font-size': ['6', '16'],
  format: ['currency', 'number', 'long-date', 'text'],
  total: ['sum', 'count'],
  lines: ['keep', 'join'],
  keep: ['together'],
  href: ['https://example.org/a'],
  asset: ['nessuna'],
  color: ['red'],
  accent: ['#123'],
  font: ['serif', 'sans'],
  'heading-font': ['serif'],
  language: ['it', 'de'],
  align: ['center'],
  currency: ['CHF'],
  'wifi-security': ['WPA', 'nopass']
}
const ROW = { a: 'Łukasz', b: '999999999999999999999999999999.123456789012345678', c: '2026-01-31' }
const DATA = {
  righe: [ROW, { a: '', b: '-3', c: null }, { a: '\u00AD', b: 4, c: true }],
  molte: Array.from({ length: 310 }, () => ROW),
  nessuna: [],
  colonne: [{ field: 'a' }, { field: 'b', format: 'currency', total: 'sum' }]
}

const style = fc.tuple(fc.subarray(STYLES, { minLength: 1, maxLength: 3 }), fc.constantFrom(...LENGTHS))
  .map(([styles, length]) => styles.join(';').replaceAll('L', length))

/** An element with attributes, styles and content of those that the table has. */
function element (name: ElementName, depth: number): fc.Arbitrary<string> {
  const rule: Rule = ELEMENTS[name]
  const attributes = fc.tuple(...Object.keys(rule.attributes).map((each) => fc.tuple(
    fc.constant(each),
    fc.oneof(...(rule.required?.includes(each) ? [] : [{ weight: 3, arbitrary: fc.constant(undefined) }]),
      fc.constantFrom(...VALUES[each] ?? TEXTS))
  )), fc.tuple(fc.constant('style'), rule.styled ? fc.option(style, { nil: undefined }) : fc.constant(undefined)))
  const inner = [
    ...(rule.text ? [fc.constantFrom(...TEXTS)] : []),
    ...(depth > 0 ? rule.holds.map((each) => element(each as ElementName, depth - 1)) : [])
  ]
  const content = inner.length === 0 ? fc.constant([]) : fc.array(fc.oneof(...inner), { maxLength: 4 })
  return fc.tuple(attributes, content).map(([given, children]) => {
    const written = given.flatMap(([each, value]) => value === undefined ? [] : [` ${each}="${value}"`])
    return `<${name}${written.join('')}>${children.join('')}</${name}>`
  })
}

t.test('whatever a template of the language says, there is a PDF or a refusal with a code', async () => {
  await fc.assert(fc.asyncProperty(element('page', 3), async (page) => {
    const template = `<document>${page}</document>`
    await renderPdf(template, DATA, { date: DATE }).catch(onlyRefusals)
    try {
      renderHtml(template, DATA, { date: DATE })
    } catch (err) {
      onlyRefusals(err)
    }
  }), { numRuns: 50 })
})

function onlyRefusals (err: unknown): void {
  if (!(err instanceof TemplateError)) throw err
}
