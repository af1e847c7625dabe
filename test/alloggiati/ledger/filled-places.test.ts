import t from 'tap'
import { fillPlaces, type Candidate } from '#src/alloggiati/ledger/filled-places.ts'

/* Which places of a booking are filled by what was sent. */

const guest = (identita: string) => [{ identita, persona: identita, documento: null }]
const row = (identita: string, changes: Partial<Candidate> = {}): Candidate =>
  ({ identita, persona: identita, documento: null, isOwn: true, isTrusted: false, ...changes })

t.test('each row fills one place: two guests of one name need two rows, and two rows are enough', async (t) => {
  const booking = { numero_ospiti: 2, guests: [guest('ROSSI'), guest('ROSSI')] }
  t.equal(fillPlaces(booking, [row('ROSSI')]).filled, 1)
  t.equal(fillPlaces(booking, [row('ROSSI'), row('ROSSI')]).filled, 2)
})

t.test('a place for which no guest is saved is filled once, by the row that is trusted', async (t) => {
  const booking = { numero_ospiti: 3, guests: [guest('ROSSI')] }
  const rows = [row('ROSSI'), row('VERDI', { isTrusted: true }), row('NERI'), row('GIALLI')]
  t.equal(fillPlaces(booking, rows.slice(0, 3)).filled, 3)
  t.equal(fillPlaces(booking, rows).filled, 3)
})

t.test('a row of another booking fills the place of a saved guest alone, and is named', async (t) => {
  const other = row('ROSSI', { isOwn: false })
  const booking = { numero_ospiti: 2, guests: [guest('ROSSI')] }
  t.same(fillPlaces(booking, [other, row('NERI', { isOwn: false })]), { filled: 1, adopted: [other] })
})
