import fc from 'fast-check'
import t from 'tap'
import { birthDate, expiryDate } from '#src/scanning/mrz/dates.ts'
import { valueOf } from '#src/scanning/mrz/digits.ts'
import { type CheckedField, type Layout, layoutOf, LAYOUTS } from '#src/scanning/mrz/layouts.ts'
import { zoneNotices } from '#src/scanning/mrz/notices.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { present } from '#src/scanning/mrz/routes.ts'
import { ALPHABET } from '#src/scanning/mrz/reader/network.ts'
import { READABLE } from '#src/scanning/mrz/reader/places.ts'
import { solve } from '#src/scanning/mrz/reader/solve.ts'
import { writeZone, type ZoneValues } from '#src/scanning/mrz/write.ts'
import { CHARACTERS, document, TODAY } from './samples.ts'

const CHECK_OF = {
  number: 'docNumber', birth: 'birthDate', expiry: 'expiryDate', optional: 'optionalData'
} as const satisfies Record<CheckedField, string>

/** Whether a zone says these values. */
function says (layout: Layout, lines: string[], holder: ZoneValues): boolean {
  const { birth, expiry, ...zone } = parseZone(layout, lines, TODAY)
  const read = { ...zone, birth: birth.day ?? '', expiry: expiry?.day ?? '' }
  return Object.entries(holder).every(([name, value]) => read[name as keyof ZoneValues] === value)
}

const CARD = ['C<ITACA00000AA4<<<<<<<<<<<<<<<', '6412308F2212304ITA<<<<<<<<<<<0', 'ROSSI<<BIANCA<<<<<<<<<<<<<<<<<']

/** What the network would say of these lines, and of `doubt` as its second choice in one place. */
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

t.test('a zone of every layout reads back as it was written, and every digit adds up', async (t) => {
  const met = new Set<string>()
  fc.assert(fc.property(document, ({ layout, holder }) => {
    met.add(layout.name)
    const lines = writeZone(layout, holder)
    return layoutOf(lines) === layout &&
      parseZone(layout, lines, TODAY).valid &&
      says(layout, lines, holder)
  }), { numRuns: 2000 })
  t.same([...met].sort(), LAYOUTS.map(({ name }) => name).sort(), 'each layout was met')
})

t.test('one wrong character of a checked field is caught exactly when the sum can tell it', async () => {
  const changed = document.chain(({ layout, holder }) => fc.record({
    layout: fc.constant(layout),
    // A number that goes on is not checked in its place.
    lines: fc.constant(writeZone(layout, { ...holder, number: holder.number.slice(0, 9) })),
    field: fc.constantFrom(...layout.checked),
    at: fc.nat(),
    char: fc.constantFrom(...CHARACTERS)
  }))
  fc.assert(fc.property(changed, ({ layout, lines, field, at, char }) => {
    const [line, from, to] = layout.fields[field]!
    const place = from + at % (to - from)
    const before = lines[line]![place]!
    const wrong = lines.with(line, lines[line]!.slice(0, place) + char + lines[line]!.slice(place + 1))
    const { checks, valid } = parseZone(layout, wrong, TODAY)
    const tells = (valueOf(before) - valueOf(char)) % 10 !== 0
    return checks[CHECK_OF[field]] === !tells && valid === !tells
  }), { numRuns: 5000 })
})

t.test('lines of any characters are read without an error', async () => {
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

t.test('the writer refuses a value that does not fit into its place', async (t) => {
  const [holder] = fc.sample(document, 1)
  t.throws(() => writeZone(holder!.layout, { ...holder!.holder, issuer: 'LUNGO' }), RangeError)
})

t.test('a partial date that no calendar has is impossible, one that is only not known is incomplete', async (t) => {
  const faultOf = (text: string) => birthDate(text, 0, TODAY).fault
  for (const text of ['7413<<', '74<<32']) t.equal(faultOf(text), 'impossible', text)
  for (const text of ['<<<<<<', '7400<<', '74<<<<', '7412<<']) t.equal(faultOf(text), 'incomplete', text)
})

t.test('a birth date is the latest that is not in the future, and one that its year has', async (t) => {
  const dayOf = (text: string, today: string) => birthDate(text, 0, today).day
  t.equal(dayOf('260101', '2026-01-01'), '2026-01-01', 'today')
  t.equal(dayOf('260102', '2026-01-01'), '1926-01-02', 'tomorrow')
  t.equal(dayOf('270101', '2026-12-31'), '1927-01-01', 'next year')
  t.equal(dayOf('000229', '2026-01-01'), '2000-02-29')
  t.equal(dayOf('000229', '2101-01-01'), '2000-02-29', '2100 has no such day')
  t.equal(dayOf('010229', '2026-01-01'), undefined)
})

t.test('a document expires at most fifty years from now, or has expired', async (t) => {
  const dayOf = (text: string) => expiryDate(text, 0, TODAY).day
  t.same([dayOf('761231'), dayOf('770101'), dayOf('991231'), dayOf('000101')],
    ['2076-12-31', '1977-01-01', '1999-12-31', '2000-01-01'])
})

t.test('a letter that was taken for a digit is put right where the digits prove it', async (t) => {
  const wrong = CARD.with(0, CARD[0]!.replace('CA00000AA4', 'CAO0000AA4'))
  const doubt = [{ line: 0, at: 7, char: '0', log: -2 }]
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong, doubt))
  t.same(free.lines, wrong)
  t.same(proven?.lines, CARD)
  t.ok(free.likelihood - proven!.likelihood < 9)
})

t.test('a document that really has a wrong digit is not put right: that would cost too much', async (t) => {
  const wrong = CARD.with(1, CARD[1]!.replace('6412308', '6412301'))
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong))
  t.same(free.lines, wrong)
  t.ok(proven === undefined || free.likelihood - proven.likelihood > 9)
})

t.test('a proven reading has digits that add up, whatever the network says', async (t) => {
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
    // Days that no calendar has are told from the digits, and a number that goes on is checked elsewhere.
    return (checks.birthDate !== false || birth.fault === 'impossible' || birth.fault === 'incomplete') &&
      (checks.expiryDate !== false || expiry!.fault === 'impossible' || expiry!.fault === 'incomplete') &&
      (checks.docNumber || readable.layout.longNumber === true) &&
      checks.composite !== false
  }), { numRuns: 15 })
  t.ok(proofs > 0)
})

t.test('a filler stands for a digit only after a field of fillers, also where the sum of a field is 0', async (t) => {
  const sum = CARD.with(1, CARD[1]!.replace('6412308F2212304', '3711170F<<<<<<<'))
  const wrong = sum.with(1, sum[1]!.replace('3711170', '371117<'))
  const { free, proven } = solve(readAs(layoutOf(CARD)!), seen(wrong, [{ line: 1, at: 6, char: '0', log: -2 }]))
  t.same(free.lines, wrong)
  t.equal(proven?.lines[1]!.slice(0, 15), sum[1]!.slice(0, 15))
})

t.test('issuer and nationality are looked for on the list, but a clear code that is not on it stays', async (t) => {
  const { free } = solve(readAs(layoutOf(CARD)!), seen(
    CARD.with(0, CARD[0]!.replace('ITA', '1TA')), [{ line: 0, at: 2, char: 'I', log: -1 }]
  ))
  t.same(free.lines, CARD)
  const other = CARD.with(0, CARD[0]!.replace('ITA', 'QQQ'))
  t.same(solve(readAs(layoutOf(CARD)!), seen(other)).free.lines, other)
})
