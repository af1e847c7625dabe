import { randomBytes } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import type { FeatureFlag, MaintenanceState } from '#schemas/setting.ts'
import { administrator, detail, INVII, ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo, invio, production, until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { API_KEY, build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { gateTo } from '#test/database-gate.ts'
import { provider, tokensOf } from '#test/identity/protocol/client.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { twoServers } from '#test/identity/two-servers.ts'
import { startServer } from '#test/running-server.ts'

const FEATURES = '/api/settings/features'

const routes: RouteOptions[] = []
const server = await build(t, {}, (app) => { app.addHook('onRoute', (route) => { routes.push(route) }) })
const { admin, who } = administrator(server)
const flags = async () => (await server.app.inject(FEATURES)).json<FeatureFlag[]>()
const flag = async (wanted: string) => (await flags()).filter(({ key }) => key === wanted)

const [one, other] = await twoServers(t)

t.test('GET /api/settings/features returns a bare array in the order of the keys, without credentials', async (t) => {
  t.strictSame((await server.app.inject(FEATURES)).json(), [])
  for (const key of ['b', 'a_2', 'a.1', 'a-3', '9', 'z'.repeat(64)]) {
    await admin('POST', FEATURES, { key, enabled: key !== 'b' })
  }
  const response = await server.app.inject(FEATURES)
  t.equal(response.statusCode, 200)
  t.equal(response.headers['cache-control'], 'no-cache')
  t.strictSame(
    response.json(),
    ['9', 'a-3', 'a.1', 'a_2', 'b', 'z'.repeat(64)].map((key) => ({ key, enabled: key !== 'b' }))
  )
})

t.test('POST /api/settings/features creates an unknown key, sets a known one, and returns it', async (t) => {
  for (const enabled of [true, false, false]) {
    const response = await admin('POST', FEATURES, { key: 'check_in_online', enabled })
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), { key: 'check_in_online', enabled })
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

t.test('an invalid key or value is refused, and the response names the field', async (t) => {
  for (const key of ['', 'A', 'a b', 'è', 'a/b', 'z'.repeat(65), 'a\n', 'a\u0000', 7, null]) {
    const response = await admin('POST', FEATURES, { key, enabled: true })
    t.equal(response.statusCode, 400, JSON.stringify(key))
    t.match(response.json(), { dettagli: [{ campo: 'key' }] })
  }
  for (const [campo, body] of [['enabled', { enabled: 'true' }], ['more', { enabled: true, more: 1 }]] as const) {
    t.match((await admin('POST', FEATURES, { key: 'a', ...body })).json(), { dettagli: [{ campo }] })
  }
})

t.test('at most a thousand flags are possible, and existing ones can still be set', async (t) => {
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

const MAINTENANCE = '/api/settings/maintenance'
const ROUNDS = 12
const CHANNEL = 'locanda_identity'
interface ApiResponse { status: number, body: string }

interface Asking {
  method?: 'POST'
  url: string
  headers?: Record<string, string>
  payload?: object
}

type Ask = (asking: Asking) => Promise<ApiResponse>

const within = ({ app }: TestApp): Ask => async (asking) => {
  const { statusCode: status, body } = await app.inject(asking)
  return { status, body }
}

const across = (address: string): Ask => async ({ url, payload, headers, ...rest }) => {
  const response = await fetch(address + url, {
    ...rest,
    headers: { ...headers, ...(payload && { 'content-type': 'application/json' }) },
    ...(payload && { body: JSON.stringify(payload) })
  })
  return { status: response.status, body: await response.text() }
}

t.test('a change is effective in every process when its response is sent', async (t) => {
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
      const response = await ask(isFlag ? { url: FEATURES } : { url: '/api/v1/paesi', headers: operator })
      const seen = isFlag
        ? (JSON.parse(response.body) as FeatureFlag[]).find(({ key }) => key === 'prova')!.enabled
        : response.status === 503
      if (seen !== enabled) misses.push({ round, isFlag, response })
    }))
  }
  t.same(misses, [])
})

t.test('a change whose notification is lost becomes effective nevertheless', async (t) => {
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

  await t.test('as soon as a disconnected process listens again', async (t) => {
    const listeners = () => app.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where datname = current_database() and query = ${`listen "${CHANNEL}"`}`
    await silently("insert into feature_flags values ('a', true)")
    t.same([await flagsOf({ app }), await flagsOf(other)], [[], []], 'without a notification')
    for (const { pid } of await listeners()) await app.sql`select pg_terminate_backend(${pid})`
    await seesAll(['a'])
  })

  await t.test('after some time, even without a notification', async () => {
    await silently("insert into feature_flags values ('b', true)")
    await seesAll(['a', 'b'])
  })
})

t.test('without the database the last known flags are returned, and maintenance stays on', async (t) => {
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
  // The state after a change whose new value cannot be read.
  await app.settings.inForce()
  await check()
  t.match(
    JSON.parse((await ask({ method: 'POST', url: MAINTENANCE, headers: admin, payload: { enabled: false } })).body),
    { status: 503, codice: 'DATABASE_NON_DISPONIBILE' }
  )
})

const OFF: MaintenanceState = { enabled: false, message: null, since: null, allow: [] }

const SIGN_IN = [
  'GET /auth/v1/user',
  'HEAD /auth/v1/user',
  'POST /auth/v1/logout',
  // Without these an administrator who needs a second factor could not end maintenance.
  'POST /auth/v1/factors',
  'DELETE /auth/v1/factors/:factor_id',
  'POST /auth/v1/factors/:factor_id/challenge',
  'POST /auth/v1/factors/:factor_id/verify',
  'GET /auth/v1/factors/recovery-codes',
  'HEAD /auth/v1/factors/recovery-codes',
  'POST /auth/v1/factors/recovery-codes/verify'
]

/** Ends maintenance when the test ends. */
const off = (t: Test) => t.teardown(() => admin('POST', MAINTENANCE, { enabled: false }))

const { police, server: ledgerHouse, admin: ledgerAdmin, decide } = await ledgerServer(t)

t.test('switching maintenance on again replaces message and exceptions, and keeps the start time', async (t) => {
  off(t)
  const rows = async () => (await server.app.sql`select from maintenance`).length
  const [rowsBefore, [{ last }]] = [await rows(), await server.app.sql<[{ last: number }]>`
    select coalesce(max(id), 0)::int as last from audit_log`]
  const asked = [
    { enabled: true, message: 'Uno', allow: ['invii'] },
    { enabled: true, message: ' 100 %s ' },
    { enabled: true, message: ' ' },
    { enabled: false },
    { enabled: false }
  ]
  const states: MaintenanceState[] = []
  for (const body of asked) states.push((await admin('POST', MAINTENANCE, body)).json())
  t.equal(new Set(states.slice(0, 3).map(({ since }) => since)).size, 1)
  t.same(states.map(({ message }) => message), ['Uno', '100 %s', null, null, null])
  t.same(states.map(({ allow }) => allow), [['invii'], [], [], [], []])
  t.equal(await rows(), rowsBefore + 1)
  const logged = await server.app.sql`
    select actor, details from audit_log where action = 'manutenzione' and id > ${last} order by id`
  const actor = await who()
  t.strictSame(logged.map((row) => ({ ...row })), [
    [false, true, [], ['invii'], true],
    [true, true, ['invii'], [], true],
    [true, true, [], [], true],
    [true, false, [], [], false],
    [false, false, [], [], false]
  ].map(([before, after, allowed_before, allowed_after, message_changed]) => ({
    actor,
    details: { before, after, allowed_before, allowed_after, message_changed }
  })))
})

t.test('an invalid change is refused, and the response names the field', async (t) => {
  const fields = async (body: object) => {
    const response = await admin('POST', MAINTENANCE, body)
    t.equal(response.statusCode, 400)
    return response.json<{ dettagli: { campo: string }[] }>().dettagli.map(({ campo }) => campo).sort()
  }
  t.same(await fields({ enabled: false, message: 'Fine', allow: [] }), ['allow', 'message'])
  t.same(await fields({}), ['enabled'])
  t.same(await fields({ enabled: 1 }), ['enabled'])
  t.same(await fields({ enabled: true, message: 'a\nb' }), ['message'])
  t.same(await fields({ enabled: true, allow: ['tutto'] }), ['allow[0]'])
  t.same(await fields({ enabled: true, until: '14:00' }), ['until'])
  t.strictSame((await server.call('GET', MAINTENANCE)).json(), OFF)
})

t.test('during maintenance every route that is not public responds to non-administrators with a 503', async (t) => {
  off(t)
  const { app, token } = server
  const operator = await token()
  const { apiKey } = (await app.inject({
    method: 'GET',
    url: '/api/cli/auth/key',
    headers: bearer(operator)
  })).json<{ apiKey: string }>()
  t.type(apiKey, 'string')
  const callers: Record<string, string>[] =
    [{}, { 'x-api-key': API_KEY }, bearer(operator), { 'x-api-key': apiKey }]
  // A browser's preflight request is not authenticated.
  const named = routes.filter(({ method }) => method !== 'OPTIONS').flatMap(({ method, url, config }) =>
    [method].flat().map((each) => ({ method: each, url, access: config?.access, name: `${each} ${url}` }))
  )
  const ask = async ({ method, url }: { method: string, url: string }, headers: Record<string, string>) =>
    await app.inject({ method: method as 'GET', url: url.replace(/:\w+/g, '1').replace('*', 'nessuna'), headers })
  const open = named.filter(({ access, name }) => access === 'public' || access === 'cookie' || SIGN_IN.includes(name))
  const closed = named.filter((route) => !open.includes(route))
  t.ok(closed.length > 40)
  t.same(SIGN_IN.filter((name) => !named.some((route) => route.name === name)), [])

  const asNobody = async () => {
    const statuses: string[] = []
    for (const route of open) statuses.push(`${route.name} ${(await ask(route, {})).statusCode}`)
    return statuses
  }
  const before = await asNobody()
  const by = bearer(await token({ service: true }))
  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: true, message: 'Alle 14' } })
  for (const route of closed) {
    const responses = await Promise.all(callers.map((headers) => ask(route, headers)))
    // One comparison for all callers, because each comparison costs as much as a request.
    t.match(responses, callers.map(() => ({
      statusCode: 503, headers: { 'retry-after': '60', 'cache-control': 'no-store' }
    })), route.name)
    if (route.method === 'HEAD') continue
    const bodies = responses.map((response) => response.json<object>())
    const all = (expected: object) => callers.map(() => expected)
    if (route.url.startsWith('/auth/v1/')) {
      t.match(bodies, all({ code: 503, error_code: 'unexpected_failure' }), route.name)
    } else if (route.url.startsWith('/storage/v1/')) {
      t.match(bodies, all({ statusCode: '503', code: 'SlowDown', message: 'Servizio in manutenzione: Alle 14' }))
    } else {
      t.strictSame(bodies.map((body) => ({ ...body, requestId: '' })), all({
        error: 'Servizio in manutenzione: Alle 14', status: 503, codice: 'MANUTENZIONE', requestId: ''
      }), route.name)
    }
  }
  t.same(await asNobody(), before, 'public routes, guarded pages and sign-in still work')
  t.match((await app.inject({ url: '/api/v1/nessuna', headers: bearer(operator) })).statusCode, 404)
  t.match((await app.inject({ method: 'PUT', url: MAINTENANCE })).statusCode, 405)
  t.equal((await app.inject({ url: '/api/v1/prenotazioni', headers: by })).statusCode, 200)
  t.equal(await isLetIn(app, bearer(await token({ name: 'ada', role: 'admin' }))), 200)

  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: true } })
  t.match((await ask(closed[0]!, bearer(operator))).json(), { error: /^Servizio in manutenzione/ })
  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: false } })
  t.equal(await isLetIn(app, bearer(operator)), 200)
})

t.test('the official client signs in, refreshes, reads its user and signs out during maintenance', async (t) => {
  const { app, open, person, token } = await provider(t)
  const { email } = await person()
  await app.inject({
    method: 'POST', url: MAINTENANCE, headers: bearer(await token({ service: true })), payload: { enabled: true }
  })
  const { auth } = open()
  t.equal((await auth.signInWithPassword({ email, password: 'una-frase-lunga-e-mia' })).error, null)
  t.equal((await auth.getUser()).data.user?.email, email)
  const { refresh } = await tokensOf({ auth, exchanges: [], events: [], storage: new Map() })
  t.equal((await auth.refreshSession({ refresh_token: refresh })).error, null)
  const { data: { session } } = await auth.getSession()
  t.equal(await isLetIn(app, bearer(session!.access_token)), 503)
  const kept = await auth.updateUser({ data: { tema: 'scuro' } })
  t.equal(kept.error?.status, 503)
  t.ok((await auth.getSession()).data.session, 'the session continues')
  t.equal((await auth.signOut()).error, null)
  t.equal((await app.inject({ url: '/auth/v1/user', headers: bearer(session!.access_token) })).statusCode, 403)
})

t.test('maintenance survives a restart of the server', async (t) => {
  const { app, url, dataDir, token } = await build(t)
  await app.inject({
    method: 'POST', url: MAINTENANCE, headers: bearer(await token({ service: true })), payload: { enabled: true }
  })
  await app.close()
  const again = await build(t, { DATABASE_URL: url, DATA_DIR: dataDir })
  t.match((await again.call('GET', '/api/v1/paesi')).json(), { codice: 'MANUTENZIONE' })
})

const INVIO = '/api/alloggiati/invio'

/** Guests that no other test has sent. */
let guests = 0

const anybody = () => guestNo(++guests)

/** Returns a function that counts the calls of an operation from now on. */
function calls (operation: string) {
  const before = police.callsOf(operation).length
  return () => police.callsOf(operation).length - before
}

const count = async () => (await ledgerHouse.app.sql<{ n: number }[]>`select count(*)::int as n from invii`)[0]!.n

t.afterEach(() => ledgerAdmin('POST', MAINTENANCE, { enabled: false }))

t.test('during maintenance no new guests are sent to the police, even by an administrator', async (t) => {
  const [guest, begun, before] = [anybody(), police.startedCalls.length, await count()]
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  const refused = await ledgerAdmin('POST', INVIO, invio([guest]))
  t.match([refused.statusCode, refused.json()], [503, { codice: 'MANUTENZIONE', error: /^Durante la manutenzione/ }])
  t.ok(refused.headers['retry-after'])
  t.equal((await ledgerHouse.call('POST', INVIO, invio([guest]))).statusCode, 503)
  t.same([police.startedCalls.length, await count()], [begun, before])
  await ledgerAdmin('POST', MAINTENANCE, { enabled: false })
  t.equal((await ledgerAdmin('POST', INVIO, invio([guest]))).statusCode, 200, 'the guest can still be sent')
})

t.test('administrators send guests while the exceptions allow it', async (t) => {
  const [guest, sends] = [anybody(), calls('Send')]
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true, allow: ['invii'] })
  t.equal((await ledgerAdmin('POST', INVIO, invio([anybody()]))).statusCode, 200)
  t.equal((await ledgerHouse.call('POST', INVIO, invio([guest]))).statusCode, 503, 'other users have no access')
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  t.equal((await ledgerAdmin('POST', INVIO, invio([guest]))).statusCode, 503)
  t.equal(sends(), 1)
})

t.test('during maintenance a decision to send again is refused, and other decisions are allowed', async (t) => {
  const sends = calls('Send')
  const { versione, data_arrivo, id } = await detail(ledgerHouse, await unknown(police, ledgerHouse, [anybody()]))
  const decide = (decisione: string) => ledgerAdmin('POST', `${INVII}/${id}/decisione`, {
    decisione,
    motivo: 'Guardato sul portale',
    versione,
    conferma: `1 ospite ${data_arrivo}`
  })
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  t.match((await decide('reinvia')).json(), { status: 503, codice: 'MANUTENZIONE' })
  t.match((await ledgerAdmin('GET', `${INVII}/${id}`)).json(), { data: { stato: 'sconosciuto', decisioni: [] } })
  t.equal((await decide('acquisito')).statusCode, 200)
  t.equal(sends(), 1)
})

t.test('a submission in progress when maintenance begins continues to its end', async (t) => {
  const sends = calls('Send')
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  t.teardown(() => { delete police.firstByte })
  police.firstByte = async (operation) => {
    if (operation !== 'Test') return
    arrive()
    await gate
  }
  const sending = ledgerHouse.call('POST', INVIO, invio([anybody()]))
  await reached
  t.match((await ledgerAdmin('POST', MAINTENANCE, { enabled: true })).json(), { enabled: true })
  open()
  t.equal((await sending).statusCode, 200)
  t.equal(sends(), 1)
})

t.test('a submission that waits when maintenance begins is sent by the sweep', async (t) => {
  const id = await unknown(police, ledgerHouse, [anybody()])
  police.on.Test = (socket) => socket.resetAndDestroy()
  await decide(id, 'reinvia')
  delete police.on.Test
  t.equal((await detail(ledgerHouse, id)).stato, 'pronto')
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  await ledgerHouse.app.sql`update invii set lease_fino_al = now() - interval '1 second' where id = ${id}`
  await production(t, police, { DATABASE_URL: ledgerHouse.url, DATA_DIR: ledgerHouse.dataDir })
  await until(async () => (await ledgerAdmin('GET', `${INVII}/${id}`)).json().data.stato === 'acquisito')
})

t.test('after the response to the start of maintenance no submission becomes ready', async (t) => {
  for (let round = 0; round < 5; round++) {
    const sending = Array.from({ length: 6 }, () => ledgerAdmin('POST', INVIO, invio([anybody()])))
    await Promise.race(sending)
    t.equal((await ledgerAdmin('POST', MAINTENANCE, { enabled: true })).statusCode, 200)
    const ready = await count()
    const late = await ledgerAdmin('POST', INVIO, invio([anybody()]))
    t.equal(late.statusCode, 503)
    const statuses = (await Promise.all(sending)).map(({ statusCode }) => statusCode)
    t.same(statuses.filter((status) => status !== 200 && status !== 503 && status !== 422), [])
    t.equal(await count(), ready)
    await ledgerAdmin('POST', MAINTENANCE, { enabled: false })
  }
})
