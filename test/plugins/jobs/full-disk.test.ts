import { pino } from 'pino'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { alarmBell } from '#src/alloggiati/ledger/alarms/bell.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import type { Database } from '#src/plugins/database/connect.ts'
import type { Mailer } from '#src/plugins/mail/plugin.ts'
import type { Transport } from '#src/plugins/mail/transport.ts'
import { mailWorker } from '#src/plugins/mail/worker.ts'
import { build, extraRoutes } from '#test/helper.ts'
import { heldWork, processes } from './processes.ts'

const FULL = 'the disk is full: nothing can be written'

t.test('however many jobs fail for want of room, the log says it once, and once when there is room', async (t) => {
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
  const told = () => logs.filter(({ level }) => Number(level) >= 40).map(({ msg }) => msg)
  for (let time = 1; time <= 3; time++) await run()
  t.same(told(), [FULL])

  room = true
  await app.sql`
    create function no_room () returns trigger language plpgsql as $$ begin
      raise exception using errcode = '53100', message = 'no room';
    end $$`
  await app.sql`create trigger no_room before update on jobs for each row execute function no_room()`
  for (let time = 1; time <= 3; time++) await run()
  t.same(told(), [FULL], 'nor is told that the end of a run cannot be recorded')

  await app.sql`drop trigger no_room on jobs`
  t.equal((await call('GET', '/health/ready')).statusCode, 200)
  await run()
  t.same(told(), [FULL, 'the disk has room again'])
})

t.test('while the disk is full, a database that has ended for want of room is told as a full disk', async (t) => {
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
  t.equal((await call('GET', '/health/ready')).statusCode, 200, 'there is room again')
  t.equal(await codice(), 'DATABASE_NON_DISPONIBILE')
})

t.test('what is told already of all work is not told again of each job', async (t) => {
  const { start, row, sql } = await processes(t)
  const work = heldWork()
  const one = start({ run: work.run, isTold: () => true, renewEveryMs: 10 })
  await one.catchUp()
  const { next_run_at: slot } = await row()
  await sql`alter table jobs rename to jobs_away`
  await one.tick('night', slot)
  await one.catchUp()
  await one.putTimesRight()
  await sql`alter table jobs_away rename to jobs`
  const ticked = one.tick('night', slot)
  await work.begun
  await sql`alter table jobs rename to jobs_away`
  work.fail(new Error('no room'))
  await ticked
  t.same(one.logs, [])
  await sql`alter table jobs_away rename to jobs`
})

t.test('nor is it told again by the mail worker, nor by an alarm, whose own line comes all the same', async (t) => {
  const told: string[] = []
  const log = pino({}, { write: (line: string) => { told.push((JSON.parse(line) as { msg: string }).msg) } })
  const failing = () => { throw Object.assign(new Error('no space left'), { code: 'ENOSPC' }) }
  const db = new Proxy({}, { get: () => failing }) as Database
  const isTold = () => true
  const transport = { close () {} } as Transport
  const worker = mailWorker({ db, keys: createKeys(Buffer.alloc(32)), transport, log, isTold })
  worker.deliver()
  await worker.stop()
  const mail = { enqueue: async () => 0, deliver () {} } as unknown as Pick<Mailer, 'enqueue' | 'deliver'>
  const raise = alarmBell({ db, clock: createClock(), log, isTold, mail, recipients: [], mode: 'sandbox' })
  await raise('unknown-outcome', { invio: 1 })
  t.equal(told.length, 1)
  t.notMatch(told, [/could not be/])
})
