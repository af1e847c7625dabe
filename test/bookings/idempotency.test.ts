import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import t from 'tap'
import { idempotency_keys } from '#drizzle/tables/idempotency.ts'
import type { Booking } from '#schemas/booking.ts'
import { Closed } from '#schemas/common.ts'
import { ServizioOccupato } from '#src/lib/errors.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { booking, BOOKINGS, create, fieldsAtFault, list, saveGuests } from './samples.ts'

const LARGE = 'x'.repeat(2 ** 17)
const done: string[] = []
let finish = Promise.withResolvers<void>()
const { app, call, token } = await build(t, {}, extraRoutes((app) => {
  const TextResponse = Closed({ testo: Type.String() })
  const schema = { response: { 200: TextResponse, 422: TextResponse } }
  const config = { access: 'auth' as const, idempotent: true }
  app.post('/prova/fatta', { config, schema }, async () => {
    done.push('fatta')
    return { testo: LARGE }
  })
  app.post('/prova/lenta', { config, schema }, async () => {
    await finish.promise
    throw new ServizioOccupato()
  })
  app.post('/prova/fallita', { config, schema }, async () => { throw new ServizioOccupato() })
  app.post('/prova/iniziata', { config, schema }, async (request, reply) => {
    if (request.startedWork !== null) return { testo: request.startedWork.join() }
    done.push('iniziata')
    await app.db.transaction((tx) => request.recordInProgress(tx, 'lavoro'))
    return reply.code(422).send({ testo: LARGE })
  })
}))

const post = (key: string, changes: Record<string, unknown> = {}) =>
  call('POST', BOOKINGS, booking(changes), { 'idempotency-key': key })
const count = async () => (await list(call)).length

t.test('a response that cannot be stored is still sent, and no work is done twice', async (t) => {
  await app.sql.unsafe(`
    create function niente () returns trigger language plpgsql as 'begin raise disk_full; end';
    create trigger niente before update on idempotency_keys for each row when (new.body is not null)
      execute function niente()`)
  const before = await count()
  const first = await post('senza-posto')
  t.equal(first.statusCode, 201)
  await app.sql.unsafe('drop trigger niente on idempotency_keys; drop function niente')
  t.match((await post('senza-posto')).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
  t.equal(await count(), before + 1)
})

t.test('a key that could not be released while the database was down is free soon afterwards', async (t) => {
  const again = () => call('POST', '/prova/fallita', {}, { 'idempotency-key': 'non-liberata' })
  await app.sql.unsafe(`
    create function lontana () returns trigger language plpgsql as 'begin raise sqlstate ''57P01''; end';
    create trigger lontana before delete on idempotency_keys for each row execute function lontana()`)
  t.equal((await again()).statusCode, 503)
  t.match((await again()).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
  await app.sql.unsafe('drop trigger lontana on idempotency_keys; drop function lontana')
  while ((await again()).statusCode === 409) await sleep(100)
  t.equal((await again()).statusCode, 503, 'the request runs as a new one')
})

t.test('a key that was released and then taken again is not released a second time', async (t) => {
  const again = () => call('POST', '/prova/lenta', {}, { 'idempotency-key': 'ripresa' })
  await app.sql.unsafe(`
    create function lontana () returns trigger language plpgsql as 'begin raise sqlstate ''57P01''; end';
    create trigger lontana before delete on idempotency_keys for each row execute function lontana()`)
  finish.resolve()
  t.equal((await again()).statusCode, 503)
  finish = Promise.withResolvers()
  // Simulates that the response to the deletion was lost.
  await app.sql.unsafe(`drop trigger lontana on idempotency_keys; drop function lontana;
    delete from idempotency_keys where key = 'ripresa'`)
  const second = again()
  // Longer than the delay before the next attempt.
  await sleep(3000)
  t.equal((await app.sql`select from idempotency_keys where key = 'ripresa'`).length, 1, 'the second request\'s key')
  finish.resolve()
  t.equal((await second).statusCode, 503)
})

t.test('a key becomes free soon after the database did not respond to its insertion', async (t) => {
  const again = (key: string) => call('POST', '/prova/fallita', {}, { 'idempotency-key': key })
  // The row is inserted but the response is lost, as with a broken connection. The error is the driver's.
  const insert = app.db.insert.bind(app.db)
  const lost = { code: 'CONNECTION_CLOSED', errno: 'CONNECTION_CLOSED' }
  const values = (row: object) => {
    const returning = async () => {
      await insert(idempotency_keys).values(row as typeof idempotency_keys.$inferInsert)
      throw Object.assign(new Error('write CONNECTION_CLOSED'), lost)
    }
    return { onConflictDoUpdate: () => ({ returning }) }
  }
  app.db.insert = (() => ({ values })) as never
  t.equal((await again('persa')).statusCode, 503)
  app.db.insert = insert as never
  t.match((await again('persa')).json(), { codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
  while ((await again('persa')).statusCode === 409) await sleep(100)
  t.pass('it is free')
})

t.test('the stored response is returned even when the booking has changed since', async (t) => {
  const first = await post('cambiata')
  await call('PUT', `${BOOKINGS}/${first.json<{ data: Booking }>().data.id}`, { lingua: 'DE' })
  t.equal((await post('cambiata')).body, first.body)
})

t.test('ten concurrent requests with one key create one booking', async (t) => {
  for (let round = 0; round < 5; round++) {
    const before = await count()
    const responses = await Promise.all(Array.from({ length: 10 }, () => post(`insieme-${round}`)))
    const created = responses.filter(({ statusCode }) => statusCode === 201)
    t.ok(created.length >= 1)
    t.equal(new Set(created.map(({ body }) => body)).size, 1)
    for (const answer of responses.filter((each) => !created.includes(each))) {
      t.match(answer.json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    }
    t.equal((await post(`insieme-${round}`)).body, created[0]?.body)
    t.equal(await count(), before + 1)
  }
})

t.test('the same key with another URL is answered with a 422', async (t) => {
  const { id } = await create(call)
  await post('indirizzo')
  t.equal((await saveGuests(call, id, [], { 'idempotency-key': 'indirizzo' })).statusCode, 422)
})

t.test('two callers do not share their keys', async (t) => {
  const before = await count()
  const callAs = async (name: string) =>
    await app.inject({
      method: 'POST',
      url: BOOKINGS,
      headers: { authorization: `Bearer ${await token({ name })}`, 'idempotency-key': 'comune' },
      payload: booking({ nome_cognome: name })
    })
  const responses = [await post('comune'), await callAs('operatore-1'), await callAs('operatore-2')]
  t.same(responses.map(({ statusCode }) => statusCode), [201, 201, 201])
  t.equal(await count(), before + 3)
  t.equal((await callAs('operatore-1')).body, responses[1]?.body)
})

t.test('a request that is refused before it runs leaves its key free', async (t) => {
  t.equal((await post('libera', { check_in: '2026-02-30' })).statusCode, 400)
  t.equal((await post('libera')).statusCode, 201)
})

t.test('a key expires after a day, and not before', async (t) => {
  const first = await post('vecchia')
  await app.sql`update idempotency_keys set created_at = now() - interval '23 hours 59 minutes' where key = 'vecchia'`
  t.equal((await post('vecchia')).body, first.body)
  await app.sql`update idempotency_keys set created_at = now() - interval '24 hours 1 minute' where key = 'vecchia'`
  t.not((await post('vecchia')).body, first.body)
})

t.test('a key that is empty or too long is answered with a 400 that names the header', async (t) => {
  for (const key of ['', '  ', '""', 'k'.repeat(256)]) t.same(fieldsAtFault(await post(key)), ['Idempotency-Key'], key)
  t.equal((await post('k'.repeat(255))).statusCode, 201)
})

t.test('a body that is nested too deep is answered with a 400, with a key and without one', async (t) => {
  for (const [level, closing] of [['[', ']'], ['{"a":', '}']] as const) {
    const deep = level.repeat(5000) + '0' + closing.repeat(5000)
    for (const headers of [{}, { 'idempotency-key': 'profonda' }]) {
      const answer = await app.inject({
        method: 'POST',
        url: '/api/alloggiati/invio',
        headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', ...headers },
        payload: `{"ospiti":[{"x":${deep}}],"prenotazione":{}}`
      })
      t.match(answer.json(), { status: 400, codice: 'RICHIESTA_NON_VALIDA', dettagli: [{ campo: '' }] })
    }
  }
})

t.test('a large refusal is not stored: its key is free, and a repeated request is refused again', async (t) => {
  const send = () => call(
    'POST',
    '/api/alloggiati/invio',
    { ospiti: Array.from({ length: 200 }, () => ({})), prenotazione: { check_in: '2026-11-21', numero_notti: 2 } },
    { 'idempotency-key': 'grande' }
  )
  const first = await send()
  t.equal(first.statusCode, 422)
  t.same(await app.sql`select * from idempotency_keys where key = 'grande'`, [])
  const second = await send()
  t.equal(second.statusCode, 422)
  t.equal(second.headers['idempotency-replayed'], undefined)
})

t.test('finished work is not repeated, even if its response was too large to store', async (t) => {
  const send = (path: string) => call('POST', `/prova/${path}`, undefined, { 'idempotency-key': path })
  t.equal((await send('fatta')).statusCode, 200)
  t.match((await send('fatta')).json(), { status: 409, codice: 'IDEMPOTENCY_KEY_ESEGUITA' })
  t.equal((await send('iniziata')).statusCode, 422)
  t.same((await send('iniziata')).json(), { testo: 'lavoro' }, 'a retry is answered from the started work')
  t.same(done, ['fatta', 'iniziata'])
  t.same(await app.sql`select * from idempotency_keys where length(body) > 65536`, [])
})

t.test('an empty body is another request than the one whose body the key was used with', async (t) => {
  const send = (payload: string) =>
    app.inject({
      method: 'POST',
      url: '/api/v1/prenotazioni/2147483647/invio',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json', 'idempotency-key': 'scritta' },
      payload
    })
  await app.sql`
    insert into idempotency_keys (principal, key, fingerprint) values ('server', 'scritta', 'di un altro corpo')`
  t.match((await send('')).json(), { status: 422, codice: 'IDEMPOTENCY_KEY_RIUSATA' })
  await app.sql`delete from idempotency_keys where key = 'scritta'`
  t.match((await send('')).json(), { status: 404 })
})
