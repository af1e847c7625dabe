import t from 'tap'
import { decode, encode } from '#src/alloggiati/codec/codec.ts'
import { foldName } from '#src/alloggiati/codec/folding.ts'
import { goldenRecords } from './golden.ts'

for (const { title, line, record, encoded = line, typed } of goldenRecords) {
  t.test(`golden record: ${title}`, async (t) => {
    t.strictSame(decode(line), { record }, 'the line gives the record')
    t.equal(encode(record), encoded, 'the record gives the line')
    if (!typed) return
    t.strictSame(foldName(typed.cognome), { text: record.cognome, changed: true, refused: '' })
    t.strictSame(foldName(typed.nome), { text: record.nome, changed: true, refused: '' })
  })
}
