import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import t from 'tap'
import { prenotazioni } from '#drizzle/tables/bookings.ts'
import { addLedgerGauges } from '#src/alloggiati/ledger/gauges.ts'
import { suspendSending } from '#src/alloggiati/ledger/suspension.ts'
import { openClient } from '#src/database/client.ts'
import departures from '#src/http/client-disconnects.ts'
import metrics from '#src/http/metrics.ts'
import { ledgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'
import { testDatabase } from '#test/database.ts'
import { gateTo } from '#test/database-gate.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, build } from '#test/helper.ts'

/** The samples of a metric: each value, by its labels in text form. */
function samples (text: string, name: string): Record<string, number> {
  const lines = [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? (\S+)$/gm)].filter(([, metric]) => metric === name)
  return Object.fromEntries(lines.map(([, , labels = '', value]) => [labels, Number(value)]))
}

const figures = { residentBytes: 123_456_789, cpuSeconds: 1.5, startedAt: 1_790_000_000, descriptors: 42 }
const { app, call, token } = await build(t, {}, undefined, { processFigures: () => figures })

t.test('requests are counted by method, route pattern and status, and no URL is exposed', async (t) => {
  await call('GET', '/api/v1/prenotazioni/987654')
  await call('GET', '/api/v1/prenotazioni/987655?api_key=segreto-in-query')
  await call('GET', '/percorso/inventato-42')
  await app.inject({ method: 'GET', url: '/health/live' })
  const { body } = await call('GET', '/metrics')
  const counts = samples(body, 'locanda_http_request_duration_seconds_count')
  t.equal(counts['method="GET",route="/health/live",status="200"'], 1)
  t.equal(counts['method="GET",route="unknown",status="404"'], 1)
  const bookings = Object.entries(counts).filter(([labels]) => labels.includes('prenotazioni'))
  t.match(bookings, [[/route="[^"]*\/:id",status="404"/, 2]])
  for (const secret of ['/98765', 'inventato', 'segreto', API_KEY]) t.notMatch(body, new RegExp(secret))
})

t.test('/metrics requires credentials and uses the Prometheus format', async (t) => {
  t.equal((await app.inject('/metrics')).statusCode, 401)
  const response = await call('GET', '/metrics')
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^text\/plain; version=0\.0\.4/)
  t.equal(response.headers['cache-control'], 'no-store')
  for (const [name, value] of [
    ['process_resident_memory_bytes', 123_456_789],
    ['process_cpu_seconds_total', 1.5],
    ['process_start_time_seconds', 1_790_000_000],
    ['process_open_fds', 42]
  ] as const) t.equal(samples(response.body, name)[''], value)
  t.match(response.body, /^# TYPE process_cpu_seconds_total counter$/m)
  t.ok(samples(response.body, 'locanda_event_loop_delay_seconds')['']! >= 0)
  t.ok(samples(response.body, 'locanda_database_connections')['state="active"']! >= 1)
  t.match(response.body, /^locanda_build_info\{version="[\d.]+",commit="\w*"\} 1$/m)

  const bearer = async (credential: string, url = '/metrics') =>
    (await app.inject({ url, headers: { authorization: `Bearer ${credential}` } })).statusCode
  const { apiKey } = (await app.inject({
    url: '/api/cli/auth/key',
    headers: { authorization: `Bearer ${await token()}` }
  })).json<{ apiKey: string }>()
  t.equal(await bearer(API_KEY), 200, 'as Prometheus sends credentials')
  t.equal(await bearer(apiKey), 200)
  t.equal(await bearer(`${apiKey}x`), 401)
  t.equal(await bearer(await token()), 200)
  t.equal(await bearer(API_KEY, '/api/v1/prenotazioni'), 401, 'only at /metrics')
})

t.test("the ledger's gauges show its current state", async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T18:00:00Z')
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(departures)
  await app.register(metrics)
  addLedgerGauges(app, w.context)
  const read = async (name: string) => samples((await app.inject('/metrics')).body, name)

  t.same(await read('locanda_sending_stopped'), { '': 0 })
  t.equal((await read('locanda_submissions'))['state="acquisito"'], 0)
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: 'K' })
  await w.sent({ at: '2026-11-14T17:00:00Z', seen: 'K' })
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: '?' })
  await w.sent({ at: '2026-11-20T17:00:00Z', seen: 'N' })
  await suspendSending(w.db, 'admin', 'prova')
  await w.db.insert(prenotazioni).values(
    [
      ['2026-11-20', '2026-11-21'],
      ['2026-11-19', '2026-11-22'],
      ['2026-11-20', '2026-11-22'],
      ['2026-11-18', '2026-11-22']
    ].map(([check_in, check_out]) => ({
      nome_cognome: 'Ada Prova',
      lingua: 'it',
      paese_id: 380,
      check_in: check_in!,
      check_out: check_out!,
      numero_ospiti: 1
    }))
  )

  t.match(await read('locanda_submissions'), {
    'state="acquisito"': 2,
    'state="sconosciuto"': 1,
    'state="rifiutato"': 1,
    'state="ricevuto"': 0
  })
  t.same(await read('locanda_unknown_outcomes'), { '': 1 })
  t.same(await read('locanda_sending_stopped'), { '': 1 })
  t.match(await read('locanda_missing_receipts'), { 'age_days="1"': 0, 'age_days="2-6"': 1 })
  // It is 19:00 in Rome. One stay is due at 20:00, one was due at 14:00, one is due tomorrow, and one is too old.
  t.same(await read('locanda_filing_deadlines'), {
    'deadline="passed"': 1,
    'deadline="within_6h"': 1,
    'deadline="later"': 1
  })

  w.clock.set('2026-11-27T08:00:00Z')
  t.match(await read('locanda_missing_receipts'), { 'age_days="2-6"': 0, 'age_days="7-24"': 2 })
  w.clock.set('2026-12-18T08:00:00Z')
  t.match(await read('locanda_missing_receipts'), { 'age_days="25-30"': 1, 'age_days="lost"': 1 })
})

t.test('a gauge that fails or hangs has no value, and the others are still readable', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(departures)
  await app.register(metrics)
  app.addGauge({ name: 'rotta', help: 'x', read: async () => { throw new Error('fermo') } })
  let asked = 0
  app.addGauge({
    name: 'muta',
    help: 'x',
    read () {
      asked++
      return new Promise(() => {})
    }
  })
  app.addGauge({ name: 'rotta_per_stato', help: 'x', label: 'stato', read: async () => { throw new Error('fermo') } })
  app.addGauge({ name: 'sana', help: 'x', label: 'stato', read: async () => ({ uno: 1 }) })
  await app.inject('/metrics')
  const { body, statusCode } = await app.inject('/metrics')
  t.equal(statusCode, 200)
  t.equal(asked, 1, 'a pending reading is not repeated')
  t.same(samples(body, 'locanda_rotta'), { '': NaN })
  t.same(samples(body, 'locanda_muta'), { '': NaN })
  t.same(samples(body, 'locanda_rotta_per_stato'), {})
  t.same(samples(body, 'locanda_sana'), { 'stato="uno"': 1 })
})

t.test(
  'without its database the server stays live but not ready, responds with 503, and recovers',
  async (t) => {
    const gate = await gateTo(t, (await testDatabase(t)).url)
    const { call } = await build(t, { DATABASE_URL: gate.url })
    t.match((await call('GET', '/health/ready')).json(), { stato: 'ok' })

    await gate.shut()
    const ready = await call('GET', '/health/ready')
    t.match(ready.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
    t.equal(ready.headers['retry-after'], '5')
    t.same((await call('GET', '/health/live')).json(), { stato: 'ok' })
    const refused = await call('GET', '/api/v1/prenotazioni/1')
    t.match(refused.json(), { status: 503, codice: 'DATABASE_NON_DISPONIBILE' })
    t.equal(refused.headers['retry-after'], '5')
    t.equal((await call('GET', '/api/v1/paesi')).statusCode, 200, 'requests without the database still work')

    await gate.open()
    while ((await call('GET', '/health/ready')).statusCode !== 200) await sleep(50)
    t.equal((await call('GET', '/api/v1/prenotazioni')).statusCode, 200)
  }
)

t.test('when the database hangs, readiness fails after its timeout', async (t) => {
  const gate = await gateTo(t, (await testDatabase(t)).url)
  const { call } = await build(t, { DATABASE_URL: gate.url })
  gate.freeze()
  t.equal((await call('GET', '/health/ready')).statusCode, 503)
  t.equal((await call('GET', '/health/live')).statusCode, 200)
  await gate.shut()
})

t.test('readiness does not wait for other queries, and works after the disk was full', async (t) => {
  const { url } = await testDatabase(t)
  const { app, call, logs } = await build(t, { DATABASE_URL: url })
  const holder = openClient(url, 1)
  t.teardown(() => holder.end())
  await holder`select pg_advisory_lock(1)`
  const waiting = Array.from({ length: 50 }, () => app.sql`select pg_advisory_lock_shared(1)`.execute())
  t.equal((await call('GET', '/health/ready')).statusCode, 200)
  app.isDiskFullReported(Object.assign(new Error('full'), { code: 'ENOSPC' }))
  const probes = await Promise.all(Array.from({ length: 20 }, () => call('GET', '/health/ready')))
  t.same(probes.map(({ statusCode }) => statusCode), Array(20).fill(200), 'there is free space again')
  t.equal(logs.filter(({ msg }) => msg === 'the disk has free space again').length, 1)
  await holder`select pg_advisory_unlock(1)`
  await Promise.all(waiting)
})

const WARNING = 'a configured server cannot be reached'

function environ (smtp: number, issuer: number): Record<string, string> {
  const provider = { name: 'google', client_id: 'CANARY-id', client_secret: 'CANARY-secret' }
  return {
    SMTP_URL: `smtp://CANARY-user:CANARY-password@127.0.0.1:${smtp}`,
    MAIL_FROM: 'Locanda <noreply@example.org>',
    OAUTH_PROVIDERS: JSON.stringify([{ ...provider, issuer: `http://127.0.0.1:${issuer}/CANARY-path` }])
  }
}

t.test('an unreachable server of the settings causes one warning at the start', async (t) => {
  const [smtp, issuer] = [await freePort(), await freePort()]
  const [engine, provider] = [await freePort(), await freePort()]
  const { app, logs } = await build(t, {
    ...environ(smtp, issuer),
    PDF_ENGINE: 'gotenberg',
    PDF_ENGINE_URL: `http://127.0.0.1:${engine}/CANARY-path`,
    OCR_PROVIDER: 'ocr-space',
    OCR_PROVIDER_URL: `http://127.0.0.1:${provider}/CANARY-path`,
    OCR_PROVIDER_KEY: 'CANARY-key'
  })
  await app.listen()
  const warnings = () => logs.filter(({ msg }) => msg === WARNING)
  while (warnings().length < 4) await turn()
  const place = { level: 40, host: '127.0.0.1', reason: 'ECONNREFUSED' }
  t.match(warnings().sort((a, b) => String(a.setting) < String(b.setting) ? -1 : 1), [
    { ...place, setting: 'OAUTH_PROVIDERS', port: issuer },
    { ...place, setting: 'OCR_PROVIDER_URL', port: provider },
    { ...place, setting: 'PDF_ENGINE_URL', port: engine },
    { ...place, setting: 'SMTP_URL', port: smtp }
  ])
  t.equal(warnings().length, 4)
  t.notMatch(JSON.stringify(logs), 'CANARY')
})
