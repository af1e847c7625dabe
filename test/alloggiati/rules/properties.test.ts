import fc from 'fast-check'
import t from 'tap'
import { SCHEDINA_FIELDS } from '#schemas/schedina.ts'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { STAY_FIELDS } from '#src/alloggiati/rules/fields.ts'
import { anyCharacter } from '#test/any-character.ts'
import { family, foreigner, judge, single, tables } from './samples.ts'

const known: readonly string[] = [...SCHEDINA_FIELDS, ...STAY_FIELDS]

/** A value for a field: likely ones, unlikely ones, impossible ones. */
const codes = [
  '16',
  '17',
  '18',
  '19',
  '20',
  'M',
  'F',
  '1980-05-15',
  '2026-11-22',
  '1850-01-01',
  '100000100',
  '100000216',
  '100000210',
  '412058091',
  '058091',
  '408040012',
  'RM',
  'FO',
  'IDELE',
  'PASOR',
  'CA00000AA'
]
const value = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...codes) },
  { weight: 1, arbitrary: fc.constantFrom('', null, undefined, ' ', '__proto__') },
  { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 60 }) }
)
const changes = fc.dictionary(fc.constantFrom(...SCHEDINA_FIELDS), value, { maxKeys: 3, noNullPrototype: true })
/** Right lists, in which a guest here and there was changed. */
const lists = fc
  .array(
    fc.tuple(
      fc.constantFrom([single()], [foreigner()], family()),
      fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: changes }),
      fc.string({ unit: fc.constantFrom('à', 'b', 'Z', '-'), maxLength: 4 })
    ),
    { minLength: 1, maxLength: 3 }
  )
  .map((parts) =>
    parts.flatMap(([group, changed, name]) =>
      group.map((guest, index) => ({ ...guest, nome: `${guest.nome} ${name}`, ...(index === 0 ? changed : {}) }))
    )
  )
const stay = fc.record({
  check_in: mostly(fc.constantFrom('2026-11-21', '2026-11-20'), ['2026-11-01', '', null]),
  numero_notti: mostly(fc.integer({ min: 1, max: 40 }), [0, 1.5, undefined]),
  id_appartamento: mostly(fc.integer({ min: 0, max: 999_999 }), [undefined, -1])
})

function mostly<T, U> (right: fc.Arbitrary<T>, wrong: U[]): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: 5, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...wrong) })
}

t.test('no list and no stay make it throw, whatever JSON holds', async () => {
  const anyField = fc.dictionary(fc.constantFrom(...SCHEDINA_FIELDS, '__proto__', 'altro'), fc.jsonValue(), {
    noNullPrototype: true
  })
  const anyStay = fc.dictionary(
    fc.constantFrom('check_in', 'check_out', 'numero_notti', 'id_appartamento'),
    fc.jsonValue(),
    { noNullPrototype: true }
  )
  const anyList = fc.array(fc.oneof(anyField, fc.jsonValue()), { maxLength: 4 })
  fc.assert(fc.property(anyList, anyStay, fc.boolean(), (ospiti, soggiorno, fileUnico) => {
    const { valid, errors, records } = judge(ospiti, soggiorno, { fileUnico })
    return valid === (errors.length === 0) && valid === (records !== null)
  }), { numRuns: 500 })
})

t.test('every remark is on a guest of the list and on a field of the API, in a whole sentence', async () => {
  fc.assert(fc.property(lists, stay, fc.boolean(), (ospiti, soggiorno, fileUnico) => {
    const { errors, warnings } = judge(ospiti, soggiorno, { fileUnico })
    return [...errors, ...warnings].every(({ ospite, campo, messaggio }) => (
      ospite in ospiti && known.includes(campo) && messaggio.length > 10 && !messaggio.includes('undefined')))
  }), { numRuns: 500 })
})

t.test(
  'a valid list gives records that encode to 168 characters, 174 in the File Unico, and decode to themselves',
  async (t) => {
    let seen = 0
    fc.assert(
      fc.property(lists, stay, fc.boolean(), (ospiti, soggiorno, fileUnico) => {
        const { valid, records } = judge(ospiti, soggiorno, { fileUnico })
        if (!valid || !records) return true
        seen++
        return (
          records.length === ospiti.length &&
          records.every((record) => {
            const line = encode(record)
            const decoded = decode(line)
            return (
              line.length === (fileUnico ? 174 : 168) &&
              'record' in decoded &&
              JSON.stringify(decoded.record) === JSON.stringify(record)
            )
          })
        )
      }),
      { numRuns: 500 }
    )
    t.ok(seen > 50, `${seen} valid lists were tried`)
  }
)

t.test(
  'in a valid record comune and province are there exactly for a birth in Italy, and agree with the table',
  async (t) => {
    let seen = 0
    fc.assert(
      fc.property(lists, stay, (ospiti, soggiorno) => {
        for (const record of judge(ospiti, soggiorno).records ?? []) {
          seen++
          const italian = record.stato_nascita === '100000100'
          if (italian !== (record.comune_nascita !== '') || italian !== (record.provincia !== '')) return false
          if (italian && tables.comune(record.comune_nascita)?.provincia !== record.provincia) return false
          const document = ['16', '17', '18'].includes(record.tipo_alloggiato)
          if ([record.tipo_doc, record.num_doc, record.luogo_rilascio].some((text) => (text !== '') !== document)) {
            return false
          }
        }
        return true
      }),
      { numRuns: 500 }
    )
    t.ok(seen > 50, `${seen} records were seen`)
  }
)
