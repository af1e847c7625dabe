import t from 'tap'
import type { Event } from '#schemas/event.ts'
import { create } from '#test/bookings/samples.ts'
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
  t.same((await call('GET', `${EVENTS}?cursor=${BEGINNING}`)).json(), { data: [] })

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
