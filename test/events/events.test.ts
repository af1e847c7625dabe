import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Event } from '#schemas/event.ts'
import { readEvents } from '#src/events/list.ts'
import { dump, guestNo } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, fieldsAtFault } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { lateTransaction, listen, openStream } from './event-source.ts'

const EVENTS = '/api/v1/eventi'
const server = await build(t, { TODAY: '2026-11-21' })
const { app, call, token, url } = server

async function read (query = ''): Promise<Event[]> {
  const answer = await call('GET', `${EVENTS}?limit=1000${query}`)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json<{ data: Event[] }>().data
}

/** What happened from now on. */
async function following (): Promise<() => Promise<Event[]>> {
  const cursor = (await read()).at(-1)?.cursor
  return () => read(cursor === undefined ? '' : `&cursor=${cursor}`)
}

const words = (events: Event[]) => events.map(({ tipo, oggetto }) => `${tipo} ${oggetto}`)

const forgetful = await build(t, {}, undefined, { times: { lookMs: 300 } })
const { sql } = forgetful.app

t.test('a booking leaves an event for each thing that happens to it, in order', async (t) => {
  const news = await following()
  const { id } = await create(call)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '031 555' })
  const dati = [{ nome: 'Anna', cognome: 'Bianchi' }, { nome: 'Bruno', cognome: 'Verdi' }]
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati })
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: dati.slice(0, 1) })
  await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [id] })
  const events = await news()
  t.same(words(events), [
    `prenotazione.creata prenotazione:${id}`,
    `prenotazione.modificata prenotazione:${id}`,
    `ospiti.modificati prenotazione:${id}`,
    `ospiti.modificati prenotazione:${id}`,
    `prenotazione.eliminata prenotazione:${id}`
  ])
  for (const event of events) t.match(event, { prenotazione_id: id, dettaglio: null, quando: /^20.*Z$/ })
  t.equal(new Set(events.map((event) => event.id)).size, 5)
})

t.test('a request that is refused, or changes nothing, leaves no event', async (t) => {
  const { id } = await create(call)
  const news = await following()
  await call('PUT', `${BOOKINGS}/${id}`, { numero_ospiti: 0 })
  await call('PUT', `${BOOKINGS}/${id}`, {})
  await call('PUT', `${BOOKINGS}/${id}`, { lingua: 'IT' })
  await app.db.transaction(async (tx) => {
    await tx.execute(`delete from prenotazioni where id = ${id}`)
    throw new Error('undone')
  }).catch(() => {})
  t.same(words(await news()), [])
})

t.test('a submission leaves an event in each of its states, and its alarm and its receipt one', async (t) => {
  const news = await following()
  const { id } = await create(call, { check_in: '2026-11-21', numero_ospiti: 1 })
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guestNo(1)] })
  const sent = await call('POST', `${BOOKINGS}/${id}/invio`, {})
  t.equal(sent.statusCode, 200, sent.body)
  const [{ number: invio }] = await app.sql<[{ number: number }]>`select max(id) as number from invii`
  await app.sql`insert into allarmi (argomento, giorno) values
    (${`sandbox unknown-outcome invio=${invio} tentativo=1`}, '2026-11-21'),
    (${`sandbox deadline prenotazione=${id} minuti=30`}, '2026-11-21'),
    ('sandbox missing-receipt utente=AB giorno=2026-11-20', '2026-11-21'), ('sandbox broken-chain', '2026-11-21')`
  await app.sql`insert into ricevute (utente, giorno, pdf, sha256) values ('AB', '2026-11-20', '', '')`
  const events = await news()
  t.same(words(events).slice(2), [
    ...['pronto', 'preso', 'in_invio', 'acquisito'].map((state) => `invio.${state} invio:${invio}`),
    `allarme.sollevato invio:${invio}`,
    `allarme.sollevato prenotazione:${id}`,
    'allarme.sollevato giorno:2026-11-20',
    'allarme.sollevato allarme:broken-chain',
    'ricevuta.creata ricevuta:2026-11-20'
  ])
  t.equal(events[2]!.prenotazione_id, id)
  t.same(events.slice(6, 10).map(({ dettaglio }) => dettaglio), [
    'unknown-outcome', 'deadline', 'missing-receipt', 'broken-chain'
  ])
})

t.test('letters and scans leave theirs', async (t) => {
  const { id } = await create(call)
  const news = await following()
  const letter = await call('POST', '/api/lettere-benvenuto/genera', {
    prenotazione_id: id, nome_ospite: 'Anna Bianchi', lingua: 'IT'
  })
  t.ok(letter.statusCode < 300, letter.body)
  await app.sql`insert into scansioni (dati, prenotazione_id, guest_idx) values ('', ${id}, 0)`
  const events = await news()
  t.match(words(events), [/^lettera.creata lettera:\d+$/, /^scansione.creata scansione:\d+$/])
  for (const event of events) t.equal(event.prenotazione_id, id)
})

t.test('a transaction that commits late is not skipped by a reader that has passed its number', async (t) => {
  const news = await following()
  const late = await lateTransaction(t, url)
  const { id } = await create(call)
  const before = await news()
  t.same(words(before), [`prenotazione.creata prenotazione:${id}`])
  await late.commit()
  const after = await read(`&cursor=${before.at(-1)!.cursor}`)
  t.same(words(after), [`prenotazione.creata prenotazione:${late.id}`])
})

t.test('readers who follow while many write see every event once, and each booking\'s in order', async (t) => {
  const news = await following()
  const start = (await read()).at(-1)!.cursor
  let writing = true
  const readers = [1, 2, 3].map(async () => {
    const seen: Event[] = []
    for (let last = false; ;) {
      const page = await read(`&cursor=${seen.at(-1)?.cursor ?? start}`)
      seen.push(...page)
      if (last && page.length === 0) return seen
      last = !writing
    }
  })
  const late = await lateTransaction(t, url)
  const ids = await Promise.all(Array.from({ length: 8 }, async (_, n) => {
    const { id } = await create(call)
    for (const telefono of ['1', '2', '3']) await call('PUT', `${BOOKINGS}/${id}`, { telefono })
    if (n === 4) await late.commit()
    await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [id] })
    return id
  }))
  writing = false
  const all = await Promise.all(readers)
  for (const seen of all) {
    t.equal(seen.length, 8 * 5 + 1)
    t.equal(new Set(seen.map(({ id }) => id)).size, seen.length)
    for (const id of ids) {
      t.same(seen.filter((event) => event.prenotazione_id === id).map(({ tipo }) => tipo.split('.')[1]), [
        'creata', 'modificata', 'modificata', 'modificata', 'eliminata'
      ])
    }
  }
  t.same(words(await news()), words(all[0]!), 'in one order for all')
})

t.test('pages follow each other by cursor, counted on the first, filtered by type and booking', async (t) => {
  const { id } = await create(call)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '2' })
  const first = await call('GET', `${EVENTS}?prenotazione_id=${id}&limit=2`)
  t.equal(first.headers['x-total-count'], '3')
  const next = /^<(.*)>; rel="next"$/.exec(String(first.headers.link))![1]!
  const second = await call('GET', next)
  t.same(words([...first.json<{ data: Event[] }>().data, ...second.json<{ data: Event[] }>().data]), [
    `prenotazione.creata prenotazione:${id}`,
    `prenotazione.modificata prenotazione:${id}`,
    `prenotazione.modificata prenotazione:${id}`
  ])
  t.notOk(second.headers.link)
  t.notOk(second.headers['x-total-count'])
  const created = await read(`&prenotazione_id=${id}&tipo=prenotazione.creata`)
  t.same(words(created), [`prenotazione.creata prenotazione:${id}`])
})

t.test('a cursor that names no event that is kept is told: some may have been missed', async (t) => {
  await create(call)
  const all = await read()
  const [first] = all
  const [place] = all.at(-1)!.cursor.split('-')
  for (const cursor of ['2000000000-00000000', `${place}-00000000`]) {
    const answer = await call('GET', `${EVENTS}?cursor=${cursor}`)
    t.match(answer.json(), { status: 410, codice: 'CURSORE_SCADUTO' }, cursor)
  }
  for (const cursor of ['nonsense', '0-00000001', '00-00000000', '99999999999-00000000']) {
    const answer = await call('GET', `${EVENTS}?cursor=${cursor}`)
    t.equal(answer.statusCode, 400)
    t.same(fieldsAtFault(answer), ['cursor'])
  }
  await app.sql`update eventi set quando = now() - interval '31 days'`
  await runJob(server, 'old-events')
  t.same((await read()).map(({ cursor }) => cursor), [all.at(-1)!.cursor], 'the last one stays')
  t.equal((await call('GET', `${EVENTS}?cursor=${first!.cursor}`)).statusCode, 410)
  t.same(await read(`&cursor=${all.at(-1)!.cursor}`), [])
})

t.test('a month of many events is forgotten in batches, each a statement of its own', async (t) => {
  await app.sql.unsafe(`
    create function few_at_a_time() returns trigger language plpgsql as $$ begin
      if (select count(*) from gone) > 2000 then raise 'too many at once'; end if; return null; end $$;
    create trigger few_at_a_time after delete on eventi referencing old table as gone
      for each statement execute function few_at_a_time();
    insert into eventi (id, tipo, oggetto, quando) select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:1',
      now() - interval '31 days' from generate_series(1, 4500)`)
  t.teardown(() => app.sql.unsafe('drop function few_at_a_time cascade'))
  await runJob(server, 'old-events')
  t.match(await app.sql`select from eventi where quando < now() - interval '30 days'`, { length: 1 })
})

t.test('an erased booking leaves no personal data in the events', async (t) => {
  const news = await following()
  const { id } = await create(call, { nome_cognome: 'Zeno Quintavalle', email: 'zeno.quintavalle@example.org' })
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [{ nome: 'Zeno', cognome: 'Quintavalle' }] })
  const erased = await call('POST', `${BOOKINGS}/${id}/cancellazione`, {})
  t.equal(erased.statusCode, 200, erased.body)
  t.equal((await news()).at(-1)!.tipo, 'prenotazione.eliminata')
  t.notMatch(await dump(server), /quintavalle/i)
})

t.test('a second factor leaves an event when it is proven and when it goes, for administrators alone', async (t) => {
  const news = await following()
  await token({ name: 'fattori' })
  const [{ id: user }] = await app.sql<[{ id: string }]>`select id from users where email = 'fattori@example.org'`
  const [{ id }] = await app.sql<[{ id: string }]>`
    insert into factors (user_id, factor_type, status) values (${user}, 'totp', 'unverified') returning id`
  await app.sql`update factors set status = 'verified' where id = ${id}`
  await app.sql`update factors set last_step = 1 where id = ${id}`
  await app.sql`delete from factors where id = ${id}`
  await app.sql`insert into factors (user_id, factor_type, status) values (${user}, 'webauthn', 'verified')`
  await app.sql`delete from users where id = ${user}`
  const headers = { authorization: `Bearer ${await token({ name: 'capo', role: 'admin' })}` }
  const all = await app.inject({ url: `${EVENTS}?limit=1000`, headers })
  const about = all.json<{ data: Event[] }>().data.filter(({ oggetto }) => oggetto === `utente:${user}`)
  t.same(about.map(({ tipo, dettaglio }) => [tipo, dettaglio]), [
    ['fattore.aggiunto', 'totp'], ['fattore.tolto', 'totp'], ['fattore.aggiunto', 'webauthn']
  ])
  t.same(words(await news()), [], 'who is none does not see them')
  const asked = await call('GET', `${EVENTS}?tipo=fattore.tolto`)
  t.equal(asked.headers['x-total-count'], '0')
})

t.test('a caller without credentials reads no events', async (t) => {
  t.equal((await app.inject({ method: 'GET', url: EVENTS })).statusCode, 401)
  const stream = { accept: 'text/event-stream' }
  t.equal((await app.inject({ method: 'GET', url: EVENTS, headers: stream })).statusCode, 401)
})

/** Before the first event. */
const BEGINNING = '0-00000000'

const key = { 'x-api-key': API_KEY }

t.test('a reader from before the first event misses none, as long as the first ones are kept', async (t) => {
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
  const server = await build(t, { TODAY: '2026-11-21' }, undefined, { times: { heartbeatMs: 300 } })
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

t.test('pages end with the cursor of their last event where more follow', async (t) => {
  const { id } = await create(call)
  for (const telefono of ['1', '2', '3']) await call('PUT', `${BOOKINGS}/${id}`, { telefono })
  const read = (query: string) => call('GET', `${EVENTS}?prenotazione_id=${id}&tipo=prenotazione.modificata${query}`)
  const first = await read('&limit=2')
  const { data, cursor } = first.json<Page>()
  t.equal(cursor, data[1]!.cursor)
  t.match(first.headers.link, `cursor=${cursor}`)
  const second = await read(`&limit=2&cursor=${cursor}`)
  t.match(second.json(), { data: { length: 1 } })
  t.notOk(second.headers.link)
})

/** The log of events is empty. */
const nothingHappened = () => sql`truncate eventi restart identity cascade`

/** Events that are so many days old, in their places; returns their cursors. */
async function happened (...days: number[]): Promise<string[]> {
  const rows = await sql<{ cursor: string }[]>`
    insert into eventi (id, tipo, oggetto, quando)
    select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:' || n, now() - days * interval '1 day'
      from unnest(${`{${days.join()}}`}::int[]) with ordinality as old (days, n) order by n
    returning posizione || '-' || left(id::text, 8) as cursor`
  return rows.map(({ cursor }) => cursor)
}

const places = async () => (await sql<{ posizione: number }[]>`select posizione from eventi order by 1`)
  .map(({ posizione }) => posizione)

t.test('a reader of the last event may come back after any time, also when more has happened', async (t) => {
  await nothingHappened()
  const [, last] = await happened(40, 31)
  await runJob(forgetful, 'old-events')
  const [next] = await happened(0)
  await runJob(forgetful, 'old-events')
  t.same(await places(), [2, 3])
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=${last}`)).json(), { data: [{ cursor: next }] })
})

t.test('an event that was long in coming stays as long as one before it: no reader passes a gap', async (t) => {
  await nothingHappened()
  const [first] = await happened(29, 31, 31, 1)
  await runJob(forgetful, 'old-events')
  t.same(await places(), [1, 2, 3, 4])
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=${first}`)).json(), { data: { length: 3 } })
})

t.test('a cursor that expires while the page is read is told as expired', async (t) => {
  await nothingHappened()
  const cursors = await happened(40, 40, 35, 1)
  const whole = await readEvents(forgetful.app.db, { all: true }, 1, 10)
  t.same(whole.events.map(({ cursor }) => cursor), cursors.slice(1))
  await runJob(forgetful, 'old-events')
  await t.rejects(readEvents(forgetful.app.db, { all: true }, 1, 10), { code: 'CURSORE_SCADUTO' })
  t.match(await readEvents(forgetful.app.db, { all: true }, 3, 10), { events: { length: 1 } })
})

t.test('a cursor before the first event expires, too; without one the first kept event comes first', async (t) => {
  await nothingHappened()
  await happened(40, 40, 35, 1)
  t.match(await readEvents(forgetful.app.db, { all: true }, 0, 10), { events: { length: 4 } })
  await runJob(forgetful, 'old-events')
  await t.rejects(readEvents(forgetful.app.db, { all: true }, 0, 10), { code: 'CURSORE_SCADUTO' })
  t.match(await readEvents(forgetful.app.db, { all: true }, undefined, 10), { events: { length: 2 } })
})

t.test('places have no gap after a turn that was undone: nobody before the first event has missed one', async (t) => {
  await nothingHappened()
  await sql`select nextval(pg_get_serial_sequence('eventi', 'posizione')) from generate_series(1, 5)`
  await sql`insert into eventi_in_arrivo (transazione, tipo, oggetto) values (0, 'prenotazione.creata', 'x:1')`
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=0-00000000`)).json(), { data: { length: 1 } })
  t.same(await places(), [1])
  await sql`select nextval(pg_get_serial_sequence('eventi', 'posizione')) from generate_series(1, 5)`
  await sql`insert into eventi_in_arrivo (transazione, tipo, oggetto) values (0, 'prenotazione.creata', 'x:2')`
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=0-00000000`)).json(), { data: { length: 2 } })
  t.same(await places(), [1, 2])
})

t.test('an event that is to be delivered once more stays, also when that is asked for during the job', async (t) => {
  await nothingHappened()
  await happened(40, 40, 40, 40)
  const [hook] = await sql<[{ id: number }]>`
    insert into webhooks (url, tipi, segreto, stato) values ('http://127.0.0.1:9/', '{}', '', 'sospeso') returning id`
  await sql`
    insert into webhook_consegne (webhook_id, evento, oggetto, stato) values (${hook.id}, 2, 'x', 'consegnata')`
  const held = Promise.withResolvers<void>()
  const asked = sql.begin(async (tx) => {
    await tx`update webhooks set fermo_fino_al = now() where id = ${hook.id}`
    await tx`update webhook_consegne set stato = 'in_coda' where webhook_id = ${hook.id}`
    await held.promise
  })
  const job = runJob(forgetful, 'old-events')
  await sleep(300)
  held.resolve()
  await Promise.all([asked, job])
  t.same(await places(), [1, 2, 3, 4])
  await sql`delete from webhooks`
})

t.test('an event that somebody holds is waited for: none goes before it', async (t) => {
  await nothingHappened()
  await happened(40, 40, 40, 40, 40)
  const held = Promise.withResolvers<void>()
  const holder = sql.begin(async (tx) => {
    await tx`select from eventi where posizione = 2 for key share`
    await held.promise
  })
  const job = runJob(forgetful, 'old-events')
  await sleep(300)
  t.same(await places(), [1, 2, 3, 4, 5])
  held.resolve()
  await Promise.all([holder, job])
  t.same(await places(), [5])
})

t.test('a stream that is overtaken ends, and its client is told when it comes again', async (t) => {
  await nothingHappened()
  const [, cursor] = await happened(40, 35)
  const address = await listen(forgetful.app)
  const stream = await openStream(t, address, key)
  await stream.hears(`id: ${cursor}\n`)
  // What becomes of a client that reads nothing for a long time, in one step: a stream that reads is not overtaken.
  await sql.begin(async (tx) => {
    await tx`delete from eventi`
    await tx`insert into eventi (id, tipo, oggetto, quando)
      select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:7', now() from generate_series(1, 2)`
  })
  await stream.ended
  t.same(stream.events(), [])
  const again = await openStream(t, address, { ...key, 'last-event-id': cursor! })
  t.equal(again.status, 410)
  t.same(forgetful.logs.filter(({ level }) => Number(level) > 40), [])
})
