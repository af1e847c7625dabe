import t from 'tap'
import { birthDate } from '#src/scanning/mrz/dates.ts'

const TODAY = '2026-01-01'

t.test('a partial date that no calendar has is impossible, one that is only not known is incomplete', async (t) => {
  for (const text of ['7413<<', '74<<32']) t.equal(birthDate(text, TODAY).fault, 'impossible', text)
  for (const text of ['<<<<<<', '7400<<', '74<<<<', '7412<<']) t.equal(birthDate(text, TODAY).fault, 'incomplete', text)
})
