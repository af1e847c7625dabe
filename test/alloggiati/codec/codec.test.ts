import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { LAYOUT, LAYOUT_FILE_UNICO, LENGTH, LENGTH_FILE_UNICO } from '#src/alloggiati/codec/layout.ts'
import { isDay } from '#src/lib/time.ts'
import { columnsOf, contentOf, fieldsOf, records, replaced, wrongContentOf } from './arbitraries.ts'
import { golden } from './golden.ts'

t.test('every record comes back from its line as it went in', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(records, (record) => {
    assert.deepStrictEqual(decode(encode(record)), { record })
  }), { numRuns: 500 }))
})

t.test('a line has 168 characters, 174 with an apartment, and every field stands in its columns', async (t) => {
  t.doesNotThrow(() => fc.assert(fc.property(records, (record) => {
    const line = encode(record)
    assert.equal(line.length, 'id_appartamento' in record ? LENGTH_FILE_UNICO : LENGTH)
    for (const field of fieldsOf(record)) {
      assert.equal(columnsOf(field, line), contentOf(field, Reflect.get(record, field.name)), field.name)
    }
  }), { numRuns: 500 }))
})

for (const field of LAYOUT_FILE_UNICO) {
  t.test(`wrong content is reported as a fault of the field and of no other: ${field.name}`, async (t) => {
    const carriers = records.filter((record) => fieldsOf(record).includes(field))
    t.doesNotThrow(() => fc.assert(fc.property(carriers, wrongContentOf(field), (record, content) => {
      const result = decode(replaced(field, encode(record), content))
      assert.deepStrictEqual('faults' in result && result.faults.map(({ field }) => field), [field.name])
    })))
  })
}

t.test('all faults of a line are reported at once, in the order of the fields', async (t) => {
  const wrong = fc.uniqueArray(fc.constantFrom(...LAYOUT), { minLength: 2 })
    .chain((fields) => fc.tuple(...fields.map((field) => wrongContentOf(field).map((content) => ({ field, content })))))
  t.doesNotThrow(() => fc.assert(fc.property(records, wrong, (record, changes) => {
    const result = decode(changes.reduce((line, { field, content }) => replaced(field, line, content), encode(record)))
    const inOrder = LAYOUT.filter((field) => changes.some((change) => change.field === field)).map(({ name }) => name)
    assert.deepStrictEqual('faults' in result && result.faults.map(({ field }) => field), inOrder)
  })))
})

t.test('a line that decodes is the very line its record encodes to, but for the padding of the numbers', async (t) => {
  const stays = ['05', ' 5', '5 ']
  t.doesNotThrow(() => fc.assert(fc.property(records, fc.constantFrom(...stays), (record, stay) => {
    const line = encode({ ...record, permanenza: 5 })
    const written = line.slice(0, 12) + stay + line.slice(14)
    const result = decode(written)
    assert.equal('record' in result && encode(result.record), line)
  })))
})

t.test('the days of a line are those of the calendar', async (t) => {
  const line = golden('single guest born in Italy').line
  for (const year of ['0000', '0001', '1900', '2000', '2023', '2024', '2100', '9999']) {
    const wrong: string[] = []
    for (let month = 0; month <= 13; month++) {
      for (let day = 0; day <= 32; day++) {
        const [dd, mm] = [day, month].map((number) => String(number).padStart(2, '0'))
        const taken = 'record' in decode(line.replace('05/03/1984', `${dd}/${mm}/${year}`))
        if (taken !== isDay(`${year}-${mm}-${dd}`)) wrong.push(`${dd}/${mm}/${year}`)
      }
    }
    t.strictSame(wrong, [], year)
  }
})

t.test('a fault says in Italian what the field wants', async (t) => {
  const line = golden('single guest born in Italy').line
  const faultOf = (changed: string) => {
    const result = decode(changed)
    return 'faults' in result ? result.faults : []
  }
  t.strictSame(faultOf(line.slice(0, -1)), [
    { field: 'line', message: 'La riga deve avere 168 caratteri (174 nel File Unico)' }
  ])
  t.strictSame(faultOf(`${line}\r\n`), faultOf(''), 'a line end is not part of the record')
  t.strictSame(faultOf(line.replace('BIANCHI', '       ')), [
    { field: 'cognome', message: 'Il campo è obbligatorio' }
  ])
  t.strictSame(faultOf(line.replace('BIANCHI', 'BIANCH1')), [
    { field: 'cognome', message: 'Il campo ammette solo lettere A-Z, apostrofi e spazi interni' }
  ])
  t.strictSame(faultOf(line.replace('05/03/1984', '30/02/1984')), [
    { field: 'data_nascita', message: 'Il campo deve essere una data che esiste' }
  ])
})
