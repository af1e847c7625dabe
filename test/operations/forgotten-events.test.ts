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
      from unnest(${days}::int[]) with ordinality as old (days, n) order by n
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
