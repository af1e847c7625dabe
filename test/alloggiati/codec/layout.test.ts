import t from 'tap'
import { LAYOUT, LAYOUT_FILE_UNICO, LENGTH, LENGTH_FILE_UNICO } from '#src/alloggiati/codec/layout.ts'

// The contract's table (field, first and last position), and the apartment of the manual's "File Unico".
const POSITIONS = [
  ['tipo_alloggiato', 1, 2],
  ['data_arrivo', 3, 12],
  ['permanenza', 13, 14],
  ['cognome', 15, 64],
  ['nome', 65, 94],
  ['sesso', 95, 95],
  ['data_nascita', 96, 105],
  ['comune_nascita', 106, 114],
  ['provincia', 115, 116],
  ['stato_nascita', 117, 125],
  ['cittadinanza', 126, 134],
  ['tipo_doc', 135, 139],
  ['num_doc', 140, 159],
  ['luogo_rilascio', 160, 168],
  ['id_appartamento', 169, 174]
]

t.test('the layout is the contract\'s, field by field', async (t) => {
  t.strictSame(LAYOUT_FILE_UNICO.map(({ name, start, length }) => [name, start, start + length - 1]), POSITIONS)
})

t.test('the fields leave no gap and do not overlap, up to 168 characters and 174 with the apartment', async (t) => {
  let next = 1
  for (const { name, start, length } of LAYOUT_FILE_UNICO) {
    t.equal(start, next, name)
    next += length
    if (name === LAYOUT.at(-1)?.name) t.equal(next - 1, LENGTH)
  }
  t.equal(next - 1, LENGTH_FILE_UNICO)
  t.strictSame([LENGTH, LENGTH_FILE_UNICO], [168, 174])
})

t.test('every field names its source', async (t) => {
  LAYOUT_FILE_UNICO.forEach(({ source }, index) => t.ok(source.startsWith(`${index + 1} `), source))
})
