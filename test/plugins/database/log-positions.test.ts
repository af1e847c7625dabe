import t from 'tap'
import { logPositions } from '#src/plugins/database/log-positions.ts'

t.test('of a replica that is paused for a day no more is kept than what can still count', async (t) => {
  const positions = logPositions(3000)
  for (let at = 0; at < 86_400_000; at += 500) positions.note(at, at)
  t.equal(positions.size, 6)
  t.equal(positions.reachedBy(0), undefined)
  positions.note(86_400_000, 86_400_000)
  t.equal(positions.reachedBy(86_399_700), 86_399_500)
})

t.test('a replica has what was written up to the latest instant that it has reached, and that is kept', async (t) => {
  const positions = logPositions(3000)
  positions.note(500, 10)
  positions.note(1000, 10)
  positions.note(1500, 20)
  t.equal(positions.reachedBy(9), undefined)
  t.equal(positions.reachedBy(15), 1000)
  t.equal(positions.size, 2)
  positions.forget()
  t.equal(positions.reachedBy(20), undefined)
})
