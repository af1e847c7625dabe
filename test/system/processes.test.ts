import { randomBytes } from 'node:crypto'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { FeatureFlag } from '#schemas/setting.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { build, signIn, temporaryFolder, type TestApp } from '#test/helper.ts'
import { gateTo } from '#test/identity/attacks/gate.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { startServer } from '#test/running-server.ts'

const FEATURES = '/api/settings/features'
const MAINTENANCE = '/api/settings/maintenance'
const ROUNDS = 100
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

t.test('a change is in force in every process when it is answered, in a hundred rounds without a miss', async (t) => {
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

const [one, other] = await twoServers(t)

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
  const flags = async ({ app }: Pick<TestApp, 'app'>) => (await app.inject(FEATURES)).json<FeatureFlag[]>()
  const seesAll = async (keys: string[]) => {
    for (const each of [{ app }, other]) {
      await until(async () => (await flags(each)).map(({ key }) => key).join() === keys.join())
    }
  }

  await t.test('as soon as a process listens again that was cut off', async (t) => {
    const listeners = () => app.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}`
    await silently("insert into feature_flags values ('a', true)")
    t.same([await flags({ app }), await flags(other)], [[], []], 'nobody was told')
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
