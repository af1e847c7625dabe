import process from 'node:process'
import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { runFuzz } from './run.ts'
import { fuzzServer } from './server.ts'

t.test(
  'every generated request, valid, nearly valid or hostile, gets a declared response, and no unexpected 5xx',
  async (t) => {
    const seed = Number(process.env.FUZZ_SEED ?? 20_261_122)
    const server = await fuzzServer((await testDatabase(t)).url)
    t.teardown(() => server.end())
    const { requests, accepted, faults } = await runFuzz({ ...server, cases: 500, seed })
    t.same(faults, [], `seed ${seed}`)
    t.ok(requests >= 500)
    for (const [kind, count] of Object.entries(accepted)) t.ok(count > 20, `${kind} requests reach their handlers`)
    t.same(server.errors(), [], 'the log has no error')
  }
)
