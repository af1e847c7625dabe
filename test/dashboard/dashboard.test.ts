import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { validateXML } from 'xmllint-wasm'
import type { Job, JobResponse, JobList } from '#schemas/job.ts'
import { checkedOutCommit, taggedVersion, versionOf } from '#src/lib/version.ts'
import { addDays } from '#src/lib/time.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { testDatabase } from '#test/database.ts'
import { build, extraRoutes, temporaryFolder } from '#test/helper.ts'
import { heldWork } from '#test/services/jobs/processes.ts'

const WIDGET = '/api/widget/data'
const COUNTRIES = '/api/map/top-countries'
const ITALY = 380
const GERMANY = 276
const FRANCE = 250
const JOBS = '/api/v1/jobs'
const start = (name: string) => `${JOBS}/${name}/avvia`

/** A server, an administrator's calls, and a job whose work the test defines. */
async function jobServer (t: Test, run: () => Promise<void> = async () => {}, environ: Record<string, string> = {}) {
  const prepare = extraRoutes((app) => {
    app.addJob({ name: 'prova', description: 'Prova', cron: '0 3 * * *', run })
  })
  const built = await build(t, environ, prepare)
  const authorization = `Bearer ${await built.token({ name: 'capo', role: 'admin' })}`
  const ask = (method: 'GET' | 'POST', url: string) => built.app.inject({ method, url, headers: { authorization } })
  const find = async (name: string): Promise<Job> =>
    (await ask('GET', JOBS)).json<JobList>().data.find(({ nome }) => nome === name)!
  return { ...built, ask, find }
}

/** The work of the job, in the server that most tests share. When a test begins, it has not run yet. */
let work: () => Promise<void>
const server = await jobServer(t, () => work(), { TODAY: '2026-11-22' })
const { app, call } = server
t.beforeEach(async () => {
  work = async () => {}
  await app.sql`delete from prenotazioni`
  await app.sql`
    update jobs set started_at = null, finished_at = null, outcome = null, error = null where name = 'prova'`
})

for (const [name, today] of [
  ['a leap day', '2028-02-29'],
  ['the day on which summer time begins', '2026-03-29'],
  ['the day on which it ends', '2026-10-25'],
  ['the last day of a year', '2026-12-31']
] as const) {
  t.test(`GET /api/widget/data counts the arrivals and departures of ${name}, and not of adjacent days`, async (t) => {
    const ofThatDay = await build(t, { TODAY: today, DATABASE_URL: server.url })
    const stays: [arrival: number, nights: number][] = [[-2, 1], [-1, 1], [-2, 2], [0, 3], [0, 1], [1, 1]]
    for (const [arrival, nights] of stays) {
      await create(call, { check_in: addDays(today, arrival), numero_notti: nights })
    }
    t.match((await ofThatDay.call('GET', WIDGET)).json(), { todayArrivals: 2, todayDepartures: 2 })
  })
}

t.test('nextGuest is the main guest of the next arrival, or the first booked if several arrive then', async (t) => {
  const next = async () => ((await server.call('GET', WIDGET)).json() as { nextGuest: string }).nextGuest
  await create(server.call, { nome_cognome: 'Anna Ieri', check_in: '2026-11-21' })
  t.equal(await next(), '', "yesterday's guest is not the next guest")
  await create(server.call, { nome_cognome: 'Bruno Domani', check_in: '2026-11-23' })
  await create(server.call, { nome_cognome: 'Carla Domani', check_in: '2026-11-23' })
  t.equal(await next(), 'Bruno Domani')
  await create(server.call, { nome_cognome: 'Dario Oggi', check_in: '2026-11-22' })
  t.equal(await next(), 'Dario Oggi')
})

t.test('GET /api/map/top-countries counts bookings by country, in descending order, with Italian names', async (t) => {
  for (const paese_id of [GERMANY, ITALY, GERMANY, FRANCE, ITALY, GERMANY]) await create(server.call, { paese_id })
  t.same((await server.call('GET', COUNTRIES)).json(), [
    { country: 'Germania', count: 3 },
    { country: 'Italia', count: 2 },
    { country: 'Francia', count: 1 }
  ])
  t.same((await server.call('GET', `${COUNTRIES}?limit=1`)).json(), [{ country: 'Germania', count: 3 }])
})

t.test('the counts match the bookings while two servers create, change and delete them', async (t) => {
  const first = server
  const second = await build(t, { DATABASE_URL: first.url, DATA_DIR: first.dataDir })
  const country = fc.constantFrom(ITALY, GERMANY, FRANCE)
  const step = fc.oneof(
    fc.record({ kind: fc.constant('create' as const), country }),
    fc.record({ kind: fc.constant('move' as const), index: fc.nat(), country }),
    fc.record({ kind: fc.constant('delete' as const), indices: fc.array(fc.nat(), { minLength: 1, maxLength: 4 }) })
  )
  const ids: number[] = []
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
      const known = [...ids]
      const at = (index: number) => known[index % Math.max(known.length, 1)] ?? 1
      const responses = await Promise.all(steps.map(async (each, i) => {
        const server = i % 2 === 0 ? first : second
        if (each.kind === 'create') {
          const { id } = await create(server.call, { paese_id: each.country })
          ids.push(id)
          return 201
        }
        const response = each.kind === 'move'
          ? await server.call('PUT', `/api/v1/prenotazioni/${at(each.index)}`, { paese_id: each.country })
          : await server.call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: each.indices.map(at) })
        return response.statusCode
      }))
      t.notOk(responses.some((status) => status >= 500), String(responses))
      const counted = await first.app.sql`
        select paese_id, totale from prenotazioni_per_paese where totale <> 0 order by paese_id`
      const real = await first.app.sql`
        select paese_id, count(*)::int as totale from prenotazioni group by paese_id order by paese_id`
      t.same([...counted], [...real])
    }),
    { numRuns: 15 }
  )
})

t.test('the counts are right after statements on many rows, and after the table is truncated', async (t) => {
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Prova', 'IT', 1 + n % 3, '2026-11-22', '2026-11-23', 1 from generate_series(1, 30) n`
  await app.sql`update prenotazioni set paese_id = paese_id + 1`
  await app.sql`delete from prenotazioni where paese_id = 2`
  const rows = () => app.sql`select paese_id, totale from prenotazioni_per_paese where totale > 0 order by paese_id`
  t.same([...await rows()], [{ paese_id: 3, totale: 10 }, { paese_id: 4, totale: 10 }])
  await app.sql`truncate prenotazioni cascade`
  t.same([...await rows()], [])
})

t.test('the database rejects days written by SQL that the API cannot return', async (t) => {
  const { id } = await create(call)
  for (const change of ["check_in = '0044-03-15 BC'", "check_out = '10000-01-01'", "created_at = 'infinity'"]) {
    await t.rejects(app.sql.unsafe(`update prenotazioni set ${change} where id = ${id}`), { code: '23514' }, change)
  }
})

function git (folder: string, ...args: string[]): string {
  const author = ['-c', 'user.name=prova', '-c', 'user.email=prova@example.org', '-c', 'commit.gpgsign=false']
  return execFileSync('git', [...author, ...args], { cwd: folder, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** Creates a repository with one commit, and returns the hash. */
function repository (folder: string): string {
  git(folder, 'init', '-q')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'prova')
  return git(folder, 'rev-parse', 'HEAD')
}

t.test('without HOSTING_DEPLOY the deploy is local, even while the database is down', async (t) => {
  const { app } = await build(t, { DATABASE_URL: server.url })
  await app.sql.end()
  t.match((await app.inject('/api/version')).json(), { hostingDeploy: 'local', version: /^\d+\.\d+\.\d+/ })
})

t.test('the commit is read only from a repository whose root is the folder', async (t) => {
  const outer = temporaryFolder(t)
  t.equal(await checkedOutCommit(outer), '', 'no repository')
  const head = repository(outer)
  t.equal(await checkedOutCommit(outer), head)
  const inner = join(outer, 'node_modules', 'locanda')
  mkdirSync(inner, { recursive: true })
  t.equal(await checkedOutCommit(inner), '', 'the package is inside another repository')
})

t.test('the version is the last tag, with the number of commits since', async (t) => {
  const folder = temporaryFolder(t)
  t.equal(await taggedVersion(folder), undefined, 'no repository')
  repository(folder)
  t.equal(await taggedVersion(folder), undefined, 'no tag')
  git(folder, 'tag', 'provvisorio')
  t.equal(await taggedVersion(folder), undefined, 'a tag without a version')
  git(folder, 'tag', '-m', 'la prima', 'v1.2.3')
  t.equal(await taggedVersion(folder), '1.2.3')
  git(folder, 'commit', '-q', '--allow-empty', '-m', 'altra')
  t.equal(await taggedVersion(folder), `1.2.3+1.g${git(folder, 'rev-parse', '--short', 'HEAD')}`)
  git(folder, 'tag', 'v2.0.0-rc.1')
  t.equal(await taggedVersion(folder), '2.0.0-rc.1')
  t.equal(versionOf('v1.2-3-gabc'), undefined)
})

/** The schema of sitemaps.org, as included in the package. */
const SCHEMA = readFileSync(new URL('../../node_modules/sitemap/schema/sitemap.xsd', import.meta.url), 'utf8')

const { url: DATABASE_URL } = server

/** Validates sitemaps, and returns the URLs of each. */
async function locations (t: Test, ...sitemaps: readonly string[]): Promise<string[][]> {
  const { valid, errors } = await validateXML({
    xml: sitemaps.map((contents, n) => ({ fileName: `sitemap-${n}.xml`, contents })),
    schema: { fileName: 'sitemap.xsd', contents: SCHEMA },
    maxMemoryPages: 8192
  })
  t.ok(valid, 'valid by the schema of sitemaps.org', { errors })
  return sitemaps.map((xml) => [...xml.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, location]) => location!))
}

t.test('the sitemap lists the public pages by absolute URL, and anyone can open these', async (t) => {
  const { app } = await build(t, { DATABASE_URL, PUBLIC_URL: 'https://locanda.example/' })
  const response = await app.inject('/sitemap.xml')
  t.equal(response.statusCode, 200)
  t.match(response.headers,
    { 'content-type': 'application/xml; charset=utf-8', 'cache-control': 'public, max-age=3600' })
  t.same(await locations(t, response.body), [['https://locanda.example/docs']])
  for (const page of app.publicPages) {
    const { statusCode, headers } = await app.inject(page)
    t.ok(statusCode === 200 || (statusCode === 302 && String(headers.location).includes(page)), page)
  }
})

t.test('the list contains every job, by name, with its next run', async (t) => {
  const { ask } = server
  const { data } = (await ask('GET', JOBS)).json<JobList>()
  t.same(data.map(({ nome }) => nome), [
    'audit-head', 'code-tables', 'discarded-files', 'due-receipts', 'ended-sessions', 'evening-summary',
    'idempotency-keys', 'image-retention', 'late-answers', 'ledger-alarms', 'ledger-sweep', 'ledger-verification',
    'old-alarms', 'old-counters', 'old-events', 'old-flows', 'old-mails', 'one-time-tokens', 'prova', 'receipts',
    'receipts-read-again', 'reconciliation', 'record-erasure', 'scan-retention', 'signing-keys', 'stored-files',
    'unconfirmed-sign-ups', 'webhooks'
  ])
  t.same(data.filter(({ ogni_processo: everyProcess }) => everyProcess).map(({ nome }) => nome), [
    'audit-head', 'discarded-files', 'evening-summary', 'ledger-alarms', 'ledger-sweep', 'receipts-read-again',
    'reconciliation', 'webhooks'
  ])
  for (const job of data) t.ok(Date.parse(job.prossimo_avvio) > performance.timeOrigin, job.nome)
  t.match(data.find(({ nome }) => nome === 'prova'), {
    descrizione: 'Prova', in_corso: false, ultimo_avvio: null, durata_ms: null, esito: null, errore: null
  })
})

t.test('jobs of one process and jobs of every process run on schedule', async (t) => {
  const runs = { shared: 0, own: 0 }
  const prepare = extraRoutes((app) => {
    const common = { description: 'Prova', cron: '* * * * * *' }
    app.addJob({ ...common, name: 'prova', run: async () => { runs.shared++ } })
    app.addJob({ ...common, name: 'prova-di-ognuno', everyProcess: true, run: async () => { runs.own++ } })
  })
  await build(t, {}, prepare, { clock: undefined })
  await until(async () => runs.shared > 1 && runs.own > 1)
})

t.test('a job that an administrator starts runs at once, is audited, and keeps its next run', async (t) => {
  let runs = 0
  const { app, ask, find } = server
  work = async () => { runs++ }
  const { prossimo_avvio: next } = await find('prova')
  const response = await ask('POST', start('prova'))
  t.equal(response.statusCode, 200)
  const { data } = response.json<JobResponse>()
  t.match(data, { nome: 'prova', in_corso: false, esito: 'riuscito', durata_ms: Number, prossimo_avvio: next })
  t.ok(Math.abs(Date.parse(data.ultimo_avvio!) - Date.now()) < 60_000)
  t.same(await find('prova'), data)
  t.equal(runs, 1)
  const entries = await app.sql`select actor, object from audit_log where action = 'lavoro'`
  t.match([...entries], [{ actor: /^user:/, object: 'lavoro:prova' }])
})

t.test('an unknown job is answered with a 404, and an invalid name with a 400', async (t) => {
  const { ask } = server
  t.match((await ask('POST', start('assente'))).json(), { status: 404, codice: 'LAVORO_NON_TROVATO' })
  t.match((await ask('POST', start('A1'))).json(), { status: 400, dettagli: [{ campo: 'nome' }] })
})

t.test('when the start of a job cannot be audited, the job does not run', async (t) => {
  let runs = 0
  const { app, ask, find } = server
  work = async () => { runs++ }
  await app.sql`alter table audit_log add constraint full_disk check (false) not valid`
  for (const name of ['prova', 'ledger-alarms']) t.equal((await ask('POST', start(name))).statusCode, 503)
  await app.sql`alter table audit_log drop constraint full_disk`
  t.equal(runs, 0)
  t.match(await find('prova'), { in_corso: false, ultimo_avvio: null })
  t.equal((await ask('POST', start('prova'))).statusCode, 200)
})

t.test('the response for a failed job has its outcome, but not its error message', async (t) => {
  const { ask } = server
  work = async () => { throw Object.assign(new Error('Anna Bianchi'), { code: 'EPROVA' }) }
  const response = await ask('POST', start('prova'))
  t.equal(response.statusCode, 200)
  t.match(response.json(), { data: { esito: 'fallito', errore: 'EPROVA' } })
  t.notMatch(response.body, /Anna/)
})

t.test('the start of a long job is answered before its end, and no other process starts it until then', async (t) => {
  const held = heldWork()
  const first = server
  work = held.run
  const second = await jobServer(t, async () => {}, { DATABASE_URL: first.url, DATA_DIR: first.dataDir })
  const answering = first.ask('POST', start('prova'))
  await held.begun
  for (const { ask, find } of [first, second]) {
    t.match((await ask('POST', start('prova'))).json(), { status: 409, codice: 'LAVORO_IN_CORSO' })
    t.match(await find('prova'), { in_corso: true, esito: null, durata_ms: null, ultimo_avvio: String })
  }
  const response = await answering
  t.equal(response.statusCode, 202)
  t.match(response.json(), { data: { in_corso: true } })
  held.end()
  await until(async () => !(await second.find('prova')).in_corso)
  t.match(await second.find('prova'), { esito: 'riuscito' })
  t.ok((await second.find('prova')).durata_ms! >= 9_000)
})

t.test('a run that was missed at night is made by the next server that starts', async (t) => {
  let runs = 0
  const count = async () => { runs++ }
  const { url, sql } = await testDatabase(t)
  const again = { DATABASE_URL: url }
  const first = await jobServer(t, count, again)
  await until(async () => (await sql`select from jobs where name = 'prova'`).length === 1)
  await first.app.close()
  await sql`update jobs set next_run_at = now() - interval '5 hours' where name = 'prova'`
  const both = await Promise.all([jobServer(t, count, again), jobServer(t, count, again)])
  await until(async () => (await both[0].find('prova')).esito === 'riuscito')
  for (const { app } of both) await app.stopJobs()
  t.equal(runs, 1)
})

t.test('shutdown waits for a run that was started by hand', async (t) => {
  const held = heldWork()
  const { app, ask } = await jobServer(t, held.run)
  const answering = ask('POST', start('prova'))
  await held.begun
  let ended = false
  const closing = app.close().then(() => { ended = true })
  t.notOk(ended)
  held.end()
  t.equal((await answering).statusCode, 200)
  await closing
})
