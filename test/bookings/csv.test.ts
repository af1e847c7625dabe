import fc from 'fast-check'
import postgres from 'postgres'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import type { ImportResponse } from '#schemas/booking-csv.ts'
import type { ErrorBody } from '#schemas/common.ts'
import type { Unit } from '#schemas/unit.ts'
import { LOCKS } from '#src/database/locks.ts'
import { addDays } from '#src/lib/time.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { form, FORM_TYPE } from '#test/identity/form.ts'
import { BOOKINGS, create, fieldsAtFault, guests, list, saveGuests } from './samples.ts'

const CSV = `${BOOKINGS}/csv`
const { app, call, url } = await build(t)
const { sql } = app

async function upload (file: string | Buffer, query = '') {
  const bytes = typeof file === 'string' ? Buffer.from(file) : file
  return call('POST', CSV + query, form([['file', bytes, 'prenotazioni.csv']]), { 'content-type': FORM_TYPE })
}

async function dryRun (file: string | Buffer, query = ''): Promise<ImportResponse> {
  const response = await upload(file, query)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json()
}

/** Imports the file into an empty house, and returns its bookings. */
async function imported (file: string | Buffer, query = ''): Promise<Booking[]> {
  await sql`delete from prenotazioni`
  const response = await upload(file, `?prova=false${query}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return list(call)
}

async function unit (nome: string): Promise<Unit> {
  const made = await call('POST', '/api/v1/unita', { nome, tipo: 'camera', ospiti_massimi: 4 })
  return made.json<{ data: Unit }>().data
}

const glicine = await unit('Camera Glicine')

const HEAD = 'codice;ospite;arrivo;partenza;ospiti;paese'
const LINE = 'BK-1;Anna Bianchi;28/11/2026;30/11/2026;2;IT'
const ANNA = {
  idf_gen: 'BK-1',
  nome_cognome: 'Anna Bianchi',
  check_in: '2026-11-28',
  check_out: '2026-11-30',
  numero_ospiti: 2,
  paese_id: 380,
  lingua: 'IT',
  stato: 'confermata',
  unita_id: null
}

t.test('a few conflicts among many lines cost few statements, and each names its line', async (t) => {
  await sql`delete from prenotazioni`
  const { nome } = await unit('Camera Ortensia')
  // Each line has its own night, except the last one of each 250, which repeats the night before.
  const night = (at: number) => addDays('2027-01-01', at % 250 === 249 ? at - 1 : at)
  const lines = Array.from({ length: 500 }, (_, at) => `Anna;${night(at)};${addDays(night(at), 1)};1;IT;${nome}`)
  const before = await countChanges()
  const { importate, errori } = await dryRun(['ospite;arrivo;partenza;ospiti;paese;unita', ...lines].join('\n'))
  t.equal(importate, 498)
  t.same(errori.map(({ riga, messaggio }) => [riga, /dalla riga \d+/.exec(messaggio)?.[0]]), [
    [251, 'dalla riga 250'], [501, 'dalla riga 500']
  ])
  await until(async () => await countChanges() > before)
  t.ok(await countChanges() - before < 100)
})

/** The writes so far to the counts by country, also those that were rolled back. There is one for each statement. */
async function countChanges (): Promise<number> {
  const [row] = await sql<[{ writes: number }]>`
    select (n_tup_ins + n_tup_upd)::int as writes from pg_stat_user_tables where relname = 'prenotazioni_per_paese'`
  return row.writes
}

t.test('a line of 300,000 delimiters is refused as too long', async (t) => {
  for (const file of [';'.repeat(300_000), `${HEAD}\n${LINE}\n${';'.repeat(300_000)}`]) {
    const response = await upload(file)
    t.match(response.json(), { status: 400, error: `riga ${file.split('\n').length}, colonna 1: è troppo lunga` })
  }
})

t.test('a dry run reports what would be imported, and stores nothing', async (t) => {
  await sql`delete from prenotazioni`
  const said = await dryRun(`${HEAD};colore\n${LINE};rosso\n`)
  t.match(said, {
    success: true,
    message: '1 prenotazione sarebbe importata',
    prova: true,
    righe: 1,
    importate: 1,
    errori: [],
    doppioni: [],
    colonne_ignorate: ['colore']
  })
  t.match(said.colonne.find(({ campo }) => campo === 'check_in'), { colonna: 'arrivo' })
  t.same(await list(call), [])
})

t.test('the import says that it leaves out the data of guests', async (t) => {
  const ignored = ['Data di nascita', 'numero_documento', 'colore']
  t.match(await dryRun(`${HEAD};${ignored.join(';')}\n${LINE};12/04/1985;CA00000AA;rosso\n`), {
    success: true,
    message: '1 prenotazione sarebbe importata. I dati degli ospiti non si importano (Data di nascita, ' +
      'numero_documento): inserirli nella prenotazione',
    colonne_ignorate: ignored
  })
})

const SPELLED: Readonly<Record<string, readonly [file: string | Buffer, expected: object]>> = {
  'semicolons, Italian days': [`${HEAD}\n${LINE}`, ANNA],
  'commas, ISO days': [`${HEAD.replaceAll(';', ',')}\r\nBK-1,Anna Bianchi,2026-11-28,2026-11-30,2,ITA\r\n`, ANNA],
  'tabs, UTF-8 with BOM': [`\ufeff${HEAD.replaceAll(';', '\t')}\n${LINE.replaceAll(';', '\t')}`, ANNA],
  'UTF-16': [Buffer.from(`\ufeff${HEAD}\n${LINE.replace('Bianchi', 'Forlì')}`, 'utf16le'), {
    ...ANNA, nome_cognome: 'Anna Forlì'
  }],
  'Windows-1252': [Buffer.from(`${HEAD}\n${LINE.replace('Bianchi', 'Forlì')}`, 'latin1'), {
    ...ANNA, nome_cognome: 'Anna Forlì'
  }],
  'a column for each name, nights, country in words': [
    'Cognome;Nome;Data di arrivo;N. notti;Persone;Nazione\nBianchi;Anna;28/11/2026;2;2;Germania', {
      ...ANNA, idf_gen: null, paese_id: 276
    }
  ],
  Airbnb: [
    'Confirmation code,Status,Guest name,Contact,# of adults,# of children,# of infants,Start date,End date,' +
      '# of nights,Booked,Listing,Earnings\n' +
      'HM4711ABCD,Confirmed,Anna Bianchi,+39 055 1,2,1,0,28/11/2026,30/11/2026,2,2026-10-01,' +
      'Camera glicine,"€ 1.240,50"', {
      ...ANNA,
      idf_gen: 'HM4711ABCD',
      telefono: '+39 055 1',
      numero_ospiti: 3,
      unita_id: glicine.id,
      prezzo: 124_050,
      valuta: 'EUR'
    }
  ],
  'Booking.com': [
    'Book number,Booked by,Guest name(s),Check-in,Check-out,Booked on,Status,Rooms,People,Adults,Children,Price,' +
      'Remarks,Booker country,Duration (nights)\n4711,Rita Neri,Anna Bianchi,2026-11-28,2026-11-30,2026-10-01,' +
      'cancelled_by_guest,1,2,2,0,240 EUR,Late arrival,de,2', {
      ...ANNA, idf_gen: '4711', paese_id: 276, stato: 'annullata', prezzo: 24_000, note: 'Late arrival'
    }
  ],
  'states in words': [`${HEAD};Stato\n${LINE};no_show`, { ...ANNA, stato: 'non_presentato' }]
}

for (const [name, [file, expected]] of Object.entries(SPELLED)) {
  t.test(`a file is imported: ${name}`, async (t) => {
    t.match(await imported(file, '&paese_id=380'), [expected])
  })
}

/** A line with one change, and the error that it causes. */
const WRONG: readonly [column: string, value: string, error: object][] = [
  ['arrivo', '31/02/2026', { colonna: 'arrivo', campo: 'check_in', messaggio: /giorno/ }],
  ['arrivo', '', { colonna: 'arrivo', campo: 'check_in', messaggio: /obbligatorio/ }],
  ['partenza', '28/11/2026', { colonna: 'partenza', campo: 'check_out', messaggio: /dopo check_in/ }],
  ['ospiti', 'due', { colonna: 'ospiti', campo: 'numero_ospiti', messaggio: /numero intero/ }],
  ['ospiti', '0', { colonna: 'ospiti', campo: 'numero_ospiti', messaggio: /almeno 1/ }],
  ['paese', 'Atlantide', { colonna: 'paese', campo: 'paese_id', messaggio: /«Atlantide» non è un paese/ }],
  ['ospite', 'A'.repeat(201), { colonna: 'ospite', campo: 'nome_cognome', messaggio: /200/ }],
  ['unita', 'Camera Rosa', { colonna: 'unita', campo: 'unita_id', messaggio: /«Camera Rosa»/ }],
  ['stato', 'forse', { colonna: 'stato', campo: 'stato', messaggio: /confermata, annullata/ }],
  ['prezzo', '1.234', { colonna: 'prezzo', campo: 'prezzo', messaggio: /non è un importo chiaro/ }],
  ['prezzo', 'gratis', { colonna: 'prezzo', campo: 'prezzo' }],
  ['prezzo', '1,2345', { colonna: 'prezzo', campo: 'prezzo', messaggio: /due decimali/ }],
  ['prezzo', '-1,00', { colonna: 'prezzo', campo: 'prezzo', messaggio: /almeno 0/ }],
  ['email', 'anna', { colonna: 'email', campo: 'email' }],
  ['valuta', 'euro', { colonna: 'valuta', campo: 'valuta' }]
]

t.test('each wrong value is named by line and column, and nothing is stored', async (t) => {
  await sql`delete from prenotazioni`
  const names = HEAD.split(';')
  for (const [column, value, error] of WRONG) {
    const columns = names.includes(column) ? names : [...names, column]
    const values = LINE.split(';')
    values[columns.indexOf(column)] = value
    const file = `${columns.join(';')}\n${LINE}${';'.repeat(columns.length - names.length)}\n` +
      values.join(';').replace('BK-1', 'BK-2')
    t.match(await dryRun(file), { success: false, importate: 1, totale_errori: 1, errori: [{ riga: 3, ...error }] },
      `${column}: ${value.slice(0, 20)}`)
    const refused = await upload(file, '?prova=false')
    t.same(fieldsAtFault(refused), [`riga 3, ${column}`])
  }
  t.same(await list(call), [], 'not even the valid line')
})

t.test('a file that lacks needed columns, or is not CSV, is refused', async (t) => {
  const said = await dryRun('Colore;Taglia\nrosso;1')
  t.same(said.errori.map(({ riga, campo }) => [riga, campo]), [
    [1, 'nome_cognome'], [1, 'check_in'], [1, 'check_out'], [1, 'numero_ospiti'], [1, 'paese_id']
  ])
  for (const [file, messaggio] of [
    [`${HEAD}\n"BK-1;Anna`, /virgolette/],
    [`${HEAD}\nBK-1;Anna`, /riga 2.*campi/],
    ['', /righe/],
    [`${HEAD}\n${Array(5001).fill(LINE).join('\n')}`, /5000 righe/]
  ] as const) {
    t.match((await upload(file)).json<ErrorBody>(), { status: 400, dettagli: [{ campo: 'file', messaggio }] })
  }
  t.match((await upload(Buffer.from([0x41, 0xc3, 0xa0, 0xff]))).json(), { codice: 'CORPO_NON_UTF8' })
  t.equal((await call('POST', CSV, {})).statusCode, 415)
})

t.test('a line whose code a booking or an earlier line has is reported and skipped', async (t) => {
  await sql`delete from prenotazioni`
  const { id } = await create(call, { idf_gen: 'BK-1' })
  const file = `${HEAD}\n${LINE}\n${LINE.replace('BK-1', 'BK-2')}\n${LINE.replace('BK-1', 'BK-2')}\n` +
    LINE.replace('BK-1', '')
  const doppioni = [
    { riga: 2, codice: 'BK-1', prenotazione_id: id }, { riga: 4, codice: 'BK-2', prenotazione_id: null }
  ]
  t.match(await dryRun(file), { success: true, importate: 2, totale_doppioni: 2, doppioni })
  t.match((await upload(file, '?prova=false')).json(), { message: '2 prenotazioni importate', doppioni })
  t.same((await list(call)).map(({ idf_gen }) => idf_gen), ['BK-1', 'BK-2', null])
})

t.test('an occupied unit is an error of its line, even if an earlier line occupies the unit', async (t) => {
  await sql`delete from prenotazioni`
  const file = (days: readonly string[]) =>
    `${HEAD};unita\n` + days.map((arrival, at) =>
      `BK-${at};Anna Bianchi;${arrival};;2;IT;camera glicine`.replace(';;', ';2026-12-05;')).join('\n')
  t.match(await dryRun(file(['2026-12-01', '2026-12-04'])), {
    importate: 1,
    errori: [{ riga: 3, colonna: 'unita', messaggio: 'L’unità è occupata dal 01/12/2026 al 05/12/2026 dalla riga 2' }]
  })
  const { id } = await create(call, { unita_id: glicine.id, check_in: '2026-12-04', numero_notti: 1 })
  const many = Array.from({ length: 300 }, (_, at) => `2026-12-0${at === 280 ? 1 : 4}`)
  const some = `${HEAD};unita\n` + many.map((arrival, at) =>
    `BK-${at};Anna Bianchi;${arrival};2026-12-05;2;IT;${at === 280 ? 'Camera Glicine' : ''}`).join('\n')
  t.match(await dryRun(some), { importate: 299, errori: [{ riga: 282, messaggio: new RegExp(`prenotazione ${id}`) }] })
  t.equal((await list(call)).length, 1)
})

t.test('three concurrent imports of one file store each code once', async (t) => {
  await sql`delete from prenotazioni`
  const file = `${HEAD}\n` + Array.from({ length: 20 }, (_, at) => LINE.replace('BK-1', `BK-${at}`)).join('\n')
  const done = await Promise.all([1, 2, 3].map(() => upload(file, '?prova=false')))
  t.same(done.map((each) => each.json<ImportResponse>().importate).sort(), [0, 0, 20])
  t.equal((await list(call)).length, 20)
})

t.test('imports that wait leave the connections of the pool to other requests', async (t) => {
  await sql`delete from prenotazioni`
  const other = postgres(url, { max: 1 })
  t.teardown(() => other.end())
  const file = `${HEAD}\n${LINE}`
  const imports = await other.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(${LOCKS.bookingImports})`
    const started = Array.from({ length: sql.options.max + 1 }, () => upload(file))
    await until(async () => (await tx`select from pg_locks where not granted and locktype = 'advisory'`).length > 0)
    t.same(await list(call), [])
    return started.map((each) => ({ each }))
  })
  t.same(await Promise.all(imports.map(async ({ each }) => (await each).statusCode)), imports.map(() => 200))
})

t.test('an export applies the filters of the list, and has a line for each booking or each guest', async (t) => {
  await sql`delete from prenotazioni`
  const { id } = await create(call, {
    unita_id: glicine.id, prezzo: 24_005, telefono: '+39 055 1', note: 'uno; "due"\ntre'
  })
  await create(call, { nome_cognome: '=1+1', check_in: '2026-12-01', stato: 'annullata' })
  await saveGuests(call, id, guests(2))
  const csv = async (query = '') => (await call('GET', CSV + query)).body
  const response = await call('GET', CSV)
  t.match(response.headers, {
    'content-type': 'text/csv; charset=utf-8', 'content-disposition': 'attachment; filename="prenotazioni.csv"'
  })
  const [head, first, second] = response.body.split('\r\n')
  t.equal(head, '\ufeffid;codice;ospite;arrivo;partenza;notti;ospiti;nomi_ospiti;stato;unita;canale;prezzo;valuta;' +
    'lingua;paese;email;telefono;gruppo;note')
  t.equal(first, `${id};;Anna Bianchi;21/11/2026;24/11/2026;3;2;Nome 0 Prova, Nome 1 Prova;confermata;` +
    'Camera Glicine;;240,05;EUR;IT;IT;;\'+39 055 1;;"uno; ""due""\ntre"')
  t.match(second, /^\d+;;'=1\+1;01\/12\/2026;/, 'a formula becomes a text')
  t.equal((await csv('?stato=annullata')).split('\r\n').length, 3)
  t.equal((await csv('?q=prova&check_in_da=2026-11-01')).split('\r\n').length, 3)
  const byGuest = (await csv('?ospiti=true&stato=confermata')).split('\r\n')
  t.match(byGuest[0], /;ospite_nome;ospite_cognome;/)
  t.equal(byGuest.length, 4)
  t.match(byGuest[2], /;Nome 1;Prova;/)
  t.match((await upload(byGuest.join('\r\n'))).json<ErrorBody>(), {
    status: 400, dettagli: [{ campo: 'file', messaggio: /una riga per ospite/ }]
  })
  t.same(fieldsAtFault(await call('GET', `${CSV}?limit=3`)), ['limit'])
})

const text = (max: number) => fc.string({ unit: 'grapheme', minLength: 1, maxLength: max })
  // eslint-disable-next-line no-control-regex
  .map((each) => each.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim().slice(0, max).toWellFormed().trim())
  .filter((each) => each !== '' && !/^\p{Zs}*$/u.test(each))
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value)

t.test('an export imported into an empty house gives the same bookings', async (t) => {
  const special = fc.constantFrom('=1+1', '+39 1', '-x', '@a', '\'=a', 'uno;due', '"a"', ' a'.trim(), 'Forlì', '1.234')
  const some = (max: number) => fc.oneof(text(max), special)
  const bookings = fc.uniqueArray(fc.record({
    nome_cognome: some(60),
    lingua: fc.constantFrom('IT', 'DE'),
    email: maybe(fc.constantFrom('anna@example.com', 'a.b+c@example.org')),
    telefono: maybe(some(40)),
    paese_id: fc.constantFrom(380, 276, 840, 9999),
    from: fc.nat(400),
    numero_notti: fc.integer({ min: 1, max: 40 }),
    numero_ospiti: fc.integer({ min: 1, max: 9 }),
    idf_gen: maybe(some(30)),
    stato: fc.constantFrom('confermata', 'annullata', 'non_presentato'),
    isAssigned: fc.boolean(),
    canale: maybe(some(40)),
    prezzo: maybe(fc.nat(2_000_000_000)),
    valuta: fc.constantFrom('EUR', 'USD'),
    note: maybe(fc.array(some(30), { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'))),
    gruppo: maybe(some(40))
  }), { maxLength: 8, selector: ({ idf_gen }) => idf_gen ?? Symbol('none') })
  const plain = ({ id: _, created_at: _created, updated_at: _updated, ...rest }: Booking) => rest
  await fc.assert(fc.asyncProperty(bookings, async (given) => {
    await sql`delete from prenotazioni`
    for (const { from, isAssigned, prezzo, valuta, ...rest } of given) {
      const booking = { ...rest, check_in: addDays('2026-11-21', from), ...prezzo !== null && { prezzo, valuta } }
      const response = await call('POST', BOOKINGS, { ...booking, unita_id: isAssigned ? glicine.id : null })
      if (response.statusCode === 409) await create(call, booking)
      else if (response.statusCode !== 201) throw new Error(response.body)
    }
    const before = (await list(call)).map(plain)
    const { rawPayload } = await call('GET', CSV)
    t.same((await imported(rawPayload)).map(plain), before)
  }), { numRuns: 30 })
})
