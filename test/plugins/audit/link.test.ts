import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { AZIONI } from '#schemas/audit.ts'
import { ACTIONS, describe } from '#src/plugins/audit/actions.ts'
import { canonical, linkHash, type AuditRow } from '#src/plugins/audit/link.ts'
import { anyCharacter } from '#test/any-character.ts'

/** Text in which the marks of JSON, and their like, are frequent. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...'",[]{}:0n\\\u2028', '\ud800'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 })
  ),
  maxLength: 6
})
const value = fc.oneof(
  text,
  fc.integer({ min: -9, max: 9 }),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 3 })
)
const row: fc.Arbitrary<AuditRow> = fc.record({
  id: fc.integer({ min: 1, max: 3 }),
  at: fc.date({ min: new Date('2026-01-01'), max: new Date('2027-01-01'), noInvalidDate: true }),
  actor: text,
  action: text,
  object: fc.option(text),
  ip: fc.option(text),
  details: fc.dictionary(text, value, { maxKeys: 3 })
})

/** The library makes objects without a prototype, too. */
const plain = (row: AuditRow) => ({ ...row, details: { ...row.details as object } })
const same = (one: AuditRow, other: AuditRow) => isDeepStrictEqual(plain(one), plain(other))

/** A row with one of its parts taken from another, so that rows are often nearly the same. */
const pair = fc
  .tuple(row, row, fc.subarray(['id', 'at', 'actor', 'action', 'object', 'ip', 'details'] as const))
  .map(([one, other, parts]): [AuditRow, AuditRow] => [
    one,
    { ...one, ...Object.fromEntries(parts.map((part) => [part, other[part]])) }
  ])

t.test('different entries are spelled differently, equal ones the same', async (t) => {
  fc.assert(
    fc.property(pair, ([one, other]) => (canonical(one) === canonical(other)) === same(one, other)),
    { numRuns: 2000 }
  )
  t.pass()
})

t.test('parts that together read the same are kept apart', async (t) => {
  const base: AuditRow = { id: 1, at: new Date(0), actor: 'a', action: 'b', object: null, ip: null, details: {} }
  const different: Partial<AuditRow>[] = [
    {},
    { actor: 'ab', action: '' },
    { actor: 'a","b' },
    { object: 'x' },
    { ip: 'x' },
    { object: '' },
    { object: 'null' },
    { id: 12 },
    { at: new Date(1) },
    { details: { a: 1 } },
    { details: { a: '1' } },
    { details: { a: null } },
    { details: { a: ['1'] } },
    { details: { a: ['1', '2'] } },
    { details: { a: ['1,2'] } },
    { details: { 'a,b': 'c' } },
    { details: { a: 'b,c' } },
    { details: [] },
    { details: null },
    { details: '{}' }
  ]
  t.equal(new Set(different.map((changes) => canonical({ ...base, ...changes }))).size, different.length)
})

t.test('the order in which the database gives the details back does not matter', async (t) => {
  const base = { id: 1, at: new Date(0), actor: 'a', action: 'b', object: null, ip: null }
  fc.assert(fc.property(fc.dictionary(text, value), (details) => {
    const reversed = Object.fromEntries(Object.entries(details).reverse())
    return canonical({ ...base, details }) === canonical({ ...base, details: reversed })
  }))
  t.pass()
})

t.test('the hash hangs on the key, the row and the hash before', async (t) => {
  const row: AuditRow = { id: 1, at: new Date(0), actor: 'a', action: 'b', object: null, ip: null, details: {} }
  const [key, other] = [randomBytes(32), randomBytes(32)]
  const hashes = [
    linkHash(key, row, undefined), linkHash(other, row, undefined), linkHash(key, { ...row, id: 2 }, undefined),
    linkHash(key, row, randomBytes(32)), linkHash(key, row, randomBytes(32))
  ]
  t.equal(new Set(hashes.map(String)).size, hashes.length)
  t.ok(linkHash(key, { ...row }, undefined).equals(hashes[0]!))
})

t.test('every action has its words, and a code of another version is shown as it is', async (t) => {
  t.same([...AZIONI].sort(), Object.keys(ACTIONS).sort())
  for (const action of AZIONI) t.match(describe(action), /^[A-Z]/)
  for (const action of ['scansione', 'toString', '__proto__', '']) t.equal(describe(action), action)
})
