import type { RouteOptions } from 'fastify'
import t, { type Test } from 'tap'
import type { MaintenanceState } from '#schemas/setting.ts'
import { administrator, detail, INVII, ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo, invio, production, until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build } from '#test/helper.ts'
import { provider, tokensOf } from '#test/identity/protocol/client.ts'
import { bearer, isLetIn } from '#test/identity/requests.ts'
import { countStatements } from '#test/sql/statements.ts'

const MAINTENANCE = '/api/settings/maintenance'
const OFF: MaintenanceState = { enabled: false, message: null, since: null, allow: [] }

const SIGN_IN = [
  'GET /auth/v1/user',
  'HEAD /auth/v1/user',
  'POST /auth/v1/logout',
  // An administrator who must prove a second factor, or has to have one, could not end the maintenance.
  'POST /auth/v1/factors',
  'DELETE /auth/v1/factors/:factor_id',
  'POST /auth/v1/factors/:factor_id/challenge',
  'POST /auth/v1/factors/:factor_id/verify',
  'GET /auth/v1/factors/recovery-codes',
  'HEAD /auth/v1/factors/recovery-codes',
  'POST /auth/v1/factors/recovery-codes/verify'
]

/** For the tests that switch it: each begins and ends without a maintenance. */
const routes: RouteOptions[] = []

const server = await build(t, {}, (app) => { app.addHook('onRoute', (route) => { routes.push(route) }) })
const { admin, who } = administrator(server)
const off = (t: Test) => t.teardown(() => admin('POST', MAINTENANCE, { enabled: false }))

const { police, server: ledgerHouse, admin: ledgerAdmin, decide } = await ledgerServer(t)

t.test('GET and POST /api/settings/maintenance tell whether there is one, since when and what goes on', async (t) => {
  off(t)
  t.strictSame((await server.call('GET', MAINTENANCE)).json(), OFF)
  const on = await admin('POST', MAINTENANCE, { enabled: true, message: 'Torniamo alle 14', allow: ['invii'] })
  t.equal(on.statusCode, 200)
  const { since, ...rest } = on.json<MaintenanceState>()
  t.strictSame(rest, { enabled: true, message: 'Torniamo alle 14', allow: ['invii'] })
  t.match(since, /^\d{4}-\d{2}-\d{2}T.+Z$/)
  t.strictSame((await admin('GET', MAINTENANCE)).json(), on.json())
  const ended = await admin('POST', MAINTENANCE, { enabled: false })
  t.strictSame([ended.statusCode, ended.json()], [200, OFF])
  t.strictSame((await server.call('GET', MAINTENANCE)).json(), OFF)
})

t.test('switched on again it says and allows what is asked for now, since its beginning', async (t) => {
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

t.test('a change that does not fit is refused, and the answer names the field', async (t) => {
  const fields = async (body: object) => {
    const answer = await admin('POST', MAINTENANCE, body)
    t.equal(answer.statusCode, 400)
    return answer.json<{ dettagli: { campo: string }[] }>().dettagli.map(({ campo }) => campo).sort()
  }
  t.same(await fields({ enabled: false, message: 'Fine', allow: [] }), ['allow', 'message'])
  t.same(await fields({}), ['enabled'])
  t.same(await fields({ enabled: 1 }), ['enabled'])
  t.same(await fields({ enabled: true, message: 'a\nb' }), ['message'])
  t.same(await fields({ enabled: true, allow: ['tutto'] }), ['allow[0]'])
  t.same(await fields({ enabled: true, until: '14:00' }), ['until'])
  t.strictSame((await server.call('GET', MAINTENANCE)).json(), OFF)
})

t.test('only administrators switch it, and those who do it at once all succeed', async (t) => {
  off(t)
  const { app, token, call } = server
  t.equal((await app.inject({ method: 'POST', url: MAINTENANCE, payload: { enabled: true } })).statusCode, 401)
  t.equal((await call('POST', MAINTENANCE, { enabled: true })).statusCode, 403)
  t.equal((await call('POST', MAINTENANCE, { enabled: true }, bearer(await token()))).statusCode, 403)
  const people = ['ada', 'bice', 'ciro', 'dino'].map((name) => administrator(server, name))
  const answers = await Promise.all(
    people.flatMap(({ admin }) => [true, false, true].map((enabled) => admin('POST', MAINTENANCE, { enabled })))
  )
  t.same(answers.map(({ statusCode }) => statusCode), Array(12).fill(200))
})

t.test('during a maintenance every route that is not public answers non-administrators with a 503', async (t) => {
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
  // What browsers ask before a request is not a request of anybody.
  const named = routes.filter(({ method }) => method !== 'OPTIONS').flatMap(({ method, url, config }) =>
    [method].flat().map((each) => ({ method: each, url, access: config?.access, name: `${each} ${url}` }))
  )
  const ask = async ({ method, url }: { method: string, url: string }, headers: Record<string, string>) =>
    await app.inject({ method: method as 'GET', url: url.replace(/:\w+/g, '1').replace('*', 'nessuna'), headers })
  const open = named.filter(({ access, name }) => access === 'public' || access === 'cookie' || SIGN_IN.includes(name))
  const guarded = named.filter((route) => !open.includes(route))
  t.ok(guarded.length > 40)
  t.same(SIGN_IN.filter((name) => !named.some((route) => route.name === name)), [])

  const asNobody = async () => {
    const statuses: string[] = []
    for (const route of open) statuses.push(`${route.name} ${(await ask(route, {})).statusCode}`)
    return statuses
  }
  const before = await asNobody()
  const by = bearer(await token({ service: true }))
  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: true, message: 'Alle 14' } })
  for (const route of guarded) {
    const answers = await Promise.all(callers.map((headers) => ask(route, headers)))
    // In one comparison for all callers: each costs as much as a request.
    t.match(answers, callers.map(() => ({
      statusCode: 503, headers: { 'retry-after': '60', 'cache-control': 'no-store' }
    })), route.name)
    if (route.method === 'HEAD') continue
    const bodies = answers.map((answer) => answer.json<object>())
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
  t.same(await asNobody(), before, 'public routes, pages with a guard of their own and sign-in answer as ever')
  t.match((await app.inject({ url: '/api/v1/nessuna', headers: bearer(operator) })).statusCode, 404)
  t.match((await app.inject({ method: 'PUT', url: MAINTENANCE })).statusCode, 405)
  t.equal((await app.inject({ url: '/api/v1/prenotazioni', headers: by })).statusCode, 200)
  t.equal(await isLetIn(app, bearer(await token({ name: 'ada', role: 'admin' }))), 200)

  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: true } })
  t.match((await ask(guarded[0]!, bearer(operator))).json(), { error: /^Servizio in manutenzione/ })
  await app.inject({ method: 'POST', url: MAINTENANCE, headers: by, payload: { enabled: false } })
  t.equal(await isLetIn(app, bearer(operator)), 200)
})

t.test('the official client signs in, refreshes, asks who it is and signs out during a maintenance', async (t) => {
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
  t.ok((await auth.getSession()).data.session, 'the session stays')
  t.equal((await auth.signOut()).error, null)
  t.equal((await app.inject({ url: '/auth/v1/user', headers: bearer(session!.access_token) })).statusCode, 403)
})

t.test('no request asks the database for the maintenance', async (t) => {
  off(t)
  const operator = bearer(await server.token())
  const ask = () => server.app.inject({ url: '/api/v1/paesi', headers: operator })
  await ask()
  const count = countStatements(server.app)
  t.equal(await count(ask), 0)
  await admin('POST', MAINTENANCE, { enabled: true })
  t.ok((await count(() => Promise.all([ask(), ask(), ask()]))) > 0, 'after a change it is read once')
  t.equal(await count(async () => t.equal((await ask()).statusCode, 503)), 0)
  t.equal(await count(() => admin('GET', '/api/v1/paesi')), 0)
})

t.test('a maintenance survives the restart of the server', async (t) => {
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

/** The calls of an operation from now on. */
function calls (operation: string) {
  const before = police.callsOf(operation).length
  return () => police.callsOf(operation).length - before
}

const count = async () => (await ledgerHouse.app.sql<{ n: number }[]>`select count(*)::int as n from invii`)[0]!.n

t.afterEach(() => ledgerAdmin('POST', MAINTENANCE, { enabled: false }))

t.test('during a maintenance nothing new is sent to the police, not by an administrator either', async (t) => {
  const [guest, begun, before] = [anybody(), police.begun.length, await count()]
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  const refused = await ledgerAdmin('POST', INVIO, invio([guest]))
  t.match([refused.statusCode, refused.json()], [503, { codice: 'MANUTENZIONE', error: /^Durante la manutenzione/ }])
  t.ok(refused.headers['retry-after'])
  t.equal((await ledgerHouse.call('POST', INVIO, invio([guest]))).statusCode, 503)
  t.same([police.begun.length, await count()], [begun, before])
  await ledgerAdmin('POST', MAINTENANCE, { enabled: false })
  t.equal((await ledgerAdmin('POST', INVIO, invio([guest]))).statusCode, 200, 'the guest has stayed free')
})

t.test('administrators send what is allowed by name, until it is not allowed any more', async (t) => {
  const [guest, sends] = [anybody(), calls('Send')]
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true, allow: ['invii'] })
  t.equal((await ledgerAdmin('POST', INVIO, invio([anybody()]))).statusCode, 200)
  t.equal((await ledgerHouse.call('POST', INVIO, invio([guest]))).statusCode, 503, 'others do not get in')
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  t.equal((await ledgerAdmin('POST', INVIO, invio([guest]))).statusCode, 503)
  t.equal(sends(), 1)
})

t.test('a rehearsal, which registers nothing, is possible during a maintenance', async (t) => {
  const sends = calls('Send')
  await ledgerAdmin('POST', MAINTENANCE, { enabled: true })
  t.equal((await ledgerAdmin('POST', INVIO, invio([anybody()], { testMode: true }))).statusCode, 200)
  t.equal(sends(), 0)
})

t.test('a decision to send again is refused during a maintenance, one that sends nothing is not', async (t) => {
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

t.test('a submission under way when a maintenance begins goes on to its end', async (t) => {
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

t.test('a submission that waits when a maintenance begins is sent by the sweep', async (t) => {
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

t.test('when the beginning of a maintenance is answered, nothing becomes ready any more', async (t) => {
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
