import fc from 'fast-check'
import t from 'tap'
import { layoutOf, type Layout } from '#src/scanning/mrz/layouts.ts'
import { parseZone } from '#src/scanning/mrz/parse.ts'
import { ALPHABET } from '#src/scanning/mrz/reader/network.ts'
import { READABLE } from '#src/scanning/mrz/reader/places.ts'
import { solve } from '#src/scanning/mrz/reader/solve.ts'
import { writeZone } from '#src/scanning/mrz/write.ts'
import { document, TODAY } from '../samples.ts'

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

t.test('a zone that is seen clearly is read as it is, of every layout, and proven by its digits', async () => {
  fc.assert(fc.property(document, ({ layout, holder }) => {
    const lines = writeZone(layout, holder)
    const { free, proven } = solve(readAs(layout), seen(lines))
    return free.lines.join() === lines.join() && proven?.lines.join() === lines.join()
  }), { numRuns: 40 })
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

t.test('whatever the network says, a proven reading has digits that add up', async (t) => {
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
