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
import { sharedReads } from '#src/events/shared-reads.ts'
import { BOOKINGS, create } from '#test/bookings/samples.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build } from '#test/helper.ts'
import { lateTransaction, listen, openStream, type EventSource } from './event-source.ts'

/** What happens between the look at the credentials of a request and its stream. */
let meanwhile: (() => Promise<void>) | undefined

const { app, call, token, url, masterKey } = await build(t, { TODAY: '2026-11-21' }, (app) => {
  app.addHook('preHandler', async ({ headers: { accept } }) => {
    if (accept === 'text/event-stream') await meanwhile?.()
  })
}, {
  times: { heartbeatMs: 300, lookMs: 500, stalledReaderMs: 400 }
})
const address = await listen(app)
const key = { 'x-api-key': API_KEY }
const { ready, waitForListeners } = app.changes.subscribe({}, () => {})

/** Of somebody who has just signed in. That the person is new has been told by then: it ends no stream of theirs. */
async function bearer (name: string, role: 'admin' | 'operator' = 'operator') {
  const authorization = `Bearer ${await token({ name, role })}`
  await ready()
  await waitForListeners(60_000)
  return { authorization }
}

t.test('a stream brings what happens from now on, whichever process does it, uncompressed', async (t) => {
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
  t.equal(stream.events().length, 2, 'nothing of before, and nothing twice')
})

t.test('a stream that comes again goes on after the last event that it has seen', async (t) => {
  const first = await openStream(t, address, key)
  const begins = /^id: (\S+)$/m.exec(first.text()) ?? await until(() => first.text().includes('id: '))
    .then(() => /^id: (\S+)$/m.exec(first.text()))
  first.close()
  const { id } = await create(call)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  const second = await openStream(t, address, { ...key, 'last-event-id': begins![1]! })
  const [created, changed] = await second.await(2)
  t.same([created!.tipo, changed!.tipo], ['prenotazione.creata', 'prenotazione.modificata'])
  // The header of a client that comes again goes before the address that it repeats.
  const third = await openStream(t, address, { ...key, 'last-event-id': created!.cursor }, `?cursor=${begins![1]!}`)
  t.same(await third.await(1), [changed])
  const gone = await openStream(t, address, { ...key, 'last-event-id': '2000000000-00000000' })
  t.equal(gone.status, 410)
  const bad = await openStream(t, address, { ...key, 'last-event-id': 'x' })
  t.equal(bad.status, 400)
})

t.test('a transaction that stays open holds back its own events alone; they come once it is committed', async (t) => {
  // A stream reads at each heartbeat, too: without one, what it is told of alone brings events.
  const times = { heartbeatMs: 3_600_000, lookMs: 500 }
  const silence = await build(t, { TODAY: '2026-11-21', DATABASE_URL: url }, undefined, { times })
  const stream = await openStream(t, await listen(silence.app), key)
  // The first that writes an event tells those who listen, at its end: until then no other one does.
  const late = await lateTransaction(t, url)
  const { id } = await create(call)
  await stream.await(1)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  await stream.await(2)
  // Not the first any more: nobody tells of its end.
  const silent = await lateTransaction(t, url, 250)
  await late.commit()
  await stream.await(3)
  await sleep(1500)
  await silent.commit()
  // A request for a page, here in another process, gives the event its place, and gives no notice.
  await call('GET', '/api/v1/eventi?limit=1')
  t.same((await stream.await(4)).map(({ prenotazione_id }) => prenotazione_id), [id, id, late.id, silent.id])
})

t.test('a stream can be of one booking, or of one type, alone', async (t) => {
  const { id } = await create(call)
  const stream = await openStream(t, address, key, `?prenotazione_id=${id}&tipo=prenotazione.modificata`)
  await create(call)
  await call('PUT', `${BOOKINGS}/${id}`, { telefono: '1' })
  t.match(await stream.await(1), [{ tipo: 'prenotazione.modificata', prenotazione_id: id }])
})

t.test('in silence comments show that the connection lives', async (t) => {
  const stream = await openStream(t, address, key)
  await until(() => /\n:\n\n:\n\n/.test(stream.text()))
  t.same(stream.events(), [])
})

t.test('a caller has six streams at a time, and gets the place of one that is closed', async (t) => {
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

t.test('a stream ends when its session, its key or its person is not good any more', async (t) => {
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
  t.match(await stays.await(1), [{ prenotazione_id: booking }], 'others go on')
})

/** A stream opened with what is good for a short time: for a longer one where the machine was too slow to open it. */
async function brief (t: Test, credentials: (ms: number) => Promise<Record<string, string>>): Promise<EventSource> {
  for (let ms = 1000; ms < 100_000; ms *= 2) {
    const stream = await openStream(t, address, await credentials(ms))
    if (stream.status === 200) return stream
    t.equal(stream.status, 401)
  }
  throw new Error('no stream could be opened')
}

t.test('a stream ends when its access token runs out, and goes on with a new one where it was', async (t) => {
  const { authorization } = await bearer('scade')
  const { privatePem: key, kid } = await app.identity.signer.signingKeys.current()
  let ends = 0
  const stream = await brief(t, async (ms) => {
    const claims = createDecoder()(authorization.slice('Bearer '.length)) as { exp: number }
    // Whole seconds.
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
  ], 'nothing is missing, and nothing comes twice')
})

t.test('a stream ends when its API key, or its session, runs out before its token', async (t) => {
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
    // The stream ends by the time, and not because the session has changed.
    await waitForListeners(60_000)
    return headers
  })
  await ofSession.ended
})

t.test('a session that ends while its stream is being opened ends the stream, too', async (t) => {
  const headers = await bearer('frattempo')
  const others = await bearer('altrove')
  meanwhile = async () => {
    meanwhile = undefined
    const out = await app.inject({ method: 'POST', url: '/auth/v1/logout', headers, payload: {} })
    t.equal(out.statusCode, 204)
  }
  const stream = await openStream(t, address, headers)
  t.equal(stream.status, 200, 'the session was good when it was looked at')
  await stream.ended
  const again = await openStream(t, address, headers)
  t.equal(again.status, 401)
  const stays = await openStream(t, address, others)
  const { id } = await create(call)
  t.match(await stays.await(1), [{ prenotazione_id: id }], 'others go on')
})

t.test('a stream ends when the keys that sign access tokens are replaced at once', async (t) => {
  const stream = await openStream(t, address, await bearer('firmata'))
  const headers = await bearer('capo', 'admin')
  const payload = { immediate: true }
  const rotated = await app.inject({ method: 'POST', url: '/api/v1/signing-keys/rotate', headers, payload })
  t.equal(rotated.statusCode, 200, rotated.body)
  await stream.ended
})

t.test('a client that does not read is cut, though it cannot be told that its session has ended', async (t) => {
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

t.test('a reader of rare events does not walk through all others again at each look', async (t) => {
  await create(call)
  await app.inject({ url: '/api/v1/eventi', headers: key })
  const [last] = await app.sql<[{ place: number, cursor: string }]>`
    select posizione as place, posizione || '-' || left(id::text, 8) as cursor from eventi
    order by posizione desc limit 1`
  const { read } = sharedReads(app.db)
  const nothing = { frames: '', last: undefined, reached: last }
  t.same(await read({ tipo: 'webhook.sospeso', all: true }, 0), nothing)
  t.same(await read({ all: true }, last.place), nothing)
  const { frames, reached } = await read({ tipo: 'prenotazione.creata', all: true }, 0)
  t.same(reached, last)
  t.match(frames, /^event: prenotazione.creata$/m)
})

t.test('the end of the server ends streams', async (t) => {
  const other = await build(t, { TODAY: '2026-11-21', DATABASE_URL: url })
  const stream = await openStream(t, await listen(other.app), key)
  t.equal(stream.status, 200)
  await Promise.all([other.app.close(), stream.ended])
})

t.test('a page is what everybody gets who does not ask for a stream by name', async (t) => {
  for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream']) {
    const answer = await call('GET', '/api/v1/eventi?limit=1', undefined, { accept })
    t.equal(answer.json<{ data: Event[] }>().data.length, 1, accept)
  }
  const head = await fetch(`${address}/api/v1/eventi`, {
    method: 'HEAD', headers: { ...key, accept: 'text/event-stream' }
  })
  t.equal(head.status, 200)
})

t.test('a reader passes the events of administrators that it may not see', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' }, undefined, { times: { heartbeatMs: 300 } })
  const stream = await openStream(t, await listen(app), key)
  await stream.hears('0-00000000')
  // Both get their places at once, so that one look finds both.
  await app.sql`insert into eventi_in_arrivo (transazione, tipo, oggetto)
    values (0, 'prenotazione.creata', 'prenotazione:1'), (0, 'fattore.aggiunto', 'utente:x')`
  const page = await call('GET', '/api/v1/eventi')
  const [created] = await stream.await(1)
  const [{ cursor }] = await app.sql<[{ cursor: string }]>`
    select posizione || '-' || left(id::text, 8) as cursor from eventi where tipo = 'fattore.aggiunto'`
  t.same(page.json(), { data: [created], cursor })
  await stream.hears(`${JSON.stringify(created)}\n\nid: ${cursor}\n\n`)
})

t.test('news that a stream does not want do not put off its signs of life', async (t) => {
  const { app, call } = await build(t, { TODAY: '2026-11-21' }, undefined, { times: { heartbeatMs: 300 } })
  const stream = await openStream(t, await listen(app), key, '?tipo=webhook.sospeso')
  await stream.hears('0-00000000')
  const isSilent = () => !/^id: [1-9]/m.test(stream.text())
  let made = 0
  for (; made < 50 && isSilent(); made++) {
    await create(call)
    await sleep(100)
  }
  t.ok(made < 50, 'a sign came while events did')
})
