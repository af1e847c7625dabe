import fc from 'fast-check'
import t from 'tap'
import { valueOf } from '#src/scanning/mrz/digits.ts'
import { digitPlace, layoutOf, LAYOUTS, type CheckedField, type Layout } from '#src/scanning/mrz/layouts.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { present } from '#src/scanning/mrz/present.ts'
import { zoneNotices } from '#src/scanning/mrz/notices.ts'
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

t.test('what was written is read back, of every layout, and every digit adds up', async (t) => {
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

t.test('a wrong digit is always caught', async () => {
  const changed = document.chain(({ layout, holder }) => fc.record({
    layout: fc.constant(layout),
    lines: fc.constant(writeZone(layout, { ...holder, number: `A${holder.number}`.slice(0, 9) })),
    field: fc.constantFrom(...layout.checked, ...(layout.composite ? ['composite' as const] : [])),
    char: fc.constantFrom(...CHARACTERS.filter((each) => each !== '<'))
  }))
  fc.assert(fc.property(changed, ({ layout, lines, field, char }) => {
    const [line, at] = field === 'composite' ? layout.composite!.at : digitPlace(layout.fields[field]!)
    fc.pre(lines[line]![at] !== char)
    const wrong = lines.with(line, lines[line]!.slice(0, at) + char + lines[line]!.slice(at + 1))
    const { checks, valid } = parseZone(layout, wrong, TODAY)
    return checks[field === 'composite' ? 'composite' : CHECK_OF[field]] === false && !valid
  }), { numRuns: 2000 })
})

t.test('whatever characters lines have, they are read without an error', async () => {
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

t.test('what does not fit into its place is refused by the writer', async (t) => {
  const [holder] = fc.sample(document, 1)
  t.throws(() => writeZone(holder!.layout, { ...holder!.holder, issuer: 'LUNGO' }), RangeError)
})
