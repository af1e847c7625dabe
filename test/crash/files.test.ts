import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { crashFiles } from './files.ts'

t.test('when processes die at any step, no file is lost or damaged, and none stays that no row names',
  async (t) => {
    const { url } = await testDatabase(t)
    const { kills, files, ...faults } = await crashFiles({ url, kills: 12, seed: 7 })
    t.equal(kills, 12)
    t.ok(files > 0)
    t.same(faults, { unreadable: [], orphans: [], leftovers: [] })
  }
)
