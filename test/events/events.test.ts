import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDecoder, createSigner } from 'fast-jwt'
import t, { type Test } from 'tap'
import type { MintedKey } from '#schemas/api-key.ts'
import type { Event } from '#schemas/event.ts'
import { apiKeyFormat } from '#src/identity/keys/api-keys.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { dump, guestNo, until } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, fieldsAtFault } from '#test/bookings/samples.ts'
import { API_KEY, build } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { type EventSource, lateTransaction, listen, openStream } from './event-source.ts'

const EVENTS = '/api/v1/eventi'
/** Runs after the credentials of a request were checked and before its stream opens. */
let meanwhile: (() => Promise<void>) | undefined

const server = await build(t, { TODAY: '2026-11-21' }, (app) => {
  app.addHook('preHandler', async ({ headers: { accept } }) => {
    if (accept === 'text/event-stream') await meanwhile?.()
  })
}, {
  times: { heartbeatMs: 300, stalledReaderMs: 400 }
})
const { app, call, token, url, masterKey } = server
const address = await listen(app)
const key = { 'x-api-key': API_KEY }
const { ready, waitForListeners } = app.notifications.subscribe({}, () => {})

/** Headers of a new user. Waits for the notification about the user, because it would end a later stream. */
async function bearer (name: string, role: 'admin' | 'operator' = 'operator') {
  const authorization = `Bearer ${await token({ name, role })}`
  await ready()
  await waitForListeners(60_000)
  return { authorization }
}

async function read (query = ''): Promise<Event[]> {
  const response = await call('GET', `${EVENTS}?limit=1000${query}`)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json<{ data: Event[] }>().data
}

/** Returns a function that reads the events since this call. */
async function following (): Promise<() => Promise<Event[]>> {
  const cursor = (await read()).at(-1)?.cursor
  return () => read(cursor === undefined ? '' : `&cursor=${cursor}`)
}

const words = (events: Event[]) => events.map(({ tipo, oggetto }) => `${tipo} ${oggetto}`)

const forgetful = await build(t)
const { sql } = forgetful.app

t.test('each change of a booking writes an event, in the order of the changes', async (t) => {
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

t.test('a request that is refused, or changes nothing, writes no event', async (t) => {
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

t.test('each state of a submission writes an event, and so do its alarm and its receipt', async (t) => {
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

t.test('during concurrent writes readers see every event once, and the events of a booking in order', async (t) => {
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
  t.same(words(await news()), words(all[0]!), 'all readers see the same order')
})

t.test('pages continue at the cursor, the first page has the count, and type and booking filter them', async (t) => {
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

t.test('a cursor whose event was deleted is answered with a 410', async (t) => {
  await create(call)
  const all = await read()
  const [first] = all
  const [position] = all.at(-1)!.cursor.split('-')
  for (const cursor of ['2000000000-00000000', `${position}-00000000`]) {
    const response = await call('GET', `${EVENTS}?cursor=${cursor}`)
    t.match(response.json(), { status: 410, codice: 'CURSORE_SCADUTO' }, cursor)
  }
  for (const cursor of ['nonsense', '0-00000001', '00-00000000', '99999999999-00000000']) {
    const response = await call('GET', `${EVENTS}?cursor=${cursor}`)
    t.equal(response.statusCode, 400)
    t.same(fieldsAtFault(response), ['cursor'])
  }
  await app.sql`update eventi set quando = now() - interval '31 days'`
  await runJob(server, 'old-events')
  t.same((await read()).map(({ cursor }) => cursor), [all.at(-1)!.cursor], 'the last event is kept')
  t.equal((await call('GET', `${EVENTS}?cursor=${first!.cursor}`)).statusCode, 410)
  t.same(await read(`&cursor=${all.at(-1)!.cursor}`), [])
})

t.test('events of an erased booking contain no personal data', async (t) => {
  const news = await following()
  const { id } = await create(call, { nome_cognome: 'Zeno Quintavalle', email: 'zeno.quintavalle@example.org' })
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [{ nome: 'Zeno', cognome: 'Quintavalle' }] })
  const erased = await call('POST', `${BOOKINGS}/${id}/cancellazione`, {})
  t.equal(erased.statusCode, 200, erased.body)
  t.equal((await news()).at(-1)!.tipo, 'prenotazione.eliminata')
  t.notMatch(await dump(server), /quintavalle/i)
})

t.test('enrolling and removing a second factor write events that only administrators see', async (t) => {
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
  t.same(words(await news()), [], 'other users do not see them')
  const asked = await call('GET', `${EVENTS}?tipo=fattore.tolto`)
  t.equal(asked.headers['x-total-count'], '0')
})

/** Before the first event. */
const BEGINNING = '0-00000000'

t.test('a reader that starts before the first event misses none while the first events are stored', async (t) => {
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
  t.match(await again.await(1), [{ tipo: 'prenotazione.creata', prenotazione_id: id }], 'the one in between arrives')
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

t.test('a reader whose filter matches no event keeps a valid cursor, and misses nothing', async (t) => {
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
  t.same(stream.events(), [], 'an id without data dispatches no event')
  stream.close()

  await app.sql`update eventi set quando = now() - interval '31 days'`
  await runJob(server, 'old-events')
  t.equal((await call('GET', `${EVENTS}?cursor=${old}`)).statusCode, 410)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const again = await openStream(t, address, { ...key, 'last-event-id': page.cursor })
  t.match(await again.await(1), [{ tipo: 'prenotazione.modificata', prenotazione_id: id }])
  t.match(await read(`cursor=${page.cursor}`), { data: [{ tipo: 'prenotazione.modificata', prenotazione_id: id }] })
})

/** Empties the log of events. */
const emptyLog = () => sql`truncate eventi restart identity cascade`

/** Inserts events that are this number of days old. Returns their cursors. */
async function insertEvents (...days: number[]): Promise<string[]> {
  const rows = await sql<{ cursor: string }[]>`
    insert into eventi (id, tipo, oggetto, quando)
    select gen_random_uuid(), 'prenotazione.creata', 'prenotazione:' || n, now() - days * interval '1 day'
      from unnest(${`{${days.join()}}`}::int[]) with ordinality as old (days, n) order by n
    returning posizione || '-' || left(id::text, 8) as cursor`
  return rows.map(({ cursor }) => cursor)
}

const positions = async () => (await sql<{ posizione: number }[]>`select posizione from eventi order by 1`)
  .map(({ posizione }) => posizione)

t.test('the cursor of the last event never expires, even when newer events follow', async (t) => {
  await emptyLog()
  const [, last] = await insertEvents(40, 31)
  await runJob(forgetful, 'old-events')
  const [next] = await insertEvents(0)
  await runJob(forgetful, 'old-events')
  t.same(await positions(), [2, 3])
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=${last}`)).json(), { data: [{ cursor: next }] })
})

t.test('an old event is kept while an event with an earlier position is kept, so that no gap appears', async (t) => {
  await emptyLog()
  const [first] = await insertEvents(29, 31, 31, 1)
  await runJob(forgetful, 'old-events')
  t.same(await positions(), [1, 2, 3, 4])
  t.match((await forgetful.call('GET', `${EVENTS}?cursor=${first}`)).json(), { data: { length: 3 } })
})

t.test('a stream whose cursor expires ends, and its client gets a 410 when it reconnects', async (t) => {
  await emptyLog()
  const [, cursor] = await insertEvents(40, 35)
  const address = await listen(forgetful.app)
  const stream = await openStream(t, address, key)
  await stream.hears(`id: ${cursor}\n`)
  // Simulates in one step a client that reads nothing for a long time.
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

t.test('a stream sends new events of all processes, uncompressed', async (t) => {
  await create(call)
  const stream = await openStream(t, address, key)
  t.equal(stream.status, 200)
  t.match(stream.headers, { 'content-type': /^text\/event-stream/, 'cache-control': 'no-store' })
  t.notOk(stream.headers['content-encoding'])
  const { id } = await create(call)
  const other = await build(t, { TODAY: '2026-11-21', DATABASE_URL: url })
  await other.call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const events = await stream.await(2)
  t.match(events, [
    { tipo: 'prenotazione.creata', prenotazione_id: id }, { tipo: 'prenotazione.modificata', prenotazione_id: id }
  ])
  t.match(stream.text(), `id: ${events[0]!.cursor}\nevent: prenotazione.creata\ndata: {`)
  t.equal(stream.events().length, 2, 'no earlier event, and none twice')
})

t.test('a reconnected stream resumes after the last event that the client received', async (t) => {
  const first = await openStream(t, address, key)
  const begins = /^id: (\S+)$/m.exec(first.text()) ?? await until(() => first.text().includes('id: '))
    .then(() => /^id: (\S+)$/m.exec(first.text()))
  first.close()
  const { id } = await create(call)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const second = await openStream(t, address, { ...key, 'last-event-id': begins![1]! })
  const [created, changed] = await second.await(2)
  t.same([created!.tipo, changed!.tipo], ['prenotazione.creata', 'prenotazione.modificata'])
  // The header of a client that reconnects takes precedence over the cursor of its URL.
  const third = await openStream(t, address, { ...key, 'last-event-id': created!.cursor }, `?cursor=${begins![1]!}`)
  t.same(await third.await(1), [changed])
  const gone = await openStream(t, address, { ...key, 'last-event-id': '2000000000-00000000' })
  t.equal(gone.status, 410)
  const bad = await openStream(t, address, { ...key, 'last-event-id': 'x' })
  t.equal(bad.status, 400)
})

t.test('an open transaction delays only its own events, which are sent after its commit', async (t) => {
  // A stream also queries at each heartbeat. Without heartbeats only notifications make it query.
  const times = { heartbeatMs: 3_600_000 }
  const silence = await build(t, { TODAY: '2026-11-21', DATABASE_URL: url }, undefined, { times })
  const stream = await openStream(t, await listen(silence.app), key)
  // The first transaction that writes an event notifies at its commit. Until then no other transaction notifies.
  const late = await lateTransaction(t, url)
  const { id } = await create(call)
  await stream.await(1)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  await stream.await(2)
  // This transaction is not the first one, so its commit sends no notification.
  const silent = await lateTransaction(t, url, 250)
  await late.commit()
  await stream.await(3)
  await sleep(1500)
  await silent.commit()
  // A request for a page, here in another process, assigns the position without a notification.
  await call('GET', '/api/v1/eventi?limit=1')
  t.same((await stream.await(4)).map(({ prenotazione_id }) => prenotazione_id), [id, id, late.id, silent.id])
})

t.test('without events the stream sends ids without data as heartbeats', async (t) => {
  const stream = await openStream(t, address, key)
  await until(() => /(?:\nid: \S+\n\n?){3}$/.test(stream.text()))
  t.same(stream.events(), [])
})

t.test('a caller may open six streams at a time, and a further stream after closing one', async (t) => {
  const headers = await bearer('molti')
  const streams = []
  for (let n = 0; n < 6; n++) streams.push(await openStream(t, address, headers))
  t.same(streams.map(({ status }) => status), Array(6).fill(200))
  t.equal((await openStream(t, address, headers)).status, 503)
  t.equal((await openStream(t, address, await bearer('altra'))).status, 200)
  streams[0]!.close()
  await until(async () => {
    const again = await openStream(t, address, headers)
    if (again.status !== 200) return false
    again.close()
    return true
  })
})

t.test('a stream ends when its session or key is revoked, or its user is banned or demoted', async (t) => {
  const stays = await openStream(t, address, await bearer('resta'))
  const leaver = await bearer('esce')
  const signedOut = await openStream(t, address, leaver)
  const minter = await bearer('chiave')
  const minted = await app.inject({ method: 'GET', url: '/api/cli/auth/key', headers: minter })
  const { apiKey: text, id } = minted.json<MintedKey>()
  const keyed = await openStream(t, address, { 'x-api-key': text })
  t.equal(keyed.status, 200)

  const out = await app.inject({ method: 'POST', url: '/auth/v1/logout', headers: leaver, payload: {} })
  t.equal(out.statusCode, 204, out.body)
  await signedOut.ended
  t.equal((await openStream(t, address, leaver)).status, 401)

  await app.inject({ method: 'DELETE', url: `/api/v1/keys/${id}`, headers: minter })
  await keyed.ended
  t.equal((await openStream(t, address, { 'x-api-key': text })).status, 401)

  const banned = await openStream(t, address, await bearer('bandita'))
  await app.sql`update users set banned_until = now() + interval '1 day' where email = 'bandita@example.org'`
  await banned.ended

  const demoted = await openStream(t, address, await bearer('retrocessa', 'admin'))
  await app.sql`update users set app_metadata = '{"role": "operator"}' where email = 'retrocessa@example.org'`
  await demoted.ended

  const { id: booking } = await create(call)
  t.match(await stays.await(1), [{ prenotazione_id: booking }], 'other streams continue')
})

/** Opens a stream with a short-lived credential. Tries again with a longer lifetime if the machine was too slow. */
async function brief (t: Test, credentials: (ms: number) => Promise<Record<string, string>>): Promise<EventSource> {
  for (let ms = 1000; ms < 100_000; ms *= 2) {
    const stream = await openStream(t, address, await credentials(ms))
    if (stream.status === 200) return stream
    t.equal(stream.status, 401)
  }
  throw new Error('no stream could be opened')
}

t.test('a stream ends when its access token expires, and resumes with a new token', async (t) => {
  const { authorization } = await bearer('scade')
  const { privatePem: key, kid } = await app.identity.signer.signingKeys.current()
  let ends = 0
  const stream = await brief(t, async (ms) => {
    const claims = createDecoder()(authorization.slice('Bearer '.length)) as { exp: number }
    // A whole number of seconds.
    ends = Math.ceil((Date.now() + ms) / 1000) * 1000
    const sign = createSigner({ key, algorithm: 'ES256', kid })
    return { authorization: `Bearer ${sign({ ...claims, exp: ends / 1000 })}` }
  })
  const { id } = await create(call)
  await stream.ended
  t.ok(Date.now() >= ends - 50, 'not before')
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const [, seen] = /[^]*^id: (\S+)$/m.exec(stream.text())!
  const next = await openStream(t, address, { authorization, 'last-event-id': seen! })
  const events = [...stream.events(), ...await next.await(2 - stream.events().length)]
  t.match(events, [
    { tipo: 'prenotazione.creata', prenotazione_id: id }, { tipo: 'prenotazione.modificata', prenotazione_id: id }
  ], 'no event is missing or repeated')
})

t.test('a stream ends when its API key or its session expires before its token', async (t) => {
  await token({ name: 'breve' })
  const [{ id: person }] = await app.sql<[{ id: string }]>`select id from users where email = 'breve@example.org'`
  const format = apiKeyFormat(createKeys(Buffer.from(masterKey, 'base64')))
  const keyed = await brief(t, async (ms) => {
    const { apiKey } = await mintKey(app.db, format, person, { days: ms / 86_400_000 })
    return { 'x-api-key': apiKey }
  })
  await keyed.ended

  const ofSession = await brief(t, async (ms) => {
    const headers = await bearer('breve')
    await app.sql`update sessions set not_after = now() + make_interval(secs => ${ms / 1000}) where user_id = ${person}`
    // The stream must end by its timer, not by the notification about the session.
    await waitForListeners(60_000)
    return headers
  })
  await ofSession.ended
})

t.test('a stream ends when its session is revoked while the stream opens', async (t) => {
  const headers = await bearer('frattempo')
  const others = await bearer('altrove')
  meanwhile = async () => {
    meanwhile = undefined
    const out = await app.inject({ method: 'POST', url: '/auth/v1/logout', headers, payload: {} })
    t.equal(out.statusCode, 204)
  }
  const stream = await openStream(t, address, headers)
  t.equal(stream.status, 200, 'the session was valid when it was checked')
  await stream.ended
  const again = await openStream(t, address, headers)
  t.equal(again.status, 401)
  const stays = await openStream(t, address, others)
  const { id } = await create(call)
  t.match(await stays.await(1), [{ prenotazione_id: id }], 'other streams continue')
})

t.test('a stream ends when the signing keys of access tokens are replaced at once', async (t) => {
  const stream = await openStream(t, address, await bearer('firmata'))
  const headers = await bearer('capo', 'admin')
  const payload = { immediate: true }
  const rotated = await app.inject({ method: 'POST', url: '/api/v1/signing-keys/rotate', headers, payload })
  t.equal(rotated.statusCode, 200, rotated.body)
  await stream.ended
})

t.test('a client that does not read is disconnected when its session is revoked', async (t) => {
  const { id } = await create(call)
  const [{ cursor }] = (await call('GET', `/api/v1/eventi?prenotazione_id=${id}`)).json<{ data: [Event] }>().data
  await app.sql`insert into eventi (id, tipo, oggetto, dettaglio, quando)
    select gen_random_uuid(), 'allarme.sollevato', 'prova:' || n, repeat('x', 100000), now()
    from generate_series(1, 300) n`
  const who = await bearer('ferma')
  const { hostname, port } = new URL(address)
  const accepted = once(app.server, 'connection')
  const socket = connect(Number(port), hostname).on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.pause()
  socket.write(`GET /api/v1/eventi?cursor=${cursor} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n` +
    `Authorization: ${who.authorization}\r\n\r\n`)
  const [ours] = await accepted as [Socket]
  await until(() => ours.writableLength > 0)
  await app.inject({ method: 'POST', url: '/auth/v1/logout', headers: who, payload: {} })
  await until(() => ours.destroyed)
  await app.sql`delete from eventi where oggetto like 'prova:%'`
})

t.test('shutdown ends streams', async (t) => {
  const other = await build(t, { TODAY: '2026-11-21', DATABASE_URL: url })
  const stream = await openStream(t, await listen(other.app), key)
  t.equal(stream.status, 200)
  await Promise.all([other.app.close(), stream.ended])
})

t.test('a request that also accepts another type than a stream, or is a HEAD, gets a page', async (t) => {
  for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream']) {
    const response = await call('GET', '/api/v1/eventi?limit=1', undefined, { accept })
    t.equal(response.json<{ data: Event[] }>().data.length, 1, accept)
  }
  const head = await fetch(`${address}/api/v1/eventi`, {
    method: 'HEAD', headers: { ...key, accept: 'text/event-stream' }
  })
  t.equal(head.status, 200)
})

t.test('the cursor skips events for administrators that the reader may not see', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' }, undefined, { times: { heartbeatMs: 300 } })
  const stream = await openStream(t, await listen(app), key)
  await stream.hears('0-00000000')
  // Both get their positions at the same time, so that one query finds both.
  await app.sql`insert into eventi_in_arrivo (transazione, tipo, oggetto)
    values (0, 'prenotazione.creata', 'prenotazione:1'), (0, 'fattore.aggiunto', 'utente:x')`
  const page = await call('GET', '/api/v1/eventi')
  const [created] = await stream.await(1)
  const [{ cursor }] = await app.sql<[{ cursor: string }]>`
    select posizione || '-' || left(id::text, 8) as cursor from eventi where tipo = 'fattore.aggiunto'`
  t.same(page.json(), { data: [created], cursor })
  await stream.hears(`${JSON.stringify(created)}\n\nid: ${cursor}\n\n`)
})
