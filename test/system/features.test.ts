import t from 'tap'
import type { FeatureFlag } from '#schemas/setting.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { API_KEY, build } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'
import { countStatements } from './statements.ts'

const FEATURES = '/api/settings/features'

t.test('GET /api/settings/features answers whoever comes with a bare array in the order of the keys', async (t) => {
  const server = await build(t)
  const { admin } = administrator(server)
  t.strictSame((await server.app.inject(FEATURES)).json(), [])
  for (const key of ['b', 'a_2', 'a.1', 'a-3', '9', 'z'.repeat(64)]) {
    await admin('POST', FEATURES, { key, enabled: key !== 'b' })
  }
  const answer = await server.app.inject(FEATURES)
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['cache-control'], 'no-cache')
  t.strictSame(
    answer.json(),
    ['9', 'a-3', 'a.1', 'a_2', 'b', 'z'.repeat(64)].map((key) => ({ key, enabled: key !== 'b' }))
  )
})

t.test('POST /api/settings/features makes an unknown key a new flag, sets a known one, and answers it', async (t) => {
  const server = await build(t)
  const { admin, who } = administrator(server)
  for (const enabled of [true, false, false]) {
    const answer = await admin('POST', FEATURES, { key: 'check_in_online', enabled })
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), { key: 'check_in_online', enabled })
    t.strictSame((await server.app.inject(FEATURES)).json(), [{ key: 'check_in_online', enabled }])
  }
  const logged = await server.app.sql`
    select actor, object, details from audit_log where action = 'funzione' order by id`
  const actor = await who()
  t.strictSame(
    logged.map((row) => ({ ...row })),
    [[null, true], [true, false], [false, false]].map(([before, after]) => ({
      actor,
      object: 'funzione:check_in_online',
      details: { before, after }
    }))
  )
})

t.test('only administrators set a flag', async (t) => {
  const { app, token } = await build(t)
  const payload = { key: 'prova', enabled: true }
  const asked = async (headers: Record<string, string>) =>
    (await app.inject({ method: 'POST', url: FEATURES, headers, payload })).statusCode
  t.equal(await asked({}), 401)
  t.equal(await asked({ 'x-api-key': API_KEY }), 403)
  t.equal(await asked(bearer(await token())), 403)
  t.strictSame((await app.inject(FEATURES)).json(), [])
  t.equal(await asked(bearer(await token({ service: true }))), 200)
})

t.test('a key or a value that does not fit is refused, and the answer names the field', async (t) => {
  const server = await build(t)
  const { admin } = administrator(server)
  for (const key of ['', 'A', 'a b', 'è', 'a/b', 'z'.repeat(65), 'a\n', 'a\u0000', 7, null]) {
    const answer = await admin('POST', FEATURES, { key, enabled: true })
    t.equal(answer.statusCode, 400, JSON.stringify(key))
    t.match(answer.json(), { dettagli: [{ campo: 'key' }] })
  }
  for (const [campo, body] of [['enabled', { enabled: 'true' }], ['more', { enabled: true, more: 1 }]] as const) {
    t.match((await admin('POST', FEATURES, { key: 'a', ...body })).json(), { dettagli: [{ campo }] })
  }
})

t.test('there are at most a thousand flags, and those that there are can still be set', async (t) => {
  const server = await build(t)
  const { admin } = administrator(server)
  await server.app.sql`insert into feature_flags (key, enabled) select 'f' || n, true from generate_series(1, 999) n`
  const both = await Promise.all(['x', 'y'].map((key) => admin('POST', FEATURES, { key, enabled: true })))
  t.same(both.map(({ statusCode }) => statusCode).sort(), [200, 409])
  t.match(both.find(({ statusCode }) => statusCode === 409)!.json(), { codice: 'TROPPE_FUNZIONI' })
  t.equal((await admin('POST', FEATURES, { key: 'f7', enabled: false })).statusCode, 200)
  const list = (await server.app.inject(FEATURES)).json<FeatureFlag[]>()
  t.equal(list.length, 1000)
  t.match(list.find(({ key }) => key === 'f7'), { enabled: false })
})

t.test('administrators who set the same new flag at once all succeed, and the log tells who was first', async (t) => {
  const server = await build(t)
  const { admin } = administrator(server)
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => admin('POST', FEATURES, { key: 'nuova', enabled: n % 2 === 0 }))
  )
  t.same(answers.map(({ statusCode }) => statusCode), Array(8).fill(200))
  const logged = await server.app.sql<{ before: boolean | null, after: boolean }[]>`
    select (details->>'before')::boolean as before, (details->>'after')::boolean as after
    from audit_log where action = 'funzione' order by id`
  t.same(logged.map(({ before }) => before), [null, ...logged.slice(0, -1).map(({ after }) => after)])
  t.match((await server.app.inject(FEATURES)).json(), [{ key: 'nuova', enabled: logged.at(-1)!.after }])
})

t.test('flags are read without a query, except once after a change, for all requests together', async (t) => {
  const server = await build(t)
  const count = countStatements(server.app)
  const read = () => server.app.inject(FEATURES)
  t.equal(await count(read), 0, 'they are known since the start')
  await administrator(server).admin('POST', FEATURES, { key: 'prova', enabled: true })
  t.ok((await count(() => Promise.all([read(), read(), read()]))) <= 2, 'one query for the flags, one for the rest')
  t.equal(await count(read), 0)
})
