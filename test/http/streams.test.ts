import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { RisorsaNonTrovata } from '#src/lib/errors.ts'
import { limitConcurrencyByCaller } from '#src/lib/concurrency-limit.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { listen } from '#test/events/event-source.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'

const CALENDAR = '/api/prenotazioni'
const CHECK = '/api/alloggiati/verifica-ricevute'
const PATHS = [CALENDAR, '/api/v1/prenotazioni', CHECK]

/** Enough bookings for a response of 17 MB, more than socket buffers contain. `A_DAY` of them arrive each day. */
const MANY = 27_000

const A_DAY = 90
const { app, url } = await build(t, { TODAY: '2026-11-21' })
await fill(MANY)
const address = await listen(app)

/**
 * The names consist of quotes, which the trigram index ignores, so that the insert is fast. The triggers are disabled,
 * so that bookings cause no events.
 */
async function fill (bookings: number): Promise<void> {
  await app.sql.begin(async (sql) => {
    await sql`alter table prenotazioni disable trigger user`
    await sql`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
      select 'Ospite ' || repeat('“', 190), 'IT', 380, date '2026-01-01' + day, date '2026-01-02' + day, 2
      from generate_series(0, ${bookings - 1}) n, lateral (select n / ${A_DAY} as day) days`
    await sql`alter table prenotazioni enable trigger user`
  })
}

/** A response that has started. The rest of it is never read. */
async function begin (url: string, key = API_KEY): Promise<IncomingMessage> {
  const request = get(url, { headers: key === API_KEY ? { 'x-api-key': key } : { authorization: key } })
  const [answer] = await once(request, 'response') as [IncomingMessage]
  return answer
}

t.test('a caller gets eight long responses concurrently, and other callers get theirs at the same time', async (t) => {
  const responses = []
  for (let n = 0; n < 8; n++) responses.push(await begin(address + PATHS[n % PATHS.length]!))
  t.same(responses.map(({ statusCode }) => statusCode), Array(8).fill(200))
  await Promise.all(PATHS.map(async (path) => {
    const refused = await begin(address + path)
    t.equal(refused.headers['retry-after'], '5', 'refused')
    t.match(JSON.parse(await text(refused)), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  }))
  const waiting = begin(address + CALENDAR)
  const short = await begin(`${address}${CALENDAR}?start=2026-01-01&end=2026-01-03`)
  t.equal(JSON.parse(await text(short)).length, 2 * A_DAY, 'a short response needs no slot')
  const head = await fetch(address + CALENDAR, { method: 'HEAD', headers: { 'x-api-key': API_KEY } })
  t.equal(head.status, 200, 'a HEAD reads no rows')
  for (const answer of responses) answer.destroy()
  const served = await waiting
  t.equal(served.statusCode, 200, 'a request that waits gets the slot that becomes free')
  served.destroy()
})

t.test('a client that does not read a long response is disconnected, and its slot is freed', async (t) => {
  const environ = { DATABASE_URL: url, TODAY: '2026-11-21' }
  const { app } = await build(t, environ, undefined, { times: { stalledReaderMs: 200 } })
  const own = await listen(app)
  for (const path of PATHS) {
    const connected = once(app.server, 'connection') as Promise<[Socket]>
    const answer = await begin(own + path)
    answer.on('error', () => {})
    const [socket] = await connected
    if (!socket.destroyed) await once(socket, 'close')
    t.ok(socket.destroyed, path)
    answer.destroy()
  }
  // With a longer timeout, because on a busy machine the reader may also pause.
  t.equal(JSON.parse(await text(await begin(address + CALENDAR))).length, MANY, 'a client that reads gets everything')
})

t.test('a long response is produced while it is read', async (t) => {
  const responses = await Promise.all(PATHS.map((path) => begin(address + path)))
  // Rows that were not read until now no longer exist.
  await app.sql`truncate prenotazioni cascade`
  const [entries, { data }, { mancanti }] = await Promise.all(
    responses.map(async (answer) => JSON.parse(await text(answer)))
  )
  for (const found of [entries, data, mancanti]) t.ok(found.length > 0 && found.length < MANY, `${found.length} rows`)
})

t.test('bytes are produced while they are read, with limited concurrency, until the client disconnects', async (t) => {
  const open = new Set<Readable>()
  const server = await build(t, { DATABASE_URL: url }, extraRoutes((app) => {
    const config = { access: 'auth' as const }
    const schema = { response: { 200: { content: { 'application/zip': { schema: Type.String() } } } } }
    app.get('/prova/byte', { config, schema, exposeHeadRoute: false }, async (request, reply) =>
      await reply.sendBytes(async () => {
        if (request.headers['x-prova'] === 'assente') throw new RisorsaNonTrovata()
        // Endless, but slow enough to use little CPU.
        const endless = new Readable({ read () { setTimeout(() => this.push(Buffer.alloc(65_536)), 5) } })
        open.add(endless.once('close', () => { open.delete(endless) }))
        reply.type('application/zip')
        return endless
      }))
  }), { times: { stalledReaderMs: 400 } })
  const path = `${await listen(server.app)}/prova/byte`
  for (let n = 0; n < 20; n++) {
    const failed = await server.call('GET', '/prova/byte', undefined, { 'x-prova': 'assente' })
    t.equal(failed.statusCode, 404, 'a failure before the start is answered, and frees its slot')
  }
  const responses = []
  for (let n = 0; n < 8; n++) {
    const answer = (await begin(path)).resume()
    t.equal(answer.statusCode, 200)
    responses.push(answer.on('error', () => {}))
  }
  const refused = await begin(path)
  t.equal(refused.statusCode, 503)
  if (refused.statusCode === 503) t.match(JSON.parse(await text(refused)), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.equal(open.size, 8)
  for (const answer of responses) answer.destroy()
  await until(async () => open.size === 0)
  const unread = (await begin(path)).on('error', () => {})
  t.equal(open.size, 1)
  await until(async () => open.size === 0)
  unread.destroy()
})

const from = (ip: string, id?: string) => ({ ip, principal: id && { id } }) as unknown as FastifyRequest

t.test('callers without credentials never use slots of callers with credentials', async (t) => {
  const acquireSlot = limitConcurrencyByCaller({ total: 2, perCaller: 1, waiting: 0 })
  for (const ip of ['192.0.2.1', '192.0.2.2']) await acquireSlot(from(ip))
  await t.rejects(acquireSlot(from('192.0.2.3')), { code: 'SERVIZIO_OCCUPATO' })
  await acquireSlot(from('192.0.2.1', 'user:1'))
  await acquireSlot(from('192.0.2.1', 'user:2'))
})

t.test('one network has at most a quarter of the slots for callers without credentials', async (t) => {
  const acquireSlot = limitConcurrencyByCaller({ total: 8, perCaller: 8, waiting: 0 })
  for (let n = 0; n < 2; n++) await acquireSlot(from('2001:db8::1'))
  await t.rejects(acquireSlot(from('2001:db8::2')), { code: 'SERVIZIO_OCCUPATO' }, 'the same /64')
  await acquireSlot(from('2001:db8:1::1'))
  for (let n = 0; n < 8; n++) await acquireSlot(from('2001:db8::1', 'user:1'))
})

t.test('a slot that is released twice counts once', async (t) => {
  const acquireSlot = limitConcurrencyByCaller({ total: 2, perCaller: 2, waiting: 0 })
  const giveBack = await acquireSlot(from('192.0.2.1', 'user:1'))
  await acquireSlot(from('192.0.2.1', 'user:1'))
  giveBack()
  giveBack()
  await acquireSlot(from('192.0.2.1', 'user:1'))
  await t.rejects(acquireSlot(from('192.0.2.1', 'user:1')), { code: 'SERVIZIO_OCCUPATO' })
})
