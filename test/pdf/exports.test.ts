import { readFileSync } from 'node:fs'
import t from 'tap'
import { sumByCurrency, writeMoney } from '#src/pdf/decimal.ts'
import { renderPdf } from '#src/pdf/render.ts'
import { readCsvRows } from '#src/pdf/tables/csv-rows.ts'
import { readRows, type ReadOptions } from '#src/pdf/tables/read-rows.ts'
import makePdf from '#src/pdf/task.ts'
import { DATE, pageWith, readPages } from './read-pdf.ts'

/* Tests reports of invented files that have the columns of real exports. */

const open = (file: string) => readFileSync(new URL(`../../fixtures/reports/${file}.csv`, import.meta.url))

/** The totals of each summed column, by currency. */
function totalsOf ({ rows, columns }: ReturnType<typeof readRows>): Record<string, string> {
  return Object.fromEntries(columns.filter(({ total }) => total !== undefined).map(({ field, format, currency }) => {
    const sums = sumByCurrency(rows.map((row) => row[field]), format === 'currency' ? currency : '')
    return [field, [...sums].map(([code, sum]) => writeMoney(sum, code).trim()).join(' + ')]
  }))
}

/** Reads a file whose delimiter is a semicolon. */
const readText = (text: string, options: ReadOptions = {}) =>
  readRows(readCsvRows(Buffer.from(`sep=;\n${text}`)).rows, options)
/** Reads the cells of one column of a file. A second column contains only `x`. */
const readCells = (cells: readonly string[], options: ReadOptions = {}, name = 'Importo') => {
  const text = [`${name}\tEsempio`, ...cells.map((cell) => `${cell}\tx`)].join('\n')
  const { rows, lines } = readCsvRows(Buffer.from(text))
  const read = readRows(rows, { lines, ...options })
  return { ...read, cells: read.rows.map((row) => row[name]), total: totalsOf(read)[name] }
}

/** For each file: the expected totals, and columns that keep their characters. */
const EXPORTS: Record<string, { totals: Record<string, string>, kept: Record<string, string> }> = {
  airbnb: {
    totals: {
      Nights: '42',
      Amount: '4310.91 EUR + 1859.64 USD',
      'Paid out': '4310.91 EUR + 1859.64 USD',
      'Service fee': '790.74 EUR + 341.13 USD',
      'Cleaning fee': '315.00 EUR + 105.00 USD',
      'Gross earnings': '5101.65 EUR + 2200.77 USD',
      'Occupancy taxes': '0.00 EUR + 0.00 USD'
    },
    kept: { 'Reference code': 'G-007ABC0XYZ', Date: '11/03/2026' }
  },
  'booking-payout': {
    totals: {
      Rooms: '10',
      'Room nights': '30',
      'Gross amount': '4799.50 EUR + 686.75 GBP',
      Commission: '-719.92 EUR + -103.01 GBP',
      'Payments Service Fee': '-62.39 EUR + -8.93 GBP',
      'Tax/VAT': '-158.39 EUR + -22.66 GBP',
      'Transaction amount': '4017.19 EUR + 574.81 GBP',
      'Payable amount': '4592.00 EUR',
      'Payout amount': '2467.94 EUR'
    },
    kept: { 'Property ID': '0562003', 'Legal ID': '0841109', 'Bank account': '*4321' }
  },
  'booking-reservations': {
    totals: {
      Rooms: '12',
      Persons: '24',
      Adults: '24',
      Children: '0',
      Price: '8827.8 EUR',
      'Commission amount': '1324.16 EUR',
      'Duration (nights)': '33'
    },
    kept: { 'Book number': '4123400567', 'Commission %': '15', 'Phone number': '+39 031 555 0100' }
  },
  'gestionale-albergo': {
    totals: { 'Numero notti': '21', Ospiti: '18', Importo: '12889.05 EUR', 'Tassa di soggiorno': '140.00 EUR' },
    kept: {
      'N. prenotazione': '000471',
      Camera: '007',
      'Partita IVA': '01234567890',
      CAP: '00184',
      Telefono: '+39 06 555 0100',
      'Aliquota IVA': '10%',
      Voto: '9,0'
    }
  },
  'jpy-payout': {
    totals: { Nights: '16', 'Gross amount': '325868 JPY', Commission: '-39101 JPY', Payout: '286767 JPY' },
    kept: { 'Reservation number': '0071234', Room: '101', Rating: '4.1' }
  },
  smoobu: {
    totals: {
      Nächte: '44',
      Erwachsene: '16',
      Kinder: '4',
      Preis: '9057.20 EUR',
      Kommission: '1358.57 EUR',
      Reinigungsgebühr: '480.00 EUR',
      Anzahlung: '200.00 EUR'
    },
    kept: { Buchungsnummer: '088120', Postleitzahl: '01067', Bewertung: '4,5' }
  },
  sparkasse: { totals: { Betrag: '3431.10 EUR' }, kept: { 'Kontonummer/IBAN': 'DE02120300000000202050' } },
  'stripe-balance': {
    totals: {
      gross: '1077.80 EUR + 311.97 USD + 55500 JPY',
      fee: '15.10 EUR + 4.37 USD + 1997 JPY',
      net: '1062.70 EUR + 307.60 USD + 53503 JPY',
      customer_facing_amount: '1077.80 EUR + 311.97 USD + 55500 JPY'
    },
    kept: { balance_transaction_id: 'txn_1Q0ZxYKLocandaProva00AbCdEf' }
  },
  'stripe-payments': {
    totals: {
      Amount: '7946.25 EUR + 2648.75 CHF',
      'Amount Refunded': '100.00 EUR + 0.00 CHF',
      'Converted Amount': '10780.42 EUR',
      'Converted Amount Refunded': '100.00 EUR',
      Fee: '163.71 EUR',
      'Taxes On Fee': '0.00 EUR'
    },
    kept: { 'Invoice ID': '0017-2026', 'Customer ID': 'cus_Rk00Locanda' }
  },
  vrbo: {
    totals: {
      'Number of Nights': '36',
      'Gross Booking Amount': '22540.68 USD',
      Deductions: '-1803.24 USD',
      'Payout Amount': '17984.14 USD',
      'Lodging Tax Owner Remits': '0.00 USD'
    },
    kept: { 'Property ID': '321.1000.987', 'Unit ID': '001' }
  }
}

for (const [file, { totals, kept }] of Object.entries(EXPORTS)) {
  t.test(`adds amounts and counts of an export by currency, and nothing else: ${file}`, async (t) => {
    const read = readRows(readCsvRows(open(file)).rows)
    t.same(totalsOf(read), totals)
    t.match(read.rows[0], kept)
  })

  t.test(`prints codes and other kept values of an export unchanged: ${file}`, async (t) => {
    const made = await makePdf({
      kind: 'report', request: { csv: open(file), data: '2026-11-28' }, date: DATE.getTime()
    })
    if (made.fault !== null) throw new Error(made.fault.message)
    const printed = (await readPages(made.bytes)).join(' ').replace(/[\s\u00AD]/g, '')
    for (const value of Object.values(kept)) t.ok(printed.includes(value.replace(/\s/g, '')), value)
    t.notMatch(printed, 'TotaleTotale')
  })
}

t.test('a total in the file is not added twice, and causes a warning', async (t) => {
  const { rows, lines } = readCsvRows(open('gestionale-albergo'))
  t.same(readRows(rows, { lines }).warnings, [
    { codice: 'RIGA_DI_TOTALE', messaggio: 'riga 12: totale del file, non si somma' }
  ])
  const labels = ['Totale', 'TOTALE GENERALE', 'Total EUR:', 'Subtotale', 'Gesamtsumme', 'Totale gennaio']
  for (const label of labels) {
    t.equal(readText(`a;b;Importo\nuno;x;1,50\n${label};;1,50`).rows.length, 1, label)
  }
  for (const row of ['Total Relax;x;1,50', 'Totò;;1,50', 'Casa;Totale;2']) {
    t.equal(readText(`a;b;Importo\nuno;x;1,50\n${row}`).rows.length, 2, row)
  }
})

t.test('rows without values are left out', async (t) => {
  t.same(readText('a;b\n1;x\n;\n - ;n/a\n2;y').rows, [{ a: '1', b: 'x' }, { a: '2', b: 'y' }])
})

const WRITTEN: [cells: string[], total: string][] = [
  [['1,234.56', '0.44'], '1235.00 EUR'],
  [['1.234,50', '1.000'], '2234.50 EUR'],
  [['$1,234.00', '-$61.70'], '1172.30 USD'],
  [['(10.50)', '10.50-', '\u221210.50', '+1.00'], '-30.50 EUR'],
  [['1 234,50', '1\u00A0000,00', '1\u202F000'], '3234.50 EUR'],
  [['CHF 1\'234.50', '1’000.00 CHF'], '2234.50 CHF'],
  [['12.50 €', 'USD 3.00', '£ 1'], '12.50 EUR + 3.00 USD + 1 GBP'],
  [['¥12,345', '¥ 1,000'], '13345 JPY'],
  [['R$ 1.234,00', '1,00 zł'], '1234.00 BRL + 1.00 PLN'],
  [['1.234.567', '1'], '1234568 EUR'],
  [['0.125', '1234.567'], '1234.692 EUR']
]
for (const [cells, total] of WRITTEN) {
  t.test(`reads amounts as written: ${cells.join(' · ')}`, async (t) => {
    t.equal(readCells(cells).total, total)
  })
}

t.test('a number that may mean two amounts is refused with line and column, unless others prove one', async (t) => {
  for (const cell of ['1.200', '1,200', '-999.999']) {
    t.throws(() => readCells(['1', cell]), { code: 'CSV_NON_VALIDO', place: { riga: 3, colonna: 1 } }, cell)
  }
  t.equal(readCells(['1.200'], { decimali: 'virgola' }).total, '1200 EUR')
  t.equal(readCells(['1.200'], { decimali: 'punto' }).total, '1.200 EUR')
  t.equal(readCells(['1.200', '0,50']).total, '1200.50 EUR', 'another row proves it')
  const { rows, lines } = readCsvRows(Buffer.from('Importo;Tassa\n1.200;0,50'))
  t.equal(totalsOf(readRows(rows, { lines })).Importo, '1200 EUR', 'another column proves it')
  t.equal(totalsOf(readRows([{ Importo: '1.200' }])).Importo, '1.200 EUR', 'JSON has decimal dots')
  t.same(readCells(['1.200', '4.875'], {}, 'Rating').cells, ['1.200', '4.875'], 'ratings are not added')
})

t.test('a column that cannot be summed causes a warning that names the first reason', async (t) => {
  const obstacles: [cells: string[], options: ReadOptions, messaggio: RegExp][] = [
    [['1,50', '2,50', 'in sospeso'], {}, /«Importo» non si somma: riga 4, «in sospeso»/],
    [['1,50', '1.234,50', '2.50'], {}, /riga 4, «2.50»/],
    [['1.50', '1,50'], { decimali: 'virgola' }, /riga 2, «1.50»/]
  ]
  for (const [cells, options, messaggio] of obstacles) {
    const { warnings, total, cells: read } = readCells(cells, options)
    t.match(warnings, [{ codice: 'COLONNA_NON_SOMMATA', messaggio }])
    t.equal(total, undefined)
    t.same(read, cells, 'the values are printed as they are')
  }
  t.same(readCells(['Suite', '12', '13'], {}, 'Camera').warnings, [])
})

t.test('the currency of an amount is in its cell, its row or the title, or it is the given one', async (t) => {
  const total = (text: string, options: ReadOptions = {}) => totalsOf(readText(text, options))
  t.match(total('Betrag (CHF)\n1,50'), { 'Betrag (CHF)': '1.50 CHF' })
  t.match(total('Importo\n1,50', { valuta: 'GBP' }), { Importo: '1.50 GBP' })
  t.match(total('Importo;Valuta\n1,50;gbp\n$2,00;EUR\n$3,00;AUD'), { Importo: '1.50 GBP + 2.00 USD + 3.00 AUD' })
  const text = 'Gross;Transaction currency;Payout amount;Payout currency\n1.50;GBP;2.50;EUR'
  t.match(total(text), { Gross: '1.50 GBP', 'Payout amount': '2.50 EUR' })
})

t.test('codes and levels are not added up', async (t) => {
  t.equal(readCells(['007', '12']).total, undefined, 'leading zeros')
  t.equal(readCells(['4123400567', '4123408486'], {}, 'X').total, undefined, 'long numbers')
  const codes = ['Camera', 'Room', 'Telefono', 'CAP', 'Partita IVA', 'VAT number', 'Steuernummer', 'anno', 'No.']
  const levels = ['Rating', 'Prezzo medio', 'Aliquota', 'Saldo', 'Prezzo per notte', 'Commission %']
  for (const name of [...codes, ...levels]) {
    t.equal(readCells(['1', '2'], {}, name).total, undefined, name)
  }
  for (const name of ['Camere', 'Rooms', 'Numero notti', 'Number of guests', 'IVA', 'Occupancy taxes', 'n. ospiti']) {
    t.match(readCells(['1', '2'], {}, name).total, /^3/, name)
  }
  t.equal(readCells(['10%', '12,5 %'], {}, 'X').total, undefined)
})

t.test('a table with several currencies has a line of totals for each', async (t) => {
  const righe = [{ chi: 'a', Importo: '1234.50 EUR', notti: 1 }, { chi: 'b', Importo: '12345 JPY', notti: 2 }]
  const { bytes } = await renderPdf(pageWith('<table data="righe"/>'), { righe }, { date: DATE })
  const [text] = await readPages(bytes)
  t.match(text, /a 1\.234,50 € 1 b 12\.345 JPY 2 Totale 3 Totale EUR 1\.234,50 € Totale JPY 12\.345 JPY$/)
})

t.test('a table of forty columns is divided, and no column is lost or hyphenated', async (t) => {
  const row = (at: number) => Object.fromEntries(Array.from({ length: 40 }, (_, column) =>
    [`Campo${column}`, column % 3 === 0 ? `CODICE${'ABCDEFGH'[at % 8]}X${column}` : `${column * 100 + at}`]))
  for (const count of [12, 301]) {
    const righe = Array.from({ length: count }, (_, at) => row(at))
    const template = '<document orientation="landscape"><page><h2>Dettaglio</h2><table data="righe"/></page></document>'
    const { bytes } = await renderPdf(template, { righe }, { date: DATE })
    const pages = await readPages(bytes)
    const text = pages.join(' ')
    for (const [name, value] of Object.entries(righe.at(-1)!)) {
      t.ok(text.includes(name) && text.includes(Number(value) > 999 ? value.replace(/(?=...$)/, '.') : value), name)
    }
    t.match(pages[0], /^Dettaglio Campo0/, 'the heading is on the page of the first rows')
  }
})

t.test('no heading is alone at the end of a page', async (t) => {
  const righe = Array.from({ length: 5 }, (_, at) => ({ a: `riga ${at}` }))
  for (let height = 560; height < 760; height += 10) {
    const template = pageWith(`<div style="height: ${height}pt">x</div><h2>Titolo</h2><table data="righe"/>`)
    const { bytes } = await renderPdf(template, { righe }, { date: DATE })
    for (const page of await readPages(bytes)) t.notMatch(page, /Titolo( A)?$/, `${height} points`)
  }
})
