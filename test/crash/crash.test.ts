import t from 'tap'
import { crash } from './run.ts'

// The whole file, where nobody says otherwise, and its test: servers have to start many times.
t.setTimeout(300_000)

t.test(
  'servers and PostgreSQL die at every step: nobody is acquired twice, lost or forgotten',
  { timeout: 300_000 },
  async (t) => {
    const { kills, pgKills, submissions, double, lost, forgotten, broken } = await crash({
      kills: 12,
      pgKills: 2,
      seed: 12
    })
    t.ok(kills >= 12 && pgKills >= 2)
    t.ok(submissions > 12, 'there was something to be killed in')
    t.same({ double, lost, forgotten, broken }, { double: [], lost: [], forgotten: [], broken: [] })
  }
)
