import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Event } from '#schemas/event.ts'
import { readEvents } from '#src/operations/events/list.ts'
import { BOOKINGS, create } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { listen, openStream } from './event-source.ts'

const EVENTS = '/api/v1/eventi'
/** Before the first event. */
const BEGINNING = '0-00000000'
const key = { 'x-api-key': API_KEY }

t.test('who follows before there is any event misses none, as long as the first ones are kept', async (t) => {
  const server = await build(t, { TODAY: '2026-11-21' })
  const { app, call } = server
  const address = await listen(app)
  const first = await openStream(t, address, key)
  await first.hears(`\nid: ${BEGINNING}\n\n`)
  first.close()
  for (const query of ['', `?cursor=${BEGINNING}`]) {
    t.same((await call('GET', EVENTS + query)).json(), { data: [], cursor: BEGINNING })
  }

  const { id } = await create(call)
  const again = await openStream(t, address, { ...key, 'last-event-id': BEGINNING })
  t.match(await again.await(1), [{ tipo: 'prenotazione.creata', prenotazione_id: id }], 'the one between came')
  await create(call)
  const page = await call('GET', `${EVENTS}?cursor=${BEGINNING}`)
  t.equal(page.json<{ data: Event[] }>().data.length, 2)

  await app.sql`update eventi set quando = now() - interval '31 days'`
  await runJob(server, 'old-events')
  const late = await call('GET', `${EVENTS}?cursor=${BEGINNING}`)
  t.match(late.json(), { status: 410, codice: 'CURSORE_SCADUTO' })
  const gone = await openStream(t, address, { ...key, 'last-event-id': BEGINNING })
  t.equal(gone.status, 410)
})

interface Page { data: Event[], cursor: string }

t.test('a reader of what does not happen keeps a cursor that is good, and misses nothing', async (t) => {
  const server = await build(t, { TODAY: '2026-11-21' }, undefined, { eventTimes: { heartbeatMs: 300 } })
  const { app, call } = server
  const address = await listen(app)
  const read = async (query: string) => (await call('GET', `${EVENTS}?${query}`)).json<Page>()
  await create(call)
  const { cursor: old } = await read('tipo=prenotazione.modificata')
  const stream = await openStream(t, address, key, `?tipo=prenotazione.modificata&cursor=${old}`)
  await stream.hears(`\nid: ${old}\n\n`)
  const { id } = await create(call)
  const { data: [created] } = await read(`cursor=${old}`)

  const page = await read(`tipo=prenotazione.modificata&cursor=${old}`)
  t.same(page, { data: [], cursor: created!.cursor }, 'a page')
  await stream.hears(`\n\nid: ${created!.cursor}\n\n`)
  await stream.hears(`\n\nid: ${created!.cursor}\n\n:\n\n`)
  t.same(stream.events(), [], 'an id without data is no event')
  stream.close()

  await app.sql`update eventi set quando = now() - interval '31 days'`
  await runJob(server, 'old-events')
  t.equal((await call('GET', `${EVENTS}?cursor=${old}`)).statusCode, 410)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const again = await openStream(t, address, { ...key, 'last-event-id': page.cursor })
  t.match(await again.await(1), [{ tipo: 'prenotazione.modificata', prenotazione_id: id }])
  t.match(await read(`cursor=${page.cursor}`), { data: [{ tipo: 'prenotazione.modificata', prenotazione_id: id }] })
})

t.test('who sees no administrators\' events passes them; behind a frame the next sign of life does', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' }, undefined, { eventTimes: { heartbeatMs: 300 } })
  const stream = await openStream(t, await listen(app), key)
  await stream.hears(BEGINNING)
  // Both get their places at once, so that one look finds both.
  await app.sql`insert into eventi_in_arrivo (transazione, tipo, oggetto)
    values (0, 'prenotazione.creata', 'prenotazione:1'), (0, 'fattore.aggiunto', 'utente:x')`
  const page = await call('GET', EVENTS)
  const [created] = await stream.await(1)
  const [{ cursor }] = await app.sql<[{ cursor: string }]>`
    select posizione || '-' || left(id::text, 8) as cursor from eventi where tipo = 'fattore.aggiunto'`
  t.same(page.json(), { data: [created], cursor })
  await stream.hears(`${JSON.stringify(created)}\n\nid: ${cursor}\n\n`)
})

t.test('news that a stream does not want do not put off its signs of life', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' }, undefined, { eventTimes: { heartbeatMs: 300 } })
  const stream = await openStream(t, await listen(app), key, '?tipo=webhook.sospeso')
  await stream.hears(BEGINNING)
  const isSilent = () => !/^id: [1-9]/m.test(stream.text())
  let made = 0
  for (; made < 50 && isSilent(); made++) {
    await create(call)
    await sleep(100)
  }
  t.ok(made < 50, 'a sign came while events did')
})

t.test('pages end with the cursor of their last event where more follow', async (t) => {
  const { call } = await build(t, { TODAY: '2026-11-21' })
  const { id } = await create(call)
  for (const telefono of ['1', '2', '3']) await call('PUT', `${BOOKINGS}/${id}`, { telefono })
  const read = (query: string) => call('GET', `${EVENTS}?tipo=prenotazione.modificata${query}`)
  const first = await read('&limit=2')
  const { data, cursor } = first.json<Page>()
  t.equal(cursor, data[1]!.cursor)
  t.match(first.headers.link, `cursor=${cursor}`)
  const second = await read(`&limit=2&cursor=${cursor}`)
  t.match(second.json(), { data: { length: 1 } })
  t.notOk(second.headers.link)
})

t.test('no event falls between two pages that is committed while the first one is read', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' })
  const filters = { tipo: 'prenotazione.creata', all: true } as const
  await create(call)
  await call('GET', EVENTS)
  await app.db.transaction(async (tx) => {
    // What this transaction sees from now on is how things were before the second booking.
    await tx.execute('select')
    await create(call)
    await call('GET', EVENTS)
    let looks = 0
    const changing = new Proxy(app.db, {
      get (db, name) {
        const seen = name === 'select' && looks++ === 0 ? tx : db
        const value: unknown = Reflect.get(seen, name)
        return typeof value === 'function' ? value.bind(seen) as unknown : value
      }
    })
    const first = await readEvents(changing, filters, undefined, 10)
    t.equal(looks, 2)
    const second = await readEvents(app.db, filters, first.reached.place, 10)
    t.equal(first.events.length + second.events.length, 2)
  }, { isolationLevel: 'repeatable read' })
})
