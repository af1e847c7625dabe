import t, { type Test } from 'tap'
import type { Job, JobAnswer, JobList } from '#schemas/job.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { heldWork } from '#test/services/jobs/processes.ts'

const JOBS = '/api/v1/jobs'
const start = (name: string) => `${JOBS}/${name}/avvia`

/** A server, calls of an administrator's, and a job whose work the test decides. */
async function server (t: Test, run: () => Promise<void> = async () => {}, environ: Record<string, string> = {}) {
  const prepare = extraRoutes((app) => {
    app.addJob({ name: 'prova', description: 'Prova', cron: '0 3 * * *', run })
  })
  const built = await build(t, environ, prepare)
  const authorization = `Bearer ${await built.token({ name: 'capo', role: 'admin' })}`
  const call = (method: 'GET' | 'POST', url: string) => built.app.inject({ method, url, headers: { authorization } })
  const find = async (name: string): Promise<Job> =>
    (await call('GET', JOBS)).json<JobList>().data.find(({ nome }) => nome === name)!
  return { ...built, call, find }
}

/** What the job does in the server that most tests share, where it has not run when a test begins. */
let work: () => Promise<void>
const shared = await server(t, () => work())
t.beforeEach(async () => {
  work = async () => {}
  await shared.app.sql`
    update jobs set started_at = null, finished_at = null, outcome = null, error = null where name = 'prova'`
})

t.test('only administrators see and start jobs', async (t) => {
  const { app, token } = shared
  const operator = { authorization: `Bearer ${await token()}` }
  for (const [method, url] of [['GET', JOBS], ['POST', start('old-mails')]] as const) {
    t.equal((await app.inject({ method, url })).statusCode, 401)
    t.equal((await app.inject({ method, url, headers: operator })).statusCode, 403)
    const key = { 'x-api-key': API_KEY }
    t.equal((await app.inject({ method, url, headers: key })).statusCode, 403, 'nor does the server\'s key')
  }
})

t.test('the list holds every job, by name, with its next time', async (t) => {
  const { call } = shared
  const { data } = (await call('GET', JOBS)).json<JobList>()
  t.same(data.map(({ nome }) => nome), [
    'audit-head', 'code-tables', 'discarded-files', 'ended-sessions', 'evening-summary', 'idempotency-keys',
    'image-retention', 'late-answers', 'ledger-alarms', 'ledger-sweep', 'ledger-verification', 'old-alarms',
    'old-counters', 'old-events', 'old-flows', 'old-mails', 'one-time-tokens', 'prova', 'receipts',
    'receipts-read-again', 'reconciliation', 'record-erasure', 'scan-retention', 'signing-keys', 'stored-files',
    'unconfirmed-sign-ups', 'webhooks'
  ])
  t.same(data.filter(({ ogni_processo: everyProcess }) => everyProcess).map(({ nome }) => nome), [
    'audit-head', 'discarded-files', 'evening-summary', 'ledger-alarms', 'ledger-sweep', 'receipts-read-again',
    'reconciliation', 'webhooks'
  ])
  for (const job of data) t.ok(Date.parse(job.prossimo_avvio) > Date.now() - 60_000, job.nome)
  t.match(data.find(({ nome }) => nome === 'prova'), {
    descrizione: 'Prova', in_corso: false, ultimo_avvio: null, durata_ms: null, esito: null, errore: null
  })
})

t.test('a job of every process is listed with its last run', async (t) => {
  const { find } = shared
  await until(async () => (await find('ledger-sweep')).esito === 'riuscito')
  t.match(await find('ledger-sweep'), { ogni_processo: true, ultimo_avvio: String, durata_ms: Number })
})

t.test('jobs are run by the clock, those of one process and those of every process', async (t) => {
  const runs = { shared: 0, own: 0 }
  const prepare = extraRoutes((app) => {
    const common = { description: 'Prova', cron: '* * * * * *' }
    app.addJob({ ...common, name: 'prova', run: async () => { runs.shared++ } })
    app.addJob({ ...common, name: 'prova-di-ognuno', everyProcess: true, run: async () => { runs.own++ } })
  })
  await build(t, {}, prepare, { clock: undefined })
  await until(async () => runs.shared > 1 && runs.own > 1)
})

t.test('a job that an administrator starts is run at once, is audited, and keeps its next time', async (t) => {
  let runs = 0
  const { app, call, find } = shared
  work = async () => { runs++ }
  const { prossimo_avvio: next } = await find('prova')
  const answer = await call('POST', start('prova'))
  t.equal(answer.statusCode, 200)
  const { data } = answer.json<JobAnswer>()
  t.match(data, { nome: 'prova', in_corso: false, esito: 'riuscito', durata_ms: Number, prossimo_avvio: next })
  t.ok(Math.abs(Date.parse(data.ultimo_avvio!) - Date.now()) < 60_000)
  t.same(await find('prova'), data)
  t.equal(runs, 1)
  const entries = await app.sql`select actor, object from audit_log where action = 'lavoro'`
  t.match([...entries], [{ actor: /^user:/, object: 'lavoro:prova' }])
})

t.test('an unknown job is a 404, a name that cannot be one a 400', async (t) => {
  const { call } = shared
  t.match((await call('POST', start('assente'))).json(), { status: 404, codice: 'LAVORO_NON_TROVATO' })
  t.match((await call('POST', start('A1'))).json(), { status: 400, dettagli: [{ campo: 'nome' }] })
})

t.test('a start that cannot be audited runs nothing', async (t) => {
  let runs = 0
  const { app, call, find } = shared
  work = async () => { runs++ }
  await app.sql`alter table audit_log add constraint full_disk check (false) not valid`
  for (const name of ['prova', 'ledger-alarms']) t.equal((await call('POST', start(name))).statusCode, 503)
  await app.sql`alter table audit_log drop constraint full_disk`
  t.equal(runs, 0)
  t.match(await find('prova'), { in_corso: false, ultimo_avvio: null })
  t.equal((await call('POST', start('prova'))).statusCode, 200)
})

t.test('a job that fails is answered with its outcome, and without the words of its error', async (t) => {
  const { call } = shared
  work = async () => { throw Object.assign(new Error('Anna Bianchi'), { code: 'EPROVA' }) }
  const answer = await call('POST', start('prova'))
  t.equal(answer.statusCode, 200)
  t.match(answer.json(), { data: { esito: 'fallito', errore: 'EPROVA' } })
  t.notMatch(answer.body, /Anna/)
})

t.test('a long job is answered before it ends; meanwhile no other process starts it', async (t) => {
  const held = heldWork()
  const first = shared
  work = held.run
  const second = await server(t, async () => {}, { DATABASE_URL: first.url, DATA_DIR: first.dataDir })
  const answering = first.call('POST', start('prova'))
  await held.begun
  for (const { call, find } of [first, second]) {
    t.match((await call('POST', start('prova'))).json(), { status: 409, codice: 'LAVORO_IN_CORSO' })
    t.match(await find('prova'), { in_corso: true, esito: null, durata_ms: null, ultimo_avvio: String })
  }
  const answer = await answering
  t.equal(answer.statusCode, 202)
  t.match(answer.json(), { data: { in_corso: true } })
  held.end()
  await until(async () => !(await second.find('prova')).in_corso)
  t.match(await second.find('prova'), { esito: 'riuscito' })
  t.ok((await second.find('prova')).durata_ms! >= 9_000)
})

t.test('a missed night is caught up by the next server that starts', async (t) => {
  let runs = 0
  const count = async () => { runs++ }
  const { url, sql } = await testDatabase(t)
  const again = { DATABASE_URL: url }
  const first = await server(t, count, again)
  await until(async () => (await sql`select from jobs where name = 'prova'`).length === 1)
  await first.app.close()
  await sql`update jobs set next_run_at = now() - interval '5 hours' where name = 'prova'`
  const both = await Promise.all([server(t, count, again), server(t, count, again)])
  await until(async () => (await both[0].find('prova')).esito === 'riuscito')
  for (const { app } of both) await app.stopJobs()
  t.equal(runs, 1)
})

t.test('the end of the server waits for the run that was started by hand', async (t) => {
  const held = heldWork()
  const { app, call } = await server(t, held.run)
  const answering = call('POST', start('prova'))
  await held.begun
  let ended = false
  const closing = app.close().then(() => { ended = true })
  t.notOk(ended)
  held.end()
  t.equal((await answering).statusCode, 200)
  await closing
})
