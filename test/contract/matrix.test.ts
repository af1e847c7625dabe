import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { accessRows } from './access.ts'
import { administrationRows } from './administration.ts'
import { bookingRows } from './bookings.ts'
import { openHouse, prover } from './house.ts'
import { interfaceRows } from './interface.ts'
import { paperRows } from './papers.ts'
import { policeRows } from './police.ts'
import { CASES, ENDPOINTS, GROUPS, PROMISES, STATUSES } from './rows.ts'
import { scanningRows } from './scanning.ts'
import { systemRows } from './system.ts'

/* Every row of the interface, at one server, as a machine asks it. `npm run test:contract` prints the matrix. */

/** Beside the repository, where it is worked on. */
const INTERFACE = ['../../../shared/spec/interface.md', '../../../../shared/spec/interface.md']
  .map((path) => new URL(path, import.meta.url)).find(existsSync)

t.test('the rows of the interface', async (t) => {
  const house = await openHouse(t)
  const { prove, proven } = prover(t)
  for (const rows of [
    bookingRows, policeRows, paperRows, scanningRows, administrationRows, systemRows, accessRows
  ]) await rows(house, prove)

  t.test('every row has one test', async (t) => {
    t.same(proven.toSorted(), Object.keys(PROMISES).toSorted())
  })
})

t.test(
  'the table of rows has each row of the interface, and no other',
  { skip: INTERFACE === undefined && 'the interface is not beside the repository' },
  async (t) => {
    const found = interfaceRows(readFileSync(INTERFACE!, 'utf8'))
    t.same(Object.values(ENDPOINTS).map(([method, path, access]) => [method, path, access]), found.endpoints)
    t.same(Object.values(CASES).map(([method, path, status]) => [method, path, status]), found.cases)
    t.same(Object.values(STATUSES).map(([status]) => status), found.statuses)
    for (const [group, { heading, part, at }] of Object.entries(GROUPS)) {
      const numbers = Object.keys(PROMISES).filter((row) => row.replace(/\d+$/, '') === group)
      t.equal(numbers.length, found.sizes[`${heading} ${part} ${at}`], `${heading}: ${part} ${at}`)
    }
    const known = new Set(Object.values(GROUPS).map(({ heading, part, at }) => `${heading} ${part} ${at}`))
    t.same(Object.keys(found.sizes).filter((name) => / list \d+$/.test(name) && !known.has(name)), [], 'every list')
  }
)
