import { existsSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { GuestInput } from '#schemas/guest.ts'
import { LEGIBLE_FIELDS, type Leggibilita, type ParsedMrz, type ParseMrzResponse } from '#schemas/scanning.ts'
import { bundledData } from '#src/alloggiati/tables/bundled.ts'
import { birthDate, expiryDate } from '#src/scanning/mrz/dates.ts'
import { valueOf } from '#src/scanning/mrz/digits.ts'
import { type CheckedField, type Layout, layoutOf, LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { checkLines } from '#src/scanning/mrz/lines.ts'
import { zoneNotices } from '#src/scanning/mrz/zone-notices.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { present } from '#src/scanning/mrz/present.ts'
import { ALPHABET } from '#src/scanning/mrz/reader/network.ts'
import { READABLE } from '#src/scanning/mrz/reader/spots.ts'
import { presentZones } from '#src/scanning/ocr/present-zones.ts'
import { solve } from '#src/scanning/mrz/reader/solve.ts'
import { writeZone, type ZoneValues } from './mrz/write-zone.ts'
import { create } from '#test/bookings/samples.ts'
import { build } from '#test/helper.ts'
import { CHARACTERS, document, TODAY } from './mrz/samples.ts'

const { call } = await build(t, { TODAY })

const HOLDER: ZoneValues = {
  code: 'P',
  issuer: 'FRA',
  surname: 'VERDI',
  given: 'LUCA MARIA',
  number: 'V12345678',
  nationality: 'FRA',
  birth: '1980-02-29',
  sex: 'M',
  expiry: '2030-06-30',
  optional: '',
  further: ''
}

async function scan (values: Partial<ZoneValues>, name = 'TD3'): Promise<ParseMrzResponse> {
  const lines = writeZone(LAYOUTS.find((layout) => layout.name === name)!, { ...HOLDER, ...values })
  t.equal(layoutOf(lines)!.name, name)
  const response = await call('POST', '/api/mrz/parse', { lines })
  t.equal(response.statusCode, 200)
  return response.json<ParseMrzResponse>()
}

const about = ({ avvisi }: ParseMrzResponse, campo: string) =>
  avvisi.filter((each) => each.campo === campo).map(({ messaggio }) => messaggio).join(' ')

const PASSPORT = ['P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<', 'L898902C36UTO7408122F1204159ZE184226B<<<<<10']
const CARD = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']

const refused: [title: string, lines: string[], campi: string[], text: RegExp][] = [
  ['a line that is too short', CARD.with(2, CARD[2]!.slice(1)), ['lines[2]'], /ha 29 caratteri.*30.*TD1/],
  ['a line that is too long', PASSPORT.with(0, `${PASSPORT[0]}<`), ['lines[0]'], /ha 45 caratteri.*44.*TD3/],
  ['two lines of no format', ['AB', 'CD'], ['lines[0]', 'lines[1]'], /36 o 44/],
  ['a line that does not fit the first', [PASSPORT[0]!, 'A'.repeat(36)], ['lines[1]'], /ha 36 caratteri.*44/],
  ['two lines of a card', CARD.slice(0, 2), ['lines[0]', 'lines[1]'], /36 o 44/],
  ['a Swiss driving licence', ['CTD718D<<', ...CARD.slice(1)], ['lines[0]'], /ha 9 caratteri/],
  ['another character', PASSPORT.with(1, PASSPORT[1]!.replace('U', '!')), ['lines[1]'], /«!»/],
  ['a letter with an accent', PASSPORT.with(0, PASSPORT[0]!.replace('E', 'É')), ['lines[0]'], /«É»/],
  ['a letter whose upper case has two letters', CARD.with(2, CARD[2]!.slice(1).replace('S', 'ß')), ['lines[2]'], /«ß»/],
  ['a control character', PASSPORT.with(0, PASSPORT[0]!.replace('E', '\u0001')), ['lines[0]'], /U\+0001/],
  ['a blank inside', PASSPORT.with(0, PASSPORT[0]!.replace('<', ' ')), ['lines[0]'], /U\+0020/],
  ['an empty line', PASSPORT.with(0, ''), ['lines[0]'], /ha 0 caratteri/],
  ['one line', [PASSPORT[0]!], ['lines'], /almeno 2/],
  ['four lines', [...PASSPORT, ...PASSPORT], ['lines'], /al massimo 3/]
]

interface Vector { title: string, lines: string[], expected: Partial<ParsedMrz> }

/** A sample from another project's tests. Null means unknown. */
interface PublicVector {
  lines: string[]
  layout: string
  valid: boolean
  expected: Record<string, string | null> | null
  checks: Partial<Record<keyof typeof CHECKS, boolean>>
}

const CHECKS = {
  doc: 'docNumber', birth: 'birthDate', expiry: 'expiryDate', opt: 'optionalData', comp: 'composite'
} as const

/** Indices of driving licences, which have no ICAO layout, and of lines that are not a zone. */
const REFUSED = [12, 23, 47, 74]
const PUBLIC = new URL('../../../shared/data/mrz/vectors.json', import.meta.url)

const read = (lines: string[]) => {
  const checked = checkLines(lines)
  return present(parseZone(checked.layout, checked.lines, TODAY))
}

t.test('a foreign passport gives a guest with police codes, without the birth place', async (t) => {
  t.same(await scan({}), {
    parsed: {
      format: 'TD3',
      name: 'LUCA MARIA',
      surname: 'VERDI',
      docNumber: 'V12345678',
      birthDate: '1980-02-29',
      gender: 'M',
      nationality: 'FRA',
      expiryDate: '2030-06-30',
      issuingCountry: 'FRA',
      valid: true,
      checks: { docNumber: true, birthDate: true, expiryDate: true, optionalData: true, composite: true },
      layout: 'TD3',
      documentCode: 'P',
      nameTruncated: false,
      nationalityRaw: 'FRA',
      issuingCountryRaw: 'FRA'
    },
    ospite: {
      nome: 'LUCA MARIA',
      cognome: 'VERDI',
      sesso: 'M',
      data_nascita: '1980-02-29',
      cittadinanza: '100000215',
      tipo_documento: 'PASOR',
      numero_documento: 'V12345678',
      luogo_rilascio: '100000215',
      da_completare: ['stato_nascita', 'comune_nascita', 'provincia_nascita']
    },
    avvisi: []
  })
})

t.test('a scanned guest can be saved unchanged, except for the list of missing fields', async (t) => {
  const { id } = await create(call, { check_in: TODAY })
  const { ospite: { da_completare: missing, ...guest } } = await scan({ sex: '' })
  t.same(missing.filter((name) => !(name in GuestInput.properties)), [])
  const saved = await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guest] })
  t.match(saved.json(), { count: 1 }, saved.body)
})

t.test('the document type follows from document code and issuer', async (t) => {
  const types: [code: string, issuer: string, type: string][] = [
    ['P', 'ITA', 'PASOR'], ['PP', 'FRA', 'PASOR'], ['PD', 'FRA', 'PASDI'], ['PO', 'FRA', 'PASSE'],
    ['PR', 'FRA', 'RIFUG'], ['PS', 'FRA', ''], ['C', 'ITA', 'IDELE'], ['ID', 'ITA', 'IDELE'], ['ID', 'FRA', 'IDENT'],
    ['I', 'D', 'IDENT'], ['AC', 'UTO', 'TESEA'], ['IR', 'ITA', ''], ['X', 'FRA', '']
  ]
  const known = new Set(bundledData().documenti.map(({ codice }) => codice))
  for (const [code, issuer, type] of types) {
    const { ospite } = await scan({ code, issuer }, 'TD1')
    t.equal(ospite.tipo_documento, type, `${code} of ${issuer}`)
    t.equal(ospite.da_completare.includes('tipo_documento'), type === '')
    t.ok(type === '' || known.has(type))
  }
  t.match(about(await scan({ code: 'PO' }), 'tipo_documento'), /PO.*controllarlo/)
  t.match(about(await scan({ code: 'PS' }), 'tipo_documento'), /da tipi_documento/)
})

t.test('an Italian document lacks the comune of issue, and a foreign one has the issuing state', async (t) => {
  const italian = await scan({ issuer: 'ITA', nationality: 'ITA' })
  t.match(italian.ospite, { cittadinanza: '100000100', luogo_rilascio: '', da_completare: ['luogo_rilascio'] })
  const { ospite } = await scan({ issuer: 'D', nationality: 'D' })
  t.match(ospite, { cittadinanza: '100000216', luogo_rilascio: '100000216' })
})

t.test('a code that is not a state gives its citizenship, or stays empty with a warning', async (t) => {
  const citizenships = {
    XXA: '100000999', RKS: '100001002', GBD: '100000219', ROM: '100000235', XXB: '', UTO: '', UNO: '', XPO: ''
  }
  for (const [nationality, code] of Object.entries(citizenships)) {
    const response = await scan({ nationality })
    t.equal(response.parsed.nationality, nationality)
    t.equal(response.ospite.cittadinanza, code, nationality)
    t.equal(response.ospite.da_completare.includes('cittadinanza'), code === '')
    t.equal(about(response, 'cittadinanza').includes(nationality), code === '', nationality)
  }
  t.equal((await scan({ issuer: 'UNO' })).ospite.luogo_rilascio, '')
})

t.test('visas and residence permits are not identity documents, so their numbers are dropped', async (t) => {
  for (const [code, layout] of [['V', 'MRV-A'], ['VC', 'MRV-B'], ['IR', 'TD1']] as const) {
    const response = await scan({ code }, layout)
    t.match(response.ospite, { cognome: 'VERDI', tipo_documento: '', numero_documento: '', luogo_rilascio: '' })
    t.match(about(response, 'tipo_documento'), /visto|permesso/)
    t.equal(response.parsed.docNumber, 'V12345678')
  }
})

t.test('warns about expired documents and minors, by calendar day', async (t) => {
  t.equal(about(await scan({ expiry: '2025-12-31' }), 'expiryDate'), 'Il documento è scaduto il 31/12/2025')
  t.equal(about(await scan({ expiry: TODAY }), 'expiryDate'), '', 'valid on its last day')
  t.match(about(await scan({ birth: '2008-01-02' }), 'birthDate'), /minorenne.*17/)
  t.equal(about(await scan({ birth: '2008-01-01' }), 'birthDate'), '', 'adult on the birthday')
})

t.test('warns about each wrong check digit and each invalid date', async (t) => {
  const lines = ['P<FRAVERDI<<LUCA<<<<<<<<<<<<<<<<<<<<<<<<<<<<', 'V123456780FRA8002300M30<<<<0<<<<<<<<<<<<<<00']
  const response = (await call('POST', '/api/mrz/parse', { lines })).json<ParseMrzResponse>()
  t.match(response.parsed, { valid: false, birthDate: '', expiryDate: '' })
  t.match(about(response, 'docNumber'), /numero.*non corrisponde/)
  t.match(about(response, 'birthDate'), /800230.*non è un giorno/)
  t.match(about(response, 'expiryDate'), /30<<<<.*non è indicata per intero/)
  t.same(response.ospite.da_completare, ['data_nascita', 'stato_nascita', 'comune_nascita', 'provincia_nascita'])
})

t.test('warns about truncated names and names with digits, and lists missing ones', async (t) => {
  const long = await scan({ given: 'ANNA MARIA GIUSEPPINA ELISABETTA ROSA' })
  t.equal(long.parsed.nameTruncated, true)
  t.match(about(long, 'name'), /troncato/)
  t.match(about(await scan({ surname: '5M1TH' }), 'surname'), /5M1TH.*cifre/)
  const { ospite } = await scan({ given: '' })
  t.match(ospite, { nome: '', da_completare: ['nome'] })
})

t.test('fillers inside a document number are removed for the guest, with a warning', async (t) => {
  const response = await scan({ number: '123456<AA' })
  t.equal(response.parsed.docNumber, '123456<AA')
  t.equal(response.ospite.numero_documento, '123456AA')
  t.match(about(response, 'numero_documento'), /confrontarlo/)
})

t.test('the French card until 2021 has no expiry date, which causes a warning', async (t) => {
  const response = await scan({ code: 'ID', number: '050693202043' }, 'FRA')
  t.match(response.parsed, { format: 'TD2', layout: 'FRA', expiryDate: '', valid: true })
  t.match(about(response, 'expiryDate'), /francese/)
  t.equal(response.ospite.tipo_documento, 'IDENT')
})

t.test('proposes the comune of birth of an Italian card only when its text is unambiguous', async (t) => {
  const read = async (text: string, values: Partial<ZoneValues> = {}) => {
    const layout = LAYOUTS.find(({ name }) => name === 'TD1')!
    const lines = writeZone(layout, { ...HOLDER, code: 'C', issuer: 'ITA', nationality: 'ITA', ...values })
    return (await call('POST', '/api/mrz/parse', { lines, text })).json<ParseMrzResponse>()
  }
  const card = (place: string) => `COGNOME\nVERDI\nLUOGO E DATA DI NASCITA\n${place}\nSESSO M`
  const sure = await read(card('ROMA (RM) 29.02.1980'))
  t.match(sure.ospite, {
    comune_nascita: '412058091',
    provincia_nascita: 'RM',
    stato_nascita: '100000100',
    proposti: ['stato_nascita', 'comune_nascita', 'provincia_nascita'],
    da_completare: ['luogo_rilascio']
  })
  t.equal(about(sure, 'comune_nascita'), 'ROMA (RM) è proposto dal testo del documento: controllarlo')
  t.match((await read(card("FORLI' (FC), 29/02/1980"))).ospite, { provincia_nascita: 'FC' })

  const doubtful = [
    'ROMA (RM) 01.03.1980', 'ROMA 29.02.1980', 'ROMA (MI) 29.02.1980', 'ROMAA (RM) 29.02.1980', 'AROMA (RM) 29.02.1980',
    'PARIGI (FR) 29.02.1980', 'ROMA (RM) 29.02.1980\nMILANO (MI) 29.02.1980', 'ROMA (RM)\n29.02.1980', ''
  ]
  for (const place of doubtful) {
    const { ospite } = await read(card(place))
    t.notOk('comune_nascita' in ospite || 'proposti' in ospite, place)
    t.ok(ospite.da_completare.includes('comune_nascita'))
  }
  t.notOk('comune_nascita' in (await read(card('ROMA (RM) 29.02.1980'), { issuer: 'FRA' })).ospite, 'a French card')
})

for (const [title, lines, campi, text] of refused) {
  t.test(`returns a 400 that names the line: ${title}`, async (t) => {
    const response = await call('POST', '/api/mrz/parse', { lines })
    const { status, error, dettagli } = response.json<{
      status: number, error: string, dettagli: { campo: string }[]
    }>()
    t.equal(response.statusCode, 400)
    t.equal(status, 400)
    t.same(dettagli.map(({ campo }) => campo), campi)
    t.match(error, text)
  })
}

t.test('accepts lower case and blanks around a line', async (t) => {
  const [first, second, third] = CARD
  const lines = [`  ${first!.toLowerCase()}`, `${second}\r\n`, `\t${third} `]
  const response = await call('POST', '/api/mrz/parse', { lines })
  t.equal(response.statusCode, 200)
  t.match(response.json(), { parsed: { format: 'TD1', surname: 'ROSSI', docNumber: 'CA00000AA', valid: true } })
})

for (const { title, lines, expected } of json<Vector>(new URL('../../fixtures/mrz/vectors.json', import.meta.url))) {
  t.test(`parses a zone: ${title}`, async (t) => {
    t.match(read(lines), expected)
  })
}

const skip = existsSync(PUBLIC) ? false : 'the collection of public zones is missing'
t.test('parses the zones of other projects as their tests or Doc 9303 require', { skip }, async (t) => {
  const vectors = json<PublicVector>(PUBLIC)
  t.ok(vectors.length > 70)
  for (const [at, { lines, layout, valid, expected, checks }] of vectors.entries()) {
    if (REFUSED.includes(at)) {
      t.throws(() => read(lines), { code: 'RICHIESTA_NON_VALIDA' }, `${at} is refused`)
      continue
    }
    const parsed = read(lines)
    const wanted = Object.entries(expected ?? {}).map(([name, value]) => [name, value ?? ''])
    t.match(parsed, { ...Object.fromEntries(wanted), valid }, String(at))
    t.equal(parsed.layout.replace('-', ''), layout, `${at}: layout`)
    const digits = Object.entries(CHECKS).map(([name, check]) => [check, checks[name as keyof typeof CHECKS] ?? null])
    t.same(parsed.checks, Object.fromEntries(digits), `${at}: digits`)
  }
})

function json<T> (file: URL): T[] {
  return JSON.parse(readFileSync(file, 'utf8')) as T[]
}

const CHECK_OF = {
  number: 'docNumber', birth: 'birthDate', expiry: 'expiryDate', optional: 'optionalData'
} as const satisfies Record<CheckedField, string>

/** True when the parsed zone has these values. */
function hasValues (layout: Layout, lines: string[], holder: ZoneValues): boolean {
  const { birth, expiry, ...zone } = parseZone(layout, lines, TODAY)
  const read = { ...zone, birth: birth.day ?? '', expiry: expiry?.day ?? '' }
  return Object.entries(holder).every(([name, value]) => read[name as keyof ZoneValues] === value)
}

/** Simulated output of the network for these lines, with `doubt` as the second choice at some positions. */
function seen (lines: readonly string[], doubt: { line: number, at: number, char: string, log: number }[] = []) {
  return lines.map((text, line) => Array.from(text, (char, at) => {
    const logs = new Float32Array(ALPHABET.length).fill(-20)
    logs[ALPHABET.indexOf(char)] = -0.1
    for (const other of doubt) {
      if (other.line === line && other.at === at) logs[ALPHABET.indexOf(other.char)] = other.log
    }
    return logs
  }))
}

const readAs = (layout: Layout) => READABLE.find((each) => each.layout === layout)!

t.test('a zone of every layout is the same after it is written and parsed, with valid digits', async (t) => {
  const met = new Set<string>()
  fc.assert(fc.property(document, ({ layout, holder }) => {
    met.add(layout.name)
    const lines = writeZone(layout, holder)
    return layoutOf(lines) === layout &&
      parseZone(layout, lines, TODAY).valid &&
      hasValues(layout, lines, holder)
  }), { numRuns: 2000 })
  t.same([...met].sort(), LAYOUTS.map(({ name }) => name).sort(), 'every layout was generated')
})

t.test('one wrong character of a checked field is detected exactly when the sum differs', async () => {
  const changed = document.chain(({ layout, holder }) => fc.record({
    layout: fc.constant(layout),
    // The check digit of long numbers is elsewhere.
    lines: fc.constant(writeZone(layout, { ...holder, number: holder.number.slice(0, 9) })),
    field: fc.constantFrom(...layout.checked),
    at: fc.nat(),
    char: fc.constantFrom(...CHARACTERS)
  }))
  fc.assert(fc.property(changed, ({ layout, lines, field, at, char }) => {
    const [line, from, to] = layout.fields[field]!
    const position = from + at % (to - from)
    const before = lines[line]![position]!
    const wrong = lines.with(line, lines[line]!.slice(0, position) + char + lines[line]!.slice(position + 1))
    const { checks, valid } = parseZone(layout, wrong, TODAY)
    const isDetected = (valueOf(before) - valueOf(char)) % 10 !== 0
    return checks[CHECK_OF[field]] === !isDetected && valid === !isDetected
  }), { numRuns: 5000 })
})

t.test('parses lines of any characters without throwing', async () => {
  const zone = fc.constantFrom(...LAYOUTS).chain((layout) => fc.record({
    layout: fc.constant(layout),
    lines: fc.array(
      fc.string({ unit: fc.constantFrom(...CHARACTERS), minLength: layout.length, maxLength: layout.length }),
      { minLength: layout.lines, maxLength: layout.lines }
    )
  }))
  fc.assert(fc.property(zone, ({ layout, lines }) => {
    const read = parseZone(layout, lines, TODAY)
    const parsed = present(read)
    const names = [...Object.keys(parsed), ...Object.keys(parsed.checks)]
    return zoneNotices(read, TODAY).every(({ campo }) => names.includes(campo))
  }), { numRuns: 2000 })
})

t.test('an incomplete date with a day or month that no year has is impossible, others are incomplete', async (t) => {
  const faultOf = (text: string) => birthDate(text, 0, TODAY).fault
  for (const text of ['7413<<', '74<<32']) t.equal(faultOf(text), 'impossible', text)
  for (const text of ['<<<<<<', '7400<<', '74<<<<', '7412<<']) t.equal(faultOf(text), 'incomplete', text)
  const partialOf = (text: string) => birthDate(text, 0, TODAY).partial
  t.same(['<<<<<<', '7400<<', '741200', '27<<<<', '7413<<', '74A1<<'].map(partialOf),
    [undefined, '1974-00-00', '1974-12-00', '1927-00-00', undefined, undefined])
})

t.test('a birth date is the latest existing day that is not in the future', async (t) => {
  const dayOf = (text: string, today: string) => birthDate(text, 0, today).day
  t.equal(dayOf('260101', '2026-01-01'), '2026-01-01', 'today')
  t.equal(dayOf('260102', '2026-01-01'), '1926-01-02', 'tomorrow')
  t.equal(dayOf('270101', '2026-12-31'), '1927-01-01', 'a future date')
  t.equal(dayOf('000229', '2026-01-01'), '2000-02-29')
  t.equal(dayOf('000229', '2101-01-01'), '2000-02-29', '2100 is no leap year')
  t.equal(dayOf('010229', '2026-01-01'), undefined)
})

t.test('an expiry date is at most fifty years ahead, and otherwise in the past', async (t) => {
  const dayOf = (text: string) => expiryDate(text, 0, TODAY).day
  t.same([dayOf('761231'), dayOf('770101'), dayOf('991231'), dayOf('000101')],
    ['2076-12-31', '1977-01-01', '1999-12-31', '2000-01-01'])
})

t.test('corrects a letter that was read as a digit when check digits prove it', async (t) => {
  const wrong = CARD.with(0, CARD[0]!.replace('CA00000AA4', 'CAO0000AA4'))
  const doubt = [{ line: 0, at: 7, char: '0', log: -2 }]
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong, doubt))
  t.same(free.lines, wrong)
  t.same(proven?.lines, CARD)
  t.ok(free.likelihood - proven!.likelihood < 9)
})

t.test('does not correct a document that is printed with a wrong digit', async (t) => {
  const wrong = CARD.with(1, CARD[1]!.replace('6412308', '6412301'))
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong))
  t.same(free.lines, wrong)
  t.ok(proven === undefined || free.likelihood - proven.likelihood > 9)
})

t.test('a reading is `proven` only with valid check digits', async (t) => {
  let proofs = 0
  const noise = fc.constantFrom(...READABLE).chain((readable) => fc.record({
    readable: fc.constant(readable),
    cells: fc.tuple(...Array.from({ length: readable.layout.lines }, () => fc.array(
      fc.float32Array({ min: -12, max: 0, noNaN: true, minLength: ALPHABET.length, maxLength: ALPHABET.length }),
      { minLength: readable.layout.length, maxLength: readable.layout.length }
    )))
  }))
  fc.assert(fc.property(noise, ({ readable, cells }) => {
    const { proven } = solve(readable, cells)
    if (proven === undefined) return true
    proofs++
    const { checks, birth, expiry } = parseZone(readable.layout, proven.lines, TODAY)
    // Invalid days are reported separately from digits, and other code checks long numbers.
    return (checks.birthDate !== false || birth.fault === 'impossible' || birth.fault === 'incomplete') &&
      (checks.expiryDate !== false || expiry!.fault === 'impossible' || expiry!.fault === 'incomplete') &&
      (checks.docNumber || readable.layout.longNumber === true) &&
      checks.composite !== false
  }), { numRuns: 15 })
  t.ok(proofs > 0)
})

t.test('a filler replaces a check digit only after an empty field, even when the sum is 0', async (t) => {
  const sum = CARD.with(1, CARD[1]!.replace('6412308F2212304', '3711170F<<<<<<<'))
  const wrong = sum.with(1, sum[1]!.replace('3711170', '371117<'))
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong, [{ line: 1, at: 6, char: '0', log: -2 }]))
  t.same(free.lines, wrong)
  t.equal(proven?.lines[1]!.slice(0, 15), sum[1]!.slice(0, 15))
})

t.test('corrects issuer and nationality with the list, but keeps a clear code outside the list', async (t) => {
  const { free } = solve(readAs(layoutOf(CARD)!), seen(
    CARD.with(0, CARD[0]!.replace('ITA', '1TA')), [{ line: 0, at: 2, char: 'I', log: -1 }]
  ))
  t.same(free.lines, CARD)
  const other = CARD.with(0, CARD[0]!.replace('ITA', 'QQQ'))
  t.same(solve(readAs(layoutOf(CARD)!), seen(other)).free.lines, other)
})

const SEEN = Object.fromEntries(LEGIBLE_FIELDS.map((name) => [name, 'buona'])) as Leggibilita

t.test('an illegible field is invalid, even if its check digit is right', async (t) => {
  const ask = async (leggibilita: Leggibilita) =>
    (await call('POST', '/api/mrz/parse', { lines: CARD, leggibilita })).json<ParseMrzResponse>()
  t.match(await ask(SEEN), { parsed: { valid: true, checks: { docNumber: true, composite: true } } })
  const unseen = await ask({ ...SEEN, docNumber: 'dubbia' })
  t.match(unseen.parsed, { valid: false, checks: { docNumber: false, birthDate: true, composite: false } })
  t.match(about(unseen, 'docNumber'), /non si vede bene/)
  const name = await ask({ ...SEEN, surname: 'nulla' })
  t.match(name.parsed, { valid: false, checks: { docNumber: true, composite: true } })
  t.match(about(name, 'surname'), /non si vede bene/)
})

t.test('lines with right check digits give no mrz when the image does not show all characters', async (t) => {
  const zones = (lines: string[], legibility: Leggibilita) =>
    presentZones([{ lines, legibility, faults: legibility === SEEN ? [] : ['ombra'] }], '', TODAY)
  t.match(zones(CARD, SEEN), { mrz: CARD, zone: [{ lines: CARD, parsed: { valid: true } }], avvisi: [] })
  const doubtful = { ...SEEN, name: 'dubbia' as const }
  t.match(zones(CARD, doubtful), { mrz: null, zone: [{ lines: CARD, parsed: { valid: false } }] })
  t.match(zones(CARD, doubtful).avvisi, [{ campo: 'image', messaggio: /Fotografare di nuovo: un’ombra/ }])
  const wrong = CARD.with(1, CARD[1]!.replace('6412308', '6412301'))
  t.same(zones(wrong, doubtful).mrz, wrong, 'mrz/parse detects the wrong digits itself')
})

t.test('returns the zones of all documents, and warns about their number', async (t) => {
  const answer = presentZones([CARD, PASSPORT].map((lines) => ({ lines, legibility: SEEN, faults: [] })), '', TODAY)
  t.same(answer.mrz, CARD)
  t.same(answer.zone.map(({ lines }) => lines), [CARD, PASSPORT])
  t.match(answer.avvisi, [{ messaggio: /2 documenti/ }])
})

t.test('a name that differs by one letter from the printed text gets a notice', async (t) => {
  const ask = async (text: string) =>
    (await call('POST', '/api/mrz/parse', { lines: CARD, text })).json<ParseMrzResponse>()
  t.match(about(await ask('Cognome\nRÒSSO\nNome\nBIANCA'), 'surname'), /ROSSI nella zona e ROSSO nel testo/)
  t.equal(about(await ask('Cognome\nROSSI\nNome\nBIANCA\nROSSO'), 'surname'), '')
  t.equal(about(await ask('ROSSO<<BIANCA<<<<'), 'surname'), '', 'the zone itself is no printed text')
  t.equal(about(await ask('altro'), 'surname'), '')
})

t.test('warns about codes that no list has, and about numbers that Italian cards do not have', async (t) => {
  t.match(about(await scan({ issuer: 'QQQ', nationality: 'QQQ' }), 'issuingCountry'), /QQQ.*non è in uso/)
  t.match(about(await scan({ issuer: 'QQQ', nationality: 'QQQ' }), 'nationality'), /QQQ.*non è in uso/)
  t.match(about(await scan({ code: 'C', issuer: 'ITA', number: '12345678A' }, 'TD1'), 'docNumber'), /forma/)
  t.equal(about(await scan({ code: 'C', issuer: 'ITA', number: 'CA12345AB' }, 'TD1'), 'docNumber'), '')
})
