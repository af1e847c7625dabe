import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { build } from '#test/helper.ts'
import { booking, BOOKINGS, create, fieldsAtFault, guests, list, read, saveGuests } from './samples.ts'

const { app, call, token } = await build(t)

const post = (key: string, changes: Record<string, unknown> = {}) =>
  call('POST', BOOKINGS, booking(changes), { 'idempotency-key': key })
const count = async () => (await list(call)).length

t.test('the same key and body give the stored answer, and one booking', async (t) => {
  const before = await count()
  const first = await post('stessa')
  const second = await post('stessa')
  t.equal(first.statusCode, 201)
  t.equal(second.statusCode, 201)
  t.equal(second.body, first.body)
  t.equal(await count(), before + 1)
})

t.test('the stored answer is given even when the booking has changed since', async (t) => {
  const first = await post('cambiata')
  await call('PUT', `${BOOKINGS}/${first.json<{ data: Booking }>().data.id}`, { lingua: 'DE' })
  t.equal((await post('cambiata')).body, first.body)
})

t.test('ten requests at once with one key make one booking', async (t) => {
  for (let round = 0; round < 5; round++) {
    const before = await count()
    const answers = await Promise.all(Array.from({ length: 10 }, () => post(`insieme-${round}`)))
    const created = answers.filter(({ statusCode }) => statusCode === 201)
    t.ok(created.length >= 1)
    t.equal(new Set(created.map(({ body }) => body)).size, 1)
    for (const answer of answers.filter((each) => !created.includes(each))) {
      t.match(answer.json(), { status: 409, codice: 'IDEMPOTENCY_KEY_IN_CORSO' })
    }
    t.equal((await post(`insieme-${round}`)).body, created[0]?.body)
    t.equal(await count(), before + 1)
  }
})

t.test('the same key with another body is a 422, and makes nothing', async (t) => {
  await post('altra')
  const before = await count()
  const response = await post('altra', { numero_ospiti: 1 })
  t.equal(response.statusCode, 422)
  t.match(response.json(), { status: 422, codice: 'IDEMPOTENCY_KEY_RIUSATA' })
  t.equal(await count(), before)
})

t.test('the same key at another address is a 422', async (t) => {
  const { id } = await create(call)
  await post('indirizzo')
  t.equal((await saveGuests(call, id, [], { 'idempotency-key': 'indirizzo' })).statusCode, 422)
})

t.test('two callers do not share their keys', async (t) => {
  const before = await count()
  const as = async (name: string) =>
    await app.inject({
      method: 'POST',
      url: BOOKINGS,
      headers: { authorization: `Bearer ${await token({ name })}`, 'idempotency-key': 'comune' },
      payload: booking({ nome_cognome: name })
    })
  const answers = [await post('comune'), await as('operatore-1'), await as('operatore-2')]
  t.same(answers.map(({ statusCode }) => statusCode), [201, 201, 201])
  t.equal(await count(), before + 3)
  t.equal((await as('operatore-1')).body, answers[1]?.body)
})

t.test('without a key every request makes a booking', async (t) => {
  const before = await count()
  await create(call)
  await create(call)
  t.equal(await count(), before + 2)
})

t.test('a request that is refused before it runs leaves its key free', async (t) => {
  t.equal((await post('libera', { check_in: '2026-02-30' })).statusCode, 400)
  t.equal((await post('libera')).statusCode, 201)
})

t.test('a key is forgotten after a day, not before', async (t) => {
  const first = await post('vecchia')
  await app.sql`update idempotency_keys set created_at = now() - interval '23 hours 59 minutes' where key = 'vecchia'`
  t.equal((await post('vecchia')).body, first.body)
  await app.sql`update idempotency_keys set created_at = now() - interval '24 hours 1 minute' where key = 'vecchia'`
  t.not((await post('vecchia')).body, first.body)
})

t.test('a key that is empty or too long is a 400 that names the header', async (t) => {
  for (const key of ['', '  ', '""', 'k'.repeat(256)]) t.same(fieldsAtFault(await post(key)), ['Idempotency-Key'], key)
  t.equal((await post('k'.repeat(255))).statusCode, 201)
})

t.test('a guest list saved twice with one key is saved once', async (t) => {
  const { id } = await create(call)
  const save = () => saveGuests(call, id, guests(2), { 'idempotency-key': 'ospiti' })
  const first = await save()
  await saveGuests(call, id, guests(1))
  t.equal((await save()).body, first.body)
  t.equal((await read(call, id)).ospiti.length, 1)
})
