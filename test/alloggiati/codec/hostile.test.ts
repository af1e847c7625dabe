import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { CodecError, decode, encode, type RecordSchedina } from '#src/alloggiati/codec/codec.ts'
import { LAYOUT_FILE_UNICO, LENGTH, LENGTH_FILE_UNICO } from '#src/alloggiati/codec/layout.ts'
import { anyCharacter } from '#test/any-character.ts'
import { records } from './arbitraries.ts'
import { golden } from './golden.ts'

const good = golden('single guest born in Italy').record
const names = LAYOUT_FILE_UNICO.map(({ name }) => name)

/** What becomes of any value given for a record: its line, or the field that is refused. */
function attempt (record: unknown): { line: string } | { field: string, message: string } {
  try {
    return { line: encode(record as RecordSchedina) }
  } catch (error) {
    assert.ok(error instanceof CodecError, `another error: ${String(error)}`)
    return { field: error.field, message: error.message }
  }
}

const text = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 80 }),
  fc.string({
    unit: fc.constantFrom(
      'A',
      'E',
      "'",
      ' ',
      '\u0301',
      'É',
      '\ud83d',
      '\ude00',
      '\r\n',
      '\0',
      '\u0141',
      'ﬁ',
      '1',
      '/',
      '-'
    )
  }),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code).repeat(9))
)
const anything = fc.oneof(
  text,
  fc.anything({ withBoxedValues: true, withSparseArray: true, withTypedArray: true, withBigInt: true, withDate: true })
)

t.test('whatever stands in one field, the line is whole and comes back, or the error names that field', async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(records, fc.constantFrom(...names.slice(0, -1)), anything, (record, name, value) => {
        const outcome = attempt({ ...record, [name]: value })
        if ('field' in outcome) return outcome.field === name
        assert.equal(outcome.line.length, 'id_appartamento' in record ? LENGTH_FILE_UNICO : LENGTH)
        assert.deepStrictEqual(decode(outcome.line), { record: { ...record, [name]: value } })
      }),
      { numRuns: 2000 }
    )
  )
})

t.test('whatever is given for a record, no line of another length comes out', async (t) => {
  const shape = fc.record(Object.fromEntries(names.map((name) => [name, anything])), { requiredKeys: [] })
  t.doesNotThrow(() => fc.assert(fc.property(fc.oneof(shape, anything), (record) => {
    const outcome = attempt(record)
    return 'field' in outcome || outcome.line.length === LENGTH || outcome.line.length === LENGTH_FILE_UNICO
  }), { numRuns: 1000 }))
})

t.test('decode answers to everything, and what it takes encodes again', async (t) => {
  const line = fc.oneof(
    anything,
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { minLength: LENGTH, maxLength: LENGTH })
      .map((units) => String.fromCharCode(...units)),
    fc
      .tuple(records, fc.nat(LENGTH - 1), fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }))
      .map(([record, at, char]) => {
        const whole = encode(record)
        return whole.slice(0, at) + char + whole.slice(at + char.length)
      })
  )
  t.doesNotThrow(() => fc.assert(fc.property(line, (value) => {
    const result = decode(value as string)
    if ('record' in result) return encode(result.record).length === String(value).length
    return result.faults.length > 0 && result.faults.every(({ field, message }) => (
      (field === 'line' || names.includes(field)) && message.length > 10 && !message.includes('undefined')))
  }), { numRuns: 1000 }))
})

t.test('what is nearly right is refused by the name of its field', async (t) => {
  const cases: [keyof RecordSchedina, unknown, string][] = [
    ['cognome', 'Bianchi', 'lower case'],
    ['cognome', 'BIANCHÌ', 'a letter with an accent'],
    ['cognome', 'BIANCHI\u0300', 'a combining accent'],
    ['cognome', '\u0141UCA', 'a letter whose low byte is an A'],
    ['cognome', 'BIANCHI ', 'a blank at the end'],
    ['cognome', ' BIANCHI', 'a blank at the beginning'],
    ['cognome', ' ', 'only a blank'],
    ['cognome', 'BIANCHI\r\n', 'a line end'],
    ['cognome', 'BIAN\0CHI', 'a NUL'],
    ['cognome', 'BIAN\u00a0CHI', 'a no-break space'],
    ['cognome', '\ud83d', 'half a character'],
    ['cognome', 'A'.repeat(51), 'one too many'],
    ['cognome', 'A'.repeat(1_000_000), 'a million'],
    // eslint-disable-next-line no-new-wrappers
    ['cognome', new String('BIANCHI'), 'a boxed string'],
    ['cognome', ['BIANCHI'], 'an array'],
    ['cognome', { toString: () => 'BIANCHI' }, 'an object that becomes a string'],
    ['nome', '', 'a missing name'],
    ['nome', null, 'null'],
    ['tipo_alloggiato', '1', 'one digit'],
    ['tipo_alloggiato', 16, 'a number for a code'],
    ['permanenza', 0, 'no night'],
    ['permanenza', 31, 'more than the most'],
    ['permanenza', 10.5, 'half a night'],
    ['permanenza', NaN, 'not a number'],
    ['permanenza', Infinity, 'no end'],
    ['permanenza', '05', 'a string for a number'],
    ['permanenza', 5n, 'a bigint'],
    ['sesso', 'X', 'another sex'],
    ['sesso', '1', 'the sex as it stands on the line'],
    ['sesso', 'constructor', 'a name that every object has'],
    ['data_nascita', '1984-02-30', 'a day that does not exist'],
    ['data_nascita', '05/03/1984', 'the day as it stands on the line'],
    ['data_nascita', '1984-3-5', 'a day without zeros'],
    ['data_nascita', '1984/03-05', 'another separator'],
    ['data_nascita', '1984-03/05', 'another separator'],
    ['data_nascita', new Date(0), 'a Date'],
    ['comune_nascita', '058091', 'the six digits of the other code'],
    ['comune_nascita', '٤١٢٠٥٨٠٩١', 'digits of another script'],
    ['provincia', 'R', 'one letter'],
    ['tipo_doc', 'idele', 'a code in lower case'],
    ['num_doc', 'CA 00000AA', 'a number with a blank'],
    ['id_appartamento', -1, 'a negative apartment'],
    ['id_appartamento', 1_000_000, 'an apartment of seven digits'],
    ['id_appartamento', 123_456.5, 'half an apartment'],
    ['id_appartamento', null, 'a null apartment']
  ]
  for (const [name, value, what] of cases) {
    const outcome = attempt({ ...good, [name]: value })
    t.equal('field' in outcome && outcome.field, name, `${name}: ${what}`)
  }
})

t.test('a text that is too long is refused with its length, never cut', async (t) => {
  t.strictSame(attempt({ ...good, nome: 'A'.repeat(31) }), {
    field: 'nome',
    message: 'Il campo è troppo lungo: 31 caratteri, al massimo 30'
  })
})

t.test('an apartment makes the record longer only when it is the record\'s own', async (t) => {
  const inherited: unknown = Object.assign(Object.create({ id_appartamento: 4 }), good)
  t.strictSame(attempt(inherited), { line: encode(good) })
  t.strictSame(attempt({ ...good, id_appartamento: undefined }), { line: encode(good) })
  t.equal(encode({ ...good, id_appartamento: 4 }), `${encode(good)}000004`)
})

t.test('no error quotes the value it refuses', async (t) => {
  const secret = 'Zanzibarian'
  for (const name of names) {
    const outcome = attempt({ ...good, [name]: secret })
    t.notOk('message' in outcome ? outcome.message.includes(secret) : true, name)
  }
})

t.test('a line that was refused leaves nothing behind for the next', async (t) => {
  const before = encode(good)
  attempt({ ...good, cognome: 'É'.repeat(50) })
  decode('\ud83d'.repeat(LENGTH))
  t.equal(encode(good), before)
  t.strictSame(decode(before), { record: good })
})
