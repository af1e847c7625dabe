import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { readEvents } from '#src/operations/events/list.ts'
import { API_KEY, build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { listen, openStream } from './event-source.ts'

/* What readers are told when events of more than 30 days ago go. */

const EVENTS = '/api/v1/eventi'
const key = { 'x-api-key': API_KEY }

const server = await build(t, {}, undefined, { eventTimes: { lookMs: 300 } })
const { app, call } = server
t.beforeEach(() => app.sql`truncate eventi restart identity cascade`)

/** Events that are so many days old, in their places; returns their cursors. */
async function happened (...days: number[]): Promise<string[]> {
  const rows = await app.sql<{ cursor: string }[]>`
    insert into eventi (id, tipo, oggetto, quando)
    select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:' || n, now() - days * interval '1 day'
      from unnest(${`{${days.join()}}`}::int[]) with ordinality as old (days, n) order by n
    returning posizione || '-' || left(id::text, 8) as cursor`
  return rows.map(({ cursor }) => cursor)
}

const places = async () => (await app.sql<{ posizione: number }[]>`select posizione from eventi order by 1`)
  .map(({ posizione }) => posizione)

t.test('whoever has read up to the last event may come after any time, also when more has happened', async (t) => {
  const [, last] = await happened(40, 31)
  await runJob(server, 'old-events')
  const [next] = await happened(0)
  await runJob(server, 'old-events')
  t.same(await places(), [2, 3])
  t.match((await call('GET', `${EVENTS}?cursor=${last}`)).json(), { data: [{ cursor: next }] })
})

t.test('an event that was long in coming stays as long as one before it: no reader passes a gap', async (t) => {
  const [first] = await happened(29, 31, 31, 1)
  await runJob(server, 'old-events')
  t.same(await places(), [1, 2, 3, 4])
  t.match((await call('GET', `${EVENTS}?cursor=${first}`)).json(), { data: { length: 3 } })
})

t.test('whose cursor is forgotten while the page is read is told so', async (t) => {
  const cursors = await happened(40, 40, 35, 1)
  const whole = await readEvents(app.db, { all: true }, 1, 10)
  t.same(whole.events.map(({ cursor }) => cursor), cursors.slice(1))
  await runJob(server, 'old-events')
  await t.rejects(readEvents(app.db, { all: true }, 1, 10), { code: 'CURSORE_SCADUTO' })
  t.match(await readEvents(app.db, { all: true }, 3, 10), { events: { length: 1 } })
})

t.test('so is who begins before the first event; without a cursor it is the first that is kept', async (t) => {
  await happened(40, 40, 35, 1)
  t.match(await readEvents(app.db, { all: true }, 0, 10), { events: { length: 4 } })
  await runJob(server, 'old-events')
  await t.rejects(readEvents(app.db, { all: true }, 0, 10), { code: 'CURSORE_SCADUTO' })
  t.match(await readEvents(app.db, { all: true }, undefined, 10), { events: { length: 2 } })
})

t.test('places have no gap after a turn that was undone: nobody before the first event has missed one', async (t) => {
  await app.sql`select nextval(pg_get_serial_sequence('eventi', 'posizione')) from generate_series(1, 5)`
  await app.sql`insert into eventi_in_arrivo (transazione, tipo, oggetto) values (0, 'prenotazione.creata', 'x:1')`
  t.match((await call('GET', `${EVENTS}?cursor=0-00000000`)).json(), { data: { length: 1 } })
  t.same(await places(), [1])
  await app.sql`select nextval(pg_get_serial_sequence('eventi', 'posizione')) from generate_series(1, 5)`
  await app.sql`insert into eventi_in_arrivo (transazione, tipo, oggetto) values (0, 'prenotazione.creata', 'x:2')`
  t.match((await call('GET', `${EVENTS}?cursor=0-00000000`)).json(), { data: { length: 2 } })
  t.same(await places(), [1, 2])
})

t.test('what is to be delivered once more stays, also when that is asked for in the midst of the job', async (t) => {
  await happened(40, 40, 40, 40)
  const [hook] = await app.sql<[{ id: number }]>`
    insert into webhooks (url, tipi, segreto, stato) values ('http://127.0.0.1:9/', '{}', '', 'sospeso') returning id`
  await app.sql`
    insert into webhook_consegne (webhook_id, evento, oggetto, stato) values (${hook.id}, 2, 'x', 'consegnata')`
  const held = Promise.withResolvers<void>()
  const asked = app.sql.begin(async (tx) => {
    await tx`update webhooks set fermo_fino_al = now() where id = ${hook.id}`
    await tx`update webhook_consegne set stato = 'in_coda' where webhook_id = ${hook.id}`
    await held.promise
  })
  const job = runJob(server, 'old-events')
  await sleep(300)
  held.resolve()
  await Promise.all([asked, job])
  t.same(await places(), [1, 2, 3, 4])
  await app.sql`delete from webhooks`
})

t.test('an event that somebody holds is waited for: none goes before it', async (t) => {
  await happened(40, 40, 40, 40, 40)
  const held = Promise.withResolvers<void>()
  const holder = app.sql.begin(async (tx) => {
    await tx`select from eventi where posizione = 2 for key share`
    await held.promise
  })
  const job = runJob(server, 'old-events')
  await sleep(300)
  t.same(await places(), [1, 2, 3, 4, 5])
  held.resolve()
  await Promise.all([holder, job])
  t.same(await places(), [5])
})

t.test('a stream that is overtaken ends, and its client is told when it comes again', async (t) => {
  const [, cursor] = await happened(40, 35)
  const address = await listen(app)
  const stream = await openStream(t, address, key)
  await stream.hears(`id: ${cursor}\n`)
  // What becomes of a client that reads nothing for a long time, in one step: a stream that reads is not overtaken.
  await app.sql.begin(async (tx) => {
    await tx`delete from eventi`
    await tx`insert into eventi (id, tipo, oggetto, quando)
      select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:7', now() from generate_series(1, 2)`
  })
  await stream.ended
  t.same(stream.events(), [])
  const again = await openStream(t, address, { ...key, 'last-event-id': cursor! })
  t.equal(again.status, 410)
  t.same(server.logs.filter(({ level }) => Number(level) > 40), [])
})
