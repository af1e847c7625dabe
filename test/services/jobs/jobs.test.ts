import { randomBytes } from 'node:crypto'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { held, productionEnviron, standIn, until } from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { build, extraRoutes, temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { heldWork, processes } from './processes.ts'

const SECOND = 1000
const DAY = 86_400_000
const total = (all: readonly { runs (): number }[]) => all.reduce((sum, { runs }) => sum + runs(), 0)
const nothing = async () => {}

t.test('one of three processes makes each scheduled run, on twenty nights', async (t) => {
  const { start, row } = await processes(t)
  const all = [start(), start(), start()]
  await Promise.all(all.map((each) => each.runDue()))
  t.equal(total(all), 0, 'a new job has no missed run')
  for (let night = 1; night <= 20; night++) {
    const slot = (await row()).next_run_at
    await Promise.all(all.map((each) => each.runDue(slot)))
    t.equal(total(all), night)
    t.ok((await row()).next_run_at.getTime() > slot.getTime())
  }
})

t.test('fast or slow clocks neither repeat nor skip a run', async (t) => {
  const { start, row } = await processes(t)
  const [ahead, behind] = [start(), start()]
  await ahead.runDue()
  for (let night = 1; night <= 5; night++) {
    const slot = (await row()).next_run_at
    await ahead.runDue(slot)
    // By this server's clock the time has just passed, but in fact it has not.
    await start().runDue(new Date(slot.getTime() + SECOND))
    // This server checks for due jobs long after the others.
    await behind.runDue(new Date(slot.getTime() - 90 * SECOND))
    await behind.runDue(slot)
    t.equal(ahead.runs() + behind.runs(), night)
  }
})

t.test('a missed run happens once at the next start, even if many processes start together', async (t) => {
  const { start, row, miss } = await processes(t)
  await start().runDue()
  const { next_run_at: scheduled } = await row()
  for (let round = 1; round <= 5; round++) {
    await miss()
    const started = [start(), start(), start()]
    await Promise.all(started.map((each) => each.runDue()))
    t.equal(total(started), 1)
    t.same((await row()).next_run_at, scheduled, 'the next night runs, too')
    await Promise.all(started.map((each) => each.runDue()))
    t.equal(total(started), 1, 'the missed run is made up')
  }
})

t.test('no second run starts during a run, and a run missed meanwhile happens afterwards', async (t) => {
  const { start, row, miss } = await processes(t)
  const work = heldWork()
  const [first, second] = [start({ run: work.run }), start()]
  await first.runDue()
  const slot = (await row()).next_run_at
  const ticked = first.runDue(slot)
  await work.begun
  t.match(await second.list(), [{ in_corso: true, esito: null, durata_ms: null, ultimo_avvio: String }])
  await miss()
  await Promise.all([second.runDue(new Date(slot.getTime() + DAY)), second.runDue(), first.runDue()])
  t.equal(await second.start('night', nothing), 'running')
  t.equal(await first.start('night', nothing), 'running')
  t.equal(total([first, second]), 1)
  work.end()
  await ticked
  t.match(await second.list(), [{ in_corso: false, esito: 'riuscito', errore: null, durata_ms: Number }])
  await second.runDue()
  t.equal(second.runs(), 1)
})

t.test('a run whose process was killed is shown as interrupted, and repeated once', async (t) => {
  const { start, row, loseLease } = await processes(t)
  const work = heldWork()
  const [dead, other, another] = [start({ run: work.run }), start(), start()]
  await dead.runDue()
  const slot = (await row()).next_run_at
  void dead.runDue(slot)
  await work.begun
  await other.runDue()
  t.equal(other.runs(), 0, 'not before the lease has expired')

  await loseLease()
  t.match(await other.list(), [{ in_corso: false, esito: 'interrotto', durata_ms: null }])
  await Promise.all([other.runDue(), another.runDue()])
  t.equal(total([other, another]), 1)
  t.match([...other.logs, ...another.logs], [{ job: 'night', msg: 'the process of a job died: the job is repeated' }])
  const ended = await row()
  t.match(ended, { outcome: 'riuscito', lease_until: null, claimed_by: null })
  t.ok(ended.next_run_at > new Date())

  work.fail(new Error('di prova'))
  await until(() => dead.logs.some(({ msg }) => msg === 'job failed'))
  await dead.stop()
  t.same(await row(), ended, 'a late end of the lost run does not end the new run')
})

t.test('a run keeps its lease while its process runs', async (t) => {
  const { start, row, loseLease } = await processes(t)
  const work = heldWork()
  const [slow, other] = [start({ run: work.run, renewEveryMs: 20 }), start()]
  await slow.runDue()
  const begun = slow.runDue((await row()).next_run_at)
  await work.begun
  await loseLease()
  await until(async () => (await row()).hasLease)
  await other.runDue()
  t.equal(other.runs(), 0)
  work.end()
  await begun
})

t.test("a failed run is recorded with its error's code or name, and never with the message", async (t) => {
  const { start, row } = await processes(t)
  const failures: [Error, string][] = [
    [Object.assign(new Error('Anna Bianchi'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED'],
    [new TypeError('Anna Bianchi'), 'TypeError'],
    [new Error('Anna Bianchi', { cause: Object.assign(new Error(), { code: '57P01' }) }), '57P01'],
    [Object.assign(new Error('x'), { code: 'Anna Bianchi' }), 'Error']
  ]
  let failure = failures[0]![0]
  const one = start({ run: async () => { throw failure } })
  await one.runDue()
  for (const [err, code] of failures) {
    failure = err
    await one.runDue((await row()).next_run_at)
    t.match(await one.list(), [{ esito: 'fallito', errore: code, in_corso: false, durata_ms: Number }])
    t.notMatch(JSON.stringify(await row()), /Anna/)
  }
  t.equal(one.logs.filter(({ msg }) => msg === 'job failed').length, failures.length)
})

t.test('a manual run does not change the scheduled time', async (t) => {
  const { start, row } = await processes(t)
  const one = start()
  const recorded: unknown[] = []
  const run = await one.start('night', async () => { recorded.push(one.runs()) })
  t.ok(typeof run === 'object')
  if (typeof run === 'object') await run.ended
  t.same(recorded, [0], 'it is recorded before it starts')
  const { next_run_at: slot, outcome } = await row()
  t.equal(outcome, 'riuscito')
  t.ok(slot.getTime() > Date.now())
  await one.runDue(slot)
  t.equal(one.runs(), 2)
  t.equal(await one.start('unknown', nothing), 'unknown')
})

t.test('a run that cannot be recorded does not start', async (t) => {
  const { start, row } = await processes(t)
  const one = start()
  await t.rejects(one.start('night', async () => { throw new Error('di prova') }), /di prova/)
  t.equal(one.runs(), 0)
  t.match(await row(), { started_at: null, lease_until: null })
  t.type(await one.start('night', nothing), 'object')
})

t.test('one of twenty concurrent manual starts in two processes runs', async (t) => {
  const { start } = await processes(t)
  const work = heldWork()
  const all = [start({ run: work.run }), start({ run: work.run })]
  const begun = await Promise.all(Array.from({ length: 20 }, (_, n) => all[n % 2]!.start('night', nothing)))
  t.equal(begun.filter((run) => run === 'running').length, 19)
  t.equal(total(all), 1)
  work.end()
})

t.test('every process runs an everyProcess job, and the last run is recorded', async (t) => {
  const { start, row } = await processes(t)
  const work = heldWork()
  const hangs = start({ everyProcess: true, run: work.run })
  const one = start({ everyProcess: true })
  await Promise.all([hangs.runDue(), one.runDue()])
  const { next_run_at: slot } = await row()
  void hangs.runDue(slot)
  await work.begun
  await hangs.runDue(slot)
  t.equal(hangs.runs(), 1, 'a process runs a job once at a time')
  t.match(await hangs.list(), [{ ogni_processo: true, in_corso: true }])
  await one.runDue(slot)
  t.equal(one.runs(), 1, 'a hanging run does not block other processes')
  t.match(await one.list(), [{ ogni_processo: true, in_corso: false, esito: 'riuscito', durata_ms: Number }])
  work.fail(new RangeError('di prova'))
  await hangs.stop()
  t.match(await one.list(), [{ esito: 'fallito', errore: 'RangeError' }])
})

t.test('shutdown starts no run, and waits for the running one', async (t) => {
  const { start, row } = await processes(t)
  const work = heldWork()
  const one = start({ run: work.run })
  await one.runDue()
  const { next_run_at: slot } = await row()
  void one.runDue(slot)
  await work.begun
  let stopped = false
  const stopping = one.stop().then(() => { stopped = true })
  await one.runDue(new Date(slot.getTime() + 2 * DAY))
  await t.rejects(one.start('night', nothing), { code: 'SERVIZIO_OCCUPATO' })
  t.notOk(stopped)
  work.end()
  await stopping
  t.equal(one.runs(), 1)
  t.match(await row(), { outcome: 'riuscito', lease_until: null })
})

t.test('a job with a changed schedule gets a new next time, and a missed run still happens', async (t) => {
  const { start, row, miss } = await processes(t)
  await start().runDue()
  const { next_run_at: before } = await row()
  const changed = start({ cron: '30 4 * * *' })
  await changed.runDue()
  const { next_run_at: after, cron } = await row()
  t.equal(cron, '30 4 * * *')
  t.not(after.getTime(), before.getTime())
  t.equal(after.getUTCMinutes(), 30)
  t.equal(changed.runs(), 0)
  await miss()
  const again = start({ cron: '45 4 * * *' })
  await again.runDue()
  t.equal(again.runs(), 1)
  t.equal((await row()).next_run_at.getUTCMinutes(), 45)
})

t.test('while the jobs table is missing, a scheduled run logs one line, and it runs later', async (t) => {
  const { start, row, sql } = await processes(t)
  const one = start()
  await one.runDue()
  const { next_run_at: slot } = await row()
  await sql`alter table jobs rename to jobs_away`
  await one.runDue(slot)
  t.match(one.logs, [{ msg: 'due jobs could not be read' }])
  t.equal(one.logs.length, 1)
  await sql`alter table jobs_away rename to jobs`
  await one.runDue(slot)
  t.equal(one.runs(), 1)
})

t.test('an end that cannot be recorded is logged, and the run is repeated', async (t) => {
  const { start, row, sql, loseLease } = await processes(t)
  const work = heldWork()
  const one = start({ run: work.run })
  await one.runDue()
  const ticked = one.runDue((await row()).next_run_at)
  await work.begun
  await sql`alter table jobs rename to jobs_away`
  work.end()
  await ticked
  t.match(one.logs, [{ job: 'night', msg: 'the end of a job could not be recorded' }])
  await sql`alter table jobs_away rename to jobs`
  await loseLease()
  await one.runDue()
  t.equal(one.runs(), 2)
})

t.test('a run that shutdown interrupted, even a manual one, runs at the next start', async (t) => {
  const { start, row } = await processes(t)
  for (const isByHand of [false, true]) {
    const ending = new AbortController()
    const { run, begun, fail } = heldWork()
    const one = start({ run, shutdownSignal: ending.signal })
    await one.runDue()
    const slot = (await row()).next_run_at
    const work = isByHand ? one.start('night', nothing) : one.runDue(slot)
    await begun
    ending.abort()
    fail(new Error('the process ends'))
    const manual = await work
    if (typeof manual === 'object') await manual.ended
    t.match(await row(), { outcome: 'interrotto', error: null, claimed_by: null, lease_until: null })
    t.match(one.logs, [{ job: 'night', level: 30 }], 'no run has failed')
    await one.runDue()
    t.equal(one.runs(), 1, 'the stopping process starts no run')
    const next = start()
    await next.runDue()
    t.equal(next.runs(), 1)
    t.match(await row(), { outcome: 'riuscito' })
    t.ok((await row()).next_run_at.getTime() > Date.now(), 'the next run is at its scheduled time')
  }
})

const FULL = 'the disk is full: nothing can be written'

t.test('a full disk is logged once for repeated failures, and once when there is space again', async (t) => {
  let room = false
  const { app, call, logs } = await build(t, {}, extraRoutes((app) => app.addJob({
    name: 'prova',
    description: 'Prova',
    cron: '0 3 * * *',
    everyProcess: true,
    run: async () => { if (!room) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }
  })))
  const run = async () => {
    const started = await app.jobs.start('prova', async () => {})
    if (typeof started === 'object') await started.ended
  }
  const warnings = () => logs.filter(({ level }) => Number(level) >= 40).map(({ msg }) => msg)
  for (let time = 1; time <= 3; time++) await run()
  t.same(warnings(), [FULL])

  room = true
  await app.sql`
    create function no_room () returns trigger language plpgsql as $$ begin
      raise exception using errcode = '53100', message = 'no room';
    end $$`
  await app.sql`create trigger no_room before update on jobs for each row execute function no_room()`
  for (let time = 1; time <= 3; time++) await run()
  t.same(warnings(), [FULL], 'the unrecorded end is not logged again')

  await app.sql`drop trigger no_room on jobs`
  t.equal((await call('GET', '/health/ready')).statusCode, 200)
  await run()
  t.same(warnings(), [FULL, 'the disk has free space again'])
})

t.test('while the disk is full, a database that shut down is reported as a full disk', async (t) => {
  let cause = { code: 'CONNECTION_CLOSED', errno: 'CONNECTION_CLOSED' }
  const { call } = await build(t, {}, extraRoutes((app) => {
    app.get('/prova', { config: { access: 'auth' }, schema: { response: { 200: Closed({}) } } }, async () => {
      throw Object.assign(new Error('it has failed'), cause)
    })
  }))
  const codice = async () => (await call('GET', '/prova')).json<{ codice: string }>().codice
  t.equal(await codice(), 'DATABASE_NON_DISPONIBILE')
  cause = { code: 'ENOSPC', errno: 'ENOSPC' }
  t.equal(await codice(), 'SPAZIO_ESAURITO')
  cause = { code: 'CONNECTION_CLOSED', errno: 'CONNECTION_CLOSED' }
  t.equal(await codice(), 'SPAZIO_ESAURITO')
  t.equal((await call('GET', '/health/ready')).statusCode, 200, 'there is free space again')
  t.equal(await codice(), 'DATABASE_NON_DISPONIBILE')
})

t.test('a server makes a missed run, and if it is killed meanwhile, the next server does', async (t) => {
  const police = await standIn(t)
  const { url, sql } = await testDatabase(t)
  const environ = {
    ...productionEnviron(police),
    DATABASE_URL: url,
    DATA_DIR: temporaryFolder(t),
    MASTER_KEY: randomBytes(32).toString('base64')
  }
  const receipts = async () => (await sql`select * from jobs where name = 'receipts'`)[0]
  await sql`insert into jobs (name, cron, next_run_at) values ('receipts', '30 6 * * *', now() - interval '5 hours')`

  const login = held()
  police.on.GenerateToken = login.behaviour
  const killed = await startServer(environ)
  t.teardown(killed.kill)
  await login.arrived
  t.match(await receipts(), { outcome: null, finished_at: null, lease_until: /./ })
  await killed.kill()

  delete police.on.GenerateToken
  // Only the server that is killed needs a separate process.
  const server = () => build(t, environ, undefined, { clock: undefined })
  const early = await server()
  await until(async () => (await sql`select from jobs where outcome = 'riuscito'`).length > 0)
  await early.app.close()
  t.match(await receipts(), { outcome: null, lease_until: /./ }, 'not before the lease has expired')

  await sql`update jobs set lease_until = now() - interval '1 second' where name = 'receipts'`
  const next = await server()
  await until(async () => (await receipts())?.outcome === 'riuscito')
  const warnings = next.logs.filter(({ msg }) => msg === 'the process of a job died: the job is repeated')
  t.match(warnings, [{ job: 'receipts' }])
  t.ok(police.callsOf('Ricevuta').length > 0)
  t.same(await sql`select from jobs where name = 'receipts' and next_run_at <= now()`, [])
})
