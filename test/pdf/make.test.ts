import t from 'tap'
import { letterData } from '#src/pdf/templates/letter.ts'
import { workerPool } from '#src/plugins/workers/pool.ts'
import type { Value } from '#src/pdf/data.ts'
import type makePdf from '#src/pdf/task.ts'
import type { PdfJob } from '#src/pdf/jobs.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

const TASK = new URL('../../src/pdf/task.ts', import.meta.url)
const date = DATE.getTime()

/** A pool of one thread as the server's, or with less memory. */
function open (memoryMb = 256) {
  const pool = workerPool({ threads: 1, turns: { total: 4, perCaller: 4 }, memoryMb, idleMs: 120_000 })
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

for (const [lingua, expected] of Object.entries(LETTERS)) {
  t.test(`a welcome letter is in the guest's language: ${lingua}`, async (t) => {
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

t.test('what the host writes stands in the letter instead of ours, as text', async (t) => {
  const greeting = 'Ciao <b>Anna</b> $& {{ x }}'
  const template_data = { greeting, text1: 'Primo', text2: ' ', enjoy_text: 'Evviva', codice: 7 }
  const guest = { nome_ospite: 'Anna', lingua: 'IT' }
  const request = { ...guest, struttura: { nome: 'Locanda' }, data: '2026-11-23', template_data }
  const [text] = await textsOf({ kind: 'letter', request, date })
  t.match(text, 'Ciao <b>Anna</b> $& {{ x }}')
  t.match(text, /Primo Siamo a disposizione.*Prenotazione 7.*Evviva/)
})

t.test('behind an Arabic or Hebrew name of the house its telephone number reads from left to right', async (t) => {
  for (const nome of ['بيت العطلات', 'בית החופש']) {
    const struttura = { nome, telefono: '+39 06 000123' }
    const request = { nome_ospite: 'Anna', lingua: 'IT', data: '2026-11-23', struttura }
    const [text] = await textsOf({ kind: 'letter', request, date })
    t.match(text, /· ?\u200E?\+39 06 000123/)
  }
})

t.test('what is written on the colour of the house is black on a light one', (t) => {
  const inkOn = (colore: string | null) =>
    letterData({ nome_ospite: 'Anna', lingua: 'IT', data: '2026-11-23', struttura: { colore } }).data.inchiostro
  t.same([null, '#1f4e46', '#804020', '#f2d33b', '#ffffff'].map(inkOn), ['white', 'white', 'white', 'black', 'black'])
  t.end()
})

t.test('a financial report adds its quarters exactly, on a sheet that is wide enough', async (t) => {
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

t.test('a report says what each listing adds, its share, and its totals in the detail', async (t) => {
  const paid = [['A', '10.10', 1], ['B', '20.20', 2], ['A', '0.70', 3]] as const
  const rows = paid.map(([listingTitle, Q1Payouts, Q1Checkins]) => (
    { listingTitle, Q1Payouts, Q1Checkins, dal: '2026-01-05', anno: 2026 }
  ))
  const text = (await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })).join(' ')
  t.match(text, /Riepilogo per alloggio .* A 2 10,80 € 4 34,84% B 1 20,20 € 2 65,16% Totale 3 31,00 € 6/)
  t.match(text, /Dettaglio .* A 10,10 € 1 05\/01\/2026 2026 A 0,70 € 3 05\/01\/2026 2026 Totale A 10,80 € 4 B 20,20/)
  t.match(text, /Totale 31,00 € 6$/)
})

t.test('rows of any shape make a report: other fields, none, missing ones, values that are no texts', async (t) => {
  const shapes: Record<string, Value>[][] = [
    [{ qualcosa: 'x' }, { altro: 1 }],
    [{}, {}],
    [{ a: { b: 1 }, c: [1, 2], d: true, e: null }],
    [{ listingTitle: 'A', Q1Payouts: 'niente' }, { listingTitle: '', Q1Payouts: '-0.00' }],
    [{ listingTitle: 'A', Q1Payouts: '-5.00' }, { listingTitle: 'B', Q1Payouts: '5.00' }]
  ]
  for (const rows of shapes) {
    t.ok((await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })).length)
  }
})

t.test('a long report has its summary, and subtotals on the shaded lines of its long table', async (t) => {
  const rows = Array.from({ length: 400 }, (_, at) => ({ listingTitle: `Casa ${at % 4}`, Q1Payouts: '1.10' }))
  const texts = await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date })
  t.match(texts[0], /Casa 3 100 110,00 € 25%/)
  t.equal(texts.slice(1).join(' ').match(/Casa \d 110,00 €/g)?.length, 4)
  t.match(texts.at(-1), /Totale 440,00 €$/)
})

t.test('ten thousand rows are made within the memory of a thread', async (t) => {
  const rows = Array.from({ length: 10_000 }, (_, at) => (
    { listingId: `L${at}`, listingTitle: 'Trilocale', Q1Payouts: '0.01' }
  ))
  const texts = await textsOf({ kind: 'report', request: { rows, data: '2026-11-23' }, date }, -1)
  t.match(texts.at(-1), /L9999.*Totale 100,00 €/)
})

t.test('a fault of a template arrives with its code and its place', async (t) => {
  const made = await run({ kind: 'template', source: pageWith('\n<nix/>'), data: {}, date })
  t.match(made, { fault: { code: 'ELEMENTO_SCONOSCIUTO', riga: 2, colonna: 1 } })
})

t.test('a PDF that takes more memory than its thread has ends that thread alone', async (t) => {
  const small = open(24)
  const rows = Array.from({ length: 20_000 }, (_, at) => ({ a: `uno ${at}`, b: `due ${at}`, c: `tre ${at}` }))
  const large = small({ kind: 'template', source: pageWith('<table data="righe"/>'), data: { righe: rows }, date })
  await t.rejects(large, { code: 'LAVORO_NON_RIUSCITO' })
  t.match(await textsOf({ kind: 'template', source: pageWith('dopo'), data: {}, date }), ['dopo'])
})
