import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { FeatureFlag } from '#schemas/setting.ts'
import { kept } from '#src/settings/kept.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { API_KEY, build, signIn, temporaryFolder, type TestApp } from '#test/helper.ts'
import { gateTo } from '#test/identity/attacks/gate.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { startServer } from '#test/running-server.ts'
import { countStatements } from '#test/sql/statements.ts'

const FEATURES = '/api/settings/features'

const server = await build(t)
const { admin, who } = administrator(server)
const flags = async () => (await server.app.inject(FEATURES)).json<FeatureFlag[]>()
const flag = async (wanted: string) => (await flags()).filter(({ key }) => key === wanted)

const [one, other] = await twoServers(t)

t.test('GET /api/settings/features answers anybody with a bare array in the order of the keys', async (t) => {
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
  for (const enabled of [true, false, false]) {
    const answer = await admin('POST', FEATURES, { key: 'check_in_online', enabled })
    t.equal(answer.statusCode, 200)
    t.strictSame(answer.json(), { key: 'check_in_online', enabled })
    t.strictSame(await flag('check_in_online'), [{ key: 'check_in_online', enabled }])
  }
  const logged = await server.app.sql`
    select actor, object, details from audit_log
    where action = 'funzione' and object = 'funzione:check_in_online' order by id`
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
  const { app, token } = server
  const payload = { key: 'prova', enabled: true }
  const asked = async (headers: Record<string, string>) =>
    (await app.inject({ method: 'POST', url: FEATURES, headers, payload })).statusCode
  t.equal(await asked({}), 401)
  t.equal(await asked({ 'x-api-key': API_KEY }), 403)
  t.equal(await asked(bearer(await token())), 403)
  t.strictSame(await flag('prova'), [])
  t.equal(await asked(bearer(await token({ service: true }))), 200)
})

t.test('a key or a value that does not fit is refused, and the answer names the field', async (t) => {
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
  const full = await build(t)
  const { admin } = administrator(full)
  await full.app.sql`insert into feature_flags (key, enabled) select 'f' || n, true from generate_series(1, 999) n`
  const both = await Promise.all(['x', 'y'].map((key) => admin('POST', FEATURES, { key, enabled: true })))
  t.same(both.map(({ statusCode }) => statusCode).sort(), [200, 409])
  t.match(both.find(({ statusCode }) => statusCode === 409)!.json(), { codice: 'TROPPE_FUNZIONI' })
  t.equal((await admin('POST', FEATURES, { key: 'f7', enabled: false })).statusCode, 200)
  const list = (await full.app.inject(FEATURES)).json<FeatureFlag[]>()
  t.equal(list.length, 1000)
  t.match(list.find(({ key }) => key === 'f7'), { enabled: false })
})

t.test('administrators who set the same new flag at once all succeed, and the log tells who was first', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, n) => admin('POST', FEATURES, { key: 'nuova', enabled: n % 2 === 0 }))
  )
  t.same(answers.map(({ statusCode }) => statusCode), Array(8).fill(200))
  const logged = await server.app.sql<{ before: boolean | null, after: boolean }[]>`
    select (details->>'before')::boolean as before, (details->>'after')::boolean as after
    from audit_log where action = 'funzione' and object = 'funzione:nuova' order by id`
  t.same(logged.map(({ before }) => before), [null, ...logged.slice(0, -1).map(({ after }) => after)])
  t.match(await flag('nuova'), [{ key: 'nuova', enabled: logged.at(-1)!.after }])
})

t.test('flags are read without a query, except once after a change, for all requests together', async (t) => {
  const count = countStatements(server.app)
  const read = () => server.app.inject(FEATURES)
  await read()
  t.equal(await count(read), 0)
  await admin('POST', FEATURES, { key: 'prova', enabled: true })
  t.ok((await count(() => Promise.all([read(), read(), read()]))) <= 2, 'one query for the flags, one for the rest')
  t.equal(await count(read), 0)
})

const listening = { ready: async () => true }
const log = { warn () {} }

t.test('a value that has changed is never given out again, even when the new one cannot be read', async (t) => {
  let value = 'vecchio'
  let isDown = false
  const setting = kept(async () => {
    if (isDown) throw new Error('giù')
    return value
  }, () => listening, log)
  t.equal(await setting.current(), 'vecchio')
  isDown = true
  setting.forget()
  t.equal(await setting.current(), 'vecchio', 'nobody said that it has changed')
  value = 'nuovo'
  setting.change()
  await t.rejects(async () => await setting.current(), { message: 'giù' })
  isDown = false
  t.equal(await setting.current(), 'nuovo')
  t.equal(setting.current(), 'nuovo', 'at once')
})

const MAINTENANCE = '/api/settings/maintenance'
const ROUNDS = 36
const CHANNEL = 'locanda_identity'
interface Answer { status: number, body: string }

interface Asking {
  method?: 'POST'
  url: string
  headers?: Record<string, string>
  payload?: object
}

type Ask = (asking: Asking) => Promise<Answer>

const within = ({ app }: TestApp): Ask => async (asking) => {
  const { statusCode: status, body } = await app.inject(asking)
  return { status, body }
}

const across = (address: string): Ask => async ({ url, payload, headers, ...rest }) => {
  const answer = await fetch(address + url, {
    ...rest,
    headers: { ...headers, ...(payload && { 'content-type': 'application/json' }) },
    ...(payload && { body: JSON.stringify(payload) })
  })
  return { status: answer.status, body: await answer.text() }
}

t.test('a change is in force in every process when it is answered', async (t) => {
  const shared = {
    MASTER_KEY: randomBytes(32).toString('base64'),
    PUBLIC_URL: 'http://127.0.0.1:1',
    RATE_LIMIT_MAX: '1000000',
    LOG_LEVEL: 'info'
  }
  const first = await build(t, shared)
  const second = await build(t, { ...shared, DATABASE_URL: first.url })
  const child = await startServer({ ...shared, DATABASE_URL: first.url, DATA_DIR: temporaryFolder(t) })
  t.teardown(() => child.end())
  const servers = [within(first), within(second), across(child.address)]
  const admin = bearer(await first.token({ service: true }))
  const operator = bearer(await first.token())
  const misses: unknown[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const enabled = round % 2 === 0
    const change = servers[round % 3]!
    const isFlag = round % 4 < 2
    const { status } = await change({
      method: 'POST',
      url: isFlag ? FEATURES : MAINTENANCE,
      headers: admin,
      payload: isFlag ? { key: 'prova', enabled } : { enabled }
    })
    if (status !== 200) misses.push({ round, status })
    await Promise.all(servers.map(async (ask) => {
      const answer = await ask(isFlag ? { url: FEATURES } : { url: '/api/v1/paesi', headers: operator })
      const seen = isFlag
        ? (JSON.parse(answer.body) as FeatureFlag[]).find(({ key }) => key === 'prova')!.enabled
        : answer.status === 503
      if (seen !== enabled) misses.push({ round, isFlag, answer })
    }))
  }
  t.same(misses, [])
})

t.test('requests without a pause never see the old value after the answer', async (t) => {
  const admin = bearer(await one.token({ service: true }))
  const { access_token } = await signIn(one.app, 'anna', 'operator')
  for (const enabled of [true, false, true, false]) {
    let isAnswered = false
    const late: number[] = []
    const streams = [one, other].map(async ({ app }) => {
      for (let left = 20; left > 0;) {
        await turn()
        const isAfter = isAnswered
        const status = await isLetIn(app, bearer(access_token))
        if (isAfter) late.push(status)
        if (isAfter) left--
      }
    })
    await within(other)({ method: 'POST', url: MAINTENANCE, headers: admin, payload: { enabled } })
    isAnswered = true
    await Promise.all(streams)
    t.same([...new Set(late)], [enabled ? 503 : 200])
  }
})

t.test('a change whose notification is lost is in force all the same', async (t) => {
  const { app } = one
  const silently = (work: string) => app.sql.begin(async (tx) => {
    await tx`alter table feature_flags disable trigger feature_flags_changed`
    await tx.unsafe(work)
    await tx`alter table feature_flags enable trigger feature_flags_changed`
  })
  const flagsOf = async ({ app }: Pick<TestApp, 'app'>) => (await app.inject(FEATURES)).json<FeatureFlag[]>()
  const seesAll = async (keys: string[]) => {
    for (const each of [{ app }, other]) {
      await until(async () => (await flagsOf(each)).map(({ key }) => key).join() === keys.join())
    }
  }

  await t.test('as soon as a process listens again that was cut off', async (t) => {
    const listeners = () => app.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}`
    await silently("insert into feature_flags values ('a', true)")
    t.same([await flagsOf({ app }), await flagsOf(other)], [[], []], 'nobody was told')
    for (const { pid } of await listeners()) await app.sql`select pg_terminate_backend(${pid})`
    await seesAll(['a'])
  })

  await t.test('without anything else, too', async () => {
    await silently("insert into feature_flags values ('b', true)")
    await seesAll(['a', 'b'])
  })
})

t.test('without the database the last known flags are answered, and a maintenance stays in force', async (t) => {
  const { url } = await testDatabase(t)
  const gate = await gateTo(t, url)
  const server = await build(t, { DATABASE_URL: gate.url })
  const { app, token } = server
  const admin = bearer(await token({ service: true }))
  const operator = bearer(await token())
  const ask = within(server)
  await ask({ method: 'POST', url: FEATURES, headers: admin, payload: { key: 'prova', enabled: true } })
  await ask({ method: 'POST', url: MAINTENANCE, headers: admin, payload: { enabled: true } })
  t.equal(await isLetIn(app, operator), 503)
  await gate.shut()
  const check = async () => {
    t.same(JSON.parse((await ask({ url: FEATURES })).body), [{ key: 'prova', enabled: true }])
    t.match(JSON.parse((await ask({ url: '/api/v1/paesi', headers: operator })).body), { codice: 'MANUTENZIONE' })
  }
  await check()
  // As after a change whose new value cannot be read.
  await app.settings.inForce()
  await check()
  t.match(
    JSON.parse((await ask({ method: 'POST', url: MAINTENANCE, headers: admin, payload: { enabled: false } })).body),
    { status: 503, codice: 'DATABASE_NON_DISPONIBILE' }
  )
})
