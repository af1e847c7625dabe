import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { crashFiles } from './files.ts'
import { runCrashTest } from './run.ts'

t.test(
  'when servers and PostgreSQL are killed at any step, no guest is acquired twice, lost or misdirected',
  async (t) => {
    const {
      kills, pgKills, submissions, double, lost, forgotten, respelled, broken, misdirected
    } = await runCrashTest({
      kills: 8,
      pgKills: 2,
      seed: 12
    })
    t.ok(kills >= 8 && pgKills >= 2)
    t.ok(submissions > 8, 'submissions were in progress when the servers died')
    t.same(
      { double, lost, forgotten, respelled, broken, misdirected },
      { double: [], lost: [], forgotten: [], respelled: [], broken: [], misdirected: [] }
    )
  }
)

t.test('when processes are killed at any step, no file is lost, damaged or orphaned',
  async (t) => {
    const { url } = await testDatabase(t)
    const { kills, files, ...faults } = await crashFiles({ url, kills: 12, seed: 7 })
    t.equal(kills, 12)
    t.ok(files > 0)
    t.same(faults, { unreadable: [], orphans: [], leftovers: [] })
  }
)
