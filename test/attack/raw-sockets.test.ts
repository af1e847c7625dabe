import t from 'tap'
import { build } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { runRawCorpus } from './raw-sockets.ts'

t.test('malformed HTTP bytes are refused, and no request is smuggled in', async (t) => {
  const { app } = await build(t)
  const { cases, faults } = await runRawCorpus(await listen(app))
  t.same(faults, [])
  t.ok(cases > 50)
})
