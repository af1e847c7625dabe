import fc from 'fast-check'
import t from 'tap'
import { establishmentFields } from '#schemas/establishment.ts'
import { LetterWishes } from '#schemas/letter.ts'
import type { PdfJob } from '#src/pdf/pdf-jobs.ts'
import { ModelloNonValido, requestError } from '#src/pdf/request-error.ts'
import makePdf, { makeHtml } from '#src/pdf/task.ts'
import { letterData } from '#src/pdf/templates/letter-data.ts'
import { workerPool } from '#src/services/workers/pool.ts'
import { anyCharacter } from '#test/any-character.ts'
import { DATE, pageWith, readPages, titleOf } from './read-pdf.ts'

const TASK = new URL('../../src/pdf/task.ts', import.meta.url)
const date = DATE.getTime()

/** A pool with one thread like the server's, or with less memory. */
function open (memoryMb = 256) {
  const pool = workerPool({ threads: 1, waiting: 32, waitMs: 60_000, memoryMb, idleMs: 120_000 })
  t.teardown(() => pool.close())
  return (job: PdfJob) => pool.run<typeof makePdf>(TASK, job, { caller: 'a', deadlineMs: 200_000 })
}

async function textsOf (job: PdfJob, from?: number): Promise<string[]> {
  const made = await run(job)
  if (made.fault !== null) throw new Error(made.fault.message)
  return await readPages(made.bytes, from)
}

const run = open()

const struttura = {
  nome: 'Locanda di prova', luogo: 'Roma', telefono: '+39 06 000000', cin: 'IT058091A1XXXXXXXX', wifi_rete: 'Ospiti'
}
const LETTERS: Record<string, RegExp> = {
  IT: /Benvenuti, Екатерина Иванова!.*lunedì 23 novembre 2026.*Buon soggiorno!/,
  EN: /Welcome, Екатерина Иванова!.*Monday,? 23 November 2026.*Enjoy your stay!/,
  DE: /Herzlich willkommen, Екатерина Иванова!.*Montag, 23\. November 2026.*Schönen Aufenthalt!/,
  FR: /Bienvenue, Екатерина Иванова !.*lundi 23 novembre 2026.*Bon séjour !/,
  ES: /Welcome, Екатерина Иванова!/
}

const DAY = '2026-11-23'

/** A string that the API accepts: no control characters or lone surrogates, bounded length, with XML syntax. */
const anyText = (maxLength: number) => fc.oneof(
  fc.string({ unit: anyCharacter, maxLength }).map((each) =>
    // eslint-disable-next-line no-control-regex
    each.toWellFormed().replace(/[\u0000-\u001f\u007f]/g, '').slice(0, maxLength).toWellFormed()),
  fc.constantFrom(
    '<b>{{ 1 }}{% x %}', '\u00AD\u00AD', ']]>&amp;"\'', '😀👨‍👩‍👧', 'مرحبا', '{n} {t}', 'x'.repeat(maxLength)
  ).map((each) => each.slice(0, maxLength).toWellFormed())
)
const paragraphs = (maxLength: number) =>
  fc.array(anyText(Math.min(200, maxLength)), { maxLength: 6 }).map((lines) => lines.join('\n').slice(0, maxLength))

const maxOf = (schema: object) => 'maxLength' in schema ? Number(schema.maxLength) : 100
const FIXED: Record<string, fc.Arbitrary<string>> = {
  colore: fc.constantFrom('#000000', '#FFFFFF', '#1f4e46'),
  ora_check_in: fc.constant('15:00'),
  ora_check_out: fc.constant('10:30'),
  email: fc.constant('ciao@locanda.example'),
  regole: fc.oneof(paragraphs(600), fc.constant('\n'.repeat(299)), fc.constant('a\n'.repeat(299)))
}
const anyHouse = fc.record(Object.fromEntries(Object.entries(establishmentFields).map(([name, schema]) =>
  [name, fc.option(FIXED[name] ?? anyText(maxOf(schema)), { nil: null })])))
const wishes = fc.record(Object.fromEntries(Object.entries(LetterWishes.properties).map(([name, schema]) =>
  [name, name === 'codice'
    ? fc.maxSafeNat()
    : name.startsWith('text') ? paragraphs(2000) : anyText(maxOf(schema))])),
{ requiredKeys: [] })

const letter = fc.record({
  nome_ospite: anyText(200),
  lingua: fc.constantFrom('IT', 'en', 'DE', 'FR', 'ZZ'),
  struttura: anyHouse,
  data: fc.constant(DAY),
  soggiorno: fc.constant({ check_in: DAY, check_out: '2026-11-24' }),
  codice: fc.option(anyText(100), { nil: null }),
  template_data: wishes
})

for (const [lingua, expected] of Object.entries(LETTERS)) {
  t.test(`writes a welcome letter in the guest's language: ${lingua}`, async (t) => {
    const soggiorno = { check_in: '2026-11-23', check_out: '2026-11-26' }
    const guest = { nome_ospite: 'Екатерина Иванова', lingua, codice: 'BK-42' }
    const request = { ...guest, struttura, data: '2026-11-23', soggiorno }
    const texts = await textsOf({ kind: 'letter', request, date })
    t.equal(texts.length, 1)
    t.match(texts[0], expected)
    t.match(texts[0], /BK-42/)
    t.match(texts[0], /Locanda di prova · \+39 06 000000.*CIN IT058091A1XXXXXXXX/)
  })
}

t.test('Italian addresses one guest in the singular, and other languages have one text', async (t) => {
  const letterFor = (ospiti: number | undefined, lingua = 'IT') => letterData({
    nome_ospite: 'Anna Bianchi', lingua, data: '2026-11-23', struttura: {}, ospiti
  }).data
  t.match(letterFor(1), { saluto: 'Le diamo il benvenuto, Anna Bianchi!', testo1: /averla/, testo3: /^Le auguriamo/ })
  for (const ospiti of [2, undefined]) {
    t.match(letterFor(ospiti), { saluto: 'Benvenuti, Anna Bianchi!', testo1: /avervi/, testo3: /^Vi auguriamo/ })
  }
  for (const lingua of ['EN', 'DE', 'FR']) t.same(letterFor(1, lingua), letterFor(2, lingua), lingua)
})

t.test('the title of a letter names the guest, in any script and as it is written', async (t) => {
  for (const nome of ['Anna Bianchi', 'DE LUCA maria', 'ibrahim Yılmaz', '王小明', 'محمد علي', 'გიორგი']) {
    const request = { nome_ospite: nome, lingua: 'IT', data: DAY, struttura: {} } as const
    const made = await run({ kind: 'letter', request, date })
    if (made.fault !== null) throw new Error(made.fault.message)
    t.equal(await titleOf(made.bytes), `Lettera di benvenuto – ${nome}`)
  }
})

t.test('a phone number after an Arabic or Hebrew name reads left to right', async (t) => {
  for (const nome of ['بيت العطلات', 'בית החופש']) {
    const struttura = { nome, telefono: '+39 06 000123' }
    const request = { nome_ospite: 'Anna', lingua: 'IT', data: '2026-11-23', struttura }
    const [text] = await textsOf({ kind: 'letter', request, date })
    t.match(text, /· ?\u200E?\+39 06 000123/)
  }
})

t.test('text is black on a light establishment colour and white on a dark one', (t) => {
  const inkOn = (colore: string | null) =>
    letterData({ nome_ospite: 'Anna', lingua: 'IT', data: '2026-11-23', struttura: { colore } }).data.inchiostro
  t.same([null, '#1f4e46', '#804020', '#f2d33b', '#ffffff'].map(inkOn), ['white', 'white', 'white', 'black', 'black'])
  t.end()
})

t.test('a financial report adds up quarters exactly, on a page that is wide enough', async (t) => {
  const rows = Array.from({ length: 30 }, (_, at) => ({
    listingId: `L${at}`,
    listingTitle: 'Trilocale',
    firstName: 'Anna',
    lastName: 'Bianchi',
    Q1Payouts: '0.10',
    Q1Checkins: 2,
    Q2Payouts: '1000.20',
    Q2Checkins: 3
  }))
  const texts = await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })
  t.match(texts[0], /Report finanziario 23\/11\/2026 · 30 righe Totale incassi 30\.009,00 € Totale arrivi 150/)
  t.match(texts[0], /Incassi per trimestre/)
  t.match(texts.at(-1), /Totale 3,00 € 60 30\.006,00 € 90/)
  const empty = await textsOf({ kind: 'report', request: { rows: [], data: '2026-11-23' }, date })
  t.match(empty[0], /0 righe.*Il report non ha righe/)
})

t.test('a report shows totals and share of each listing, and subtotals in the detail', async (t) => {
  const paid = [['A', '10.10', 1], ['B', '20.20', 2], ['A', '0.70', 3]] as const
  const rows = paid.map(([listingTitle, Q1Payouts, Q1Checkins]) => (
    { listingTitle, Q1Payouts, Q1Checkins, dal: '2026-01-05', anno: 2026 }
  ))
  const text = (await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })).join(' ')
  t.match(text, /Riepilogo per alloggio .* A 2 10,80 € 4 34,84% B 1 20,20 € 2 65,16% Totale 3 31,00 € 6/)
  t.match(text, /Dettaglio .* A 10,10 € 1 05\/01\/2026 2026 A 0,70 € 3 05\/01\/2026 2026 Totale A 10,80 € 4 B 20,20/)
  t.match(text, /Totale 31,00 € 6$/)
})

t.test('a long report has a summary, and subtotals in its long table', async (t) => {
  const rows = Array.from({ length: 400 }, (_, at) => ({ listingTitle: `Casa ${at % 4}`, Q1Payouts: '1.10' }))
  const texts = await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })
  t.match(texts[0], /Casa 3 100 110,00 € 25%/)
  t.equal(texts.slice(1).join(' ').match(/Casa \d 110,00 €/g)?.length, 4)
  t.match(texts.at(-1), /Totale 440,00 €$/)
})

t.test('renders ten thousand rows within the memory limit of a worker thread', async (t) => {
  const rows = Array.from({ length: 10_000 }, (_, at) => (
    { listingId: `L${at}`, listingTitle: 'Trilocale', Q1Payouts: '0.01' }
  ))
  const texts = await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date }, -1)
  t.match(texts.at(-1), /L9999.*Totale 100,00 €/)
})

t.test('the task returns a template error with code, line and column', async (t) => {
  const made = await run({ kind: 'template', source: pageWith('\n<nix/>'), data: {}, date })
  t.match(made, { fault: { code: 'ELEMENTO_SCONOSCIUTO', riga: 2, colonna: 1 } })
})

t.test('renders a letter for any valid establishment, booking and host texts', async () => {
  await fc.assert(fc.asyncProperty(letter, async (request) => {
    const job = { kind: 'letter', request, date } as PdfJob
    const made = await makePdf(job)
    if (made.fault !== null) throw new Error(JSON.stringify(made.fault))
    if ((await makeHtml(job)).fault !== null) throw new Error('not as HTML')
  }), { numRuns: 12 })
})

const cell = fc.oneof(
  anyText(60), fc.constantFrom('1234.50', '-0.10', '', '2026-01-31', '12e3', null), fc.double(), fc.boolean(),
  fc.jsonValue({ maxDepth: 2 })
)
const field = fc.oneof(anyText(30), fc.constantFrom(
  'listingTitle', 'Q1Payouts', 'Q4Checkins', 'Importo (es. IVA)', 'a.b', 'constructor', '__proto__', 'alloggio', 'anno'
))
const rows = fc.array(fc.dictionary(field, cell, { maxKeys: 12 }), { maxLength: 30 })

t.test('renders a report of any rows, or names the rows and not the template as the cause', async () => {
  await fc.assert(fc.asyncProperty(rows, fc.option(anyText(200), { nil: undefined }), async (rows, titolo) => {
    const job = { kind: 'report', request: { rows, titolo, data: DAY }, date } as PdfJob
    for (const { fault } of [await makePdf(job), await makeHtml(job)]) {
      if (fault !== null &&
        !(requestError(job, fault) instanceof ModelloNonValido)) throw new Error(JSON.stringify(fault))
    }
  }), { numRuns: 20 })
})

t.test('a failing built-in template is an internal error without details for the caller', async (t) => {
  const fault = { code: 'ELEMENTO_SCONOSCIUTO', message: 'riga 1, colonna 1: Anna', riga: 1, colonna: 1 } as const
  const report = { kind: 'report', request: { rows: [], data: DAY }, date } as const
  for (const job of [report, { kind: 'letter', request: {}, date }] as PdfJob[]) {
    t.notOk(requestError(job, fault) instanceof ModelloNonValido)
    t.match(requestError(job, fault), { message: 'a template of the product failed: ELEMENTO_SCONOSCIUTO' })
  }
  t.match(requestError({ ...report, source: '<nix/>' }, fault), { statusCode: 400, code: fault.code })
})
