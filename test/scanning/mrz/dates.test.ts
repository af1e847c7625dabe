import t from 'tap'
import { birthDate, expiryDate } from '#src/scanning/mrz/dates.ts'

const TODAY = '2026-01-01'

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
