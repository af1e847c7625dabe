import t from 'tap'
import { openClient } from '#src/plugins/database/client.ts'
import { build } from '#test/helper.ts'
import { store } from './samples.ts'

const test = await build(t)
const { app, call, logs } = test
const gate = openClient(app.databaseUrl, 1)
t.teardown(() => gate.end())

const move = (sourceKey: string, destinationKey: string) =>
  call('POST', '/storage/v1/object/move', { bucketId: 'public', sourceKey, destinationKey })

/** Moves wait, in the middle, until as many are under way as the test says: they meet for sure. */
async function meet (moves: number, work: () => Promise<void>): Promise<void> {
  await app.sql.unsafe(`
    create function wait_for_others () returns trigger language plpgsql as $$
      begin
        perform pg_advisory_xact_lock_shared(4711);
        return old;
      end
    $$;
    create trigger wait_for_others after delete on objects for each row execute function wait_for_others()`)
  try {
    await gate`select pg_advisory_lock(4711)`
    const waiting = async () => (await app.sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and query ilike '%objects%'`).length
    const done = work()
    const ended = new AbortController()
    void done.finally(() => { ended.abort() })
    while (!ended.signal.aborted && await waiting() < moves) await new Promise((resolve) => { setTimeout(resolve, 20) })
    await gate`select pg_advisory_unlock(4711)`
    await done
  } finally {
    await app.sql.unsafe('drop trigger wait_for_others on objects; drop function wait_for_others')
  }
}

for (const names of [['a', 'b'], ['a', 'b', 'c']]) {
  t.test(`${names.length} moves, each to the name of another one, at once are refused, all of them`, async (t) => {
    const stored = await Promise.all(names.map((name) => store(test, 'public', name, name)))
    await meet(names.length, async () => {
      const answers = await Promise.all(names.map((name, at) => move(name, names[(at + 1) % names.length]!)))
      for (const answer of answers) t.match(answer.json(), { statusCode: '409', code: 'KeyAlreadyExists' })
    })
    for (const { id, name } of stored) t.equal((await app.storage.find(app.db, 'public', name))?.id, id)
    t.same(logs.filter(({ level }) => Number(level) >= 40), [])
  })
}

t.test('of two moves to one free name at once one is carried out', async (t) => {
  for (const name of ['d', 'e']) await store(test, 'public', name, name)
  const answers = await Promise.all([move('d', 'f'), move('e', 'f')])
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 400])
  t.match(answers.find(({ statusCode }) => statusCode === 400)!.json(), { code: 'KeyAlreadyExists' })
})
