import t from 'tap'
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
