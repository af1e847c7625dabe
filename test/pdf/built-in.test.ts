import fc from 'fast-check'
import t from 'tap'
import { LetterWishes } from '#schemas/letter.ts'
import { establishmentFields } from '#schemas/establishment.ts'
import { ModelloNonValido, refusalOf } from '#src/pdf/refusal.ts'
import type { PdfJob } from '#src/pdf/jobs.ts'
import makePdf, { makeHtml } from '#src/pdf/task.ts'
import { anyCharacter } from '#test/any-character.ts'

const DATE = Date.parse('2026-11-23T00:00:00Z')
const DAY = '2026-11-23'

/** A text as the API takes one: without controls and halves of pairs, at most so long, with what may stand in XML. */
const text = (maxLength: number) => fc.oneof(
  fc.string({ unit: anyCharacter, maxLength }).map((each) =>
    // eslint-disable-next-line no-control-regex
    each.toWellFormed().replace(/[\u0000-\u001f\u007f]/g, '').slice(0, maxLength).toWellFormed()),
  fc.constantFrom(
    '<b>{{ 1 }}{% x %}', '\u00AD\u00AD', ']]>&amp;"\'', '😀👨‍👩‍👧', 'مرحبا', '{n} {t}', 'x'.repeat(maxLength)
  ).map((each) => each.slice(0, maxLength).toWellFormed())
)
const paragraphs = (maxLength: number) =>
  fc.array(text(Math.min(200, maxLength)), { maxLength: 6 }).map((lines) => lines.join('\n').slice(0, maxLength))

const maxOf = (schema: object) => 'maxLength' in schema ? Number(schema.maxLength) : 100
const FIXED: Record<string, fc.Arbitrary<string>> = {
  colore: fc.constantFrom('#000000', '#FFFFFF', '#1f4e46'),
  ora_check_in: fc.constant('15:00'),
  ora_check_out: fc.constant('10:30'),
  email: fc.constant('ciao@locanda.example'),
  regole: fc.oneof(paragraphs(600), fc.constant('\n'.repeat(299)), fc.constant('a\n'.repeat(299)))
}
const struttura = fc.record(Object.fromEntries(Object.entries(establishmentFields).map(([name, schema]) =>
  [name, fc.option(FIXED[name] ?? text(maxOf(schema)), { nil: null })])))
const wishes = fc.record(Object.fromEntries(Object.entries(LetterWishes.properties).map(([name, schema]) =>
  [name, name === 'codice'
    ? fc.maxSafeNat()
    : name.startsWith('text') ? paragraphs(2000) : text(maxOf(schema))])),
{ requiredKeys: [] })

const letter = fc.record({
  nome_ospite: text(200),
  lingua: fc.constantFrom('IT', 'en', 'DE', 'FR', 'ZZ'),
  struttura,
  data: fc.constant(DAY),
  soggiorno: fc.constant({ check_in: DAY, check_out: '2026-11-24' }),
  codice: fc.option(text(100), { nil: null }),
  template_data: wishes
})

t.test('whatever a house, a booking and a host say, the letter is made', async () => {
  await fc.assert(fc.asyncProperty(letter, async (request) => {
    const job = { kind: 'letter', request, date: DATE } as PdfJob
    const made = await makePdf(job)
    if (made.fault !== null) throw new Error(JSON.stringify(made.fault))
    if ((await makeHtml(job)).fault !== null) throw new Error('not as HTML')
  }), { numRuns: 12 })
})

const cell = fc.oneof(
  text(60), fc.constantFrom('1234.50', '-0.10', '', '2026-01-31', '12e3', null), fc.double(), fc.boolean(),
  fc.jsonValue({ maxDepth: 2 })
)
const field = fc.oneof(text(30), fc.constantFrom(
  'listingTitle', 'Q1Payouts', 'Q4Checkins', 'Importo (es. IVA)', 'a.b', 'constructor', '__proto__', 'alloggio', 'anno'
))
const rows = fc.array(fc.dictionary(field, cell, { maxKeys: 12 }), { maxLength: 30 })

t.test('whatever rows a report has, it is made, or the rows are at fault and not the template', async () => {
  await fc.assert(fc.asyncProperty(rows, fc.option(text(200), { nil: undefined }), async (rows, titolo) => {
    const job = { kind: 'report', request: { rows, titolo, data: DAY }, date: DATE } as PdfJob
    for (const { fault } of [await makePdf(job), await makeHtml(job)]) {
      if (fault !== null && !(refusalOf(job, fault) instanceof ModelloNonValido)) throw new Error(JSON.stringify(fault))
    }
  }), { numRuns: 20 })
})

t.test('a template of the product that fails is no fault of the caller, who is told nothing of it', async (t) => {
  const fault = { code: 'ELEMENTO_SCONOSCIUTO', message: 'riga 1, colonna 1: Anna', riga: 1, colonna: 1 } as const
  const report = { kind: 'report', request: { rows: [], data: DAY }, date: DATE } as const
  for (const job of [report, { kind: 'letter', request: {}, date: DATE }] as PdfJob[]) {
    t.notOk(refusalOf(job, fault) instanceof ModelloNonValido)
    t.match(refusalOf(job, fault), { message: 'a template of the product failed: ELEMENTO_SCONOSCIUTO' })
  }
  t.match(refusalOf({ ...report, source: '<nix/>' }, fault), { statusCode: 400, code: fault.code })
})
