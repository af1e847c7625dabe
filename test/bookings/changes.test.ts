import fc from 'fast-check'
import type { LightMyRequestResponse } from 'fastify'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { changedStay, newStay } from '#src/bookings/stay.ts'
import { anyDay, dayNumber } from '#test/days.ts'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, guests, read, saveGuests } from './samples.ts'

const { app, call } = await build(t)

const erase = (...ids: number[]) => call('POST', `${BOOKINGS}/delete-bulk`, { ids })
const put = (id: number, change: object, ifMatch?: string) =>
  call('PUT', `${BOOKINGS}/${id}`, change, ifMatch === undefined ? {} : { 'if-match': ifMatch })

/** The booking after a successful change. */
async function changed (id: number, change: object): Promise<Booking> {
  return (await put(id, change)).json<{ data: Booking }>().data
}

t.test('a change is answered with 200, the booking and its new ETag', async (t) => {
  const { id } = await create(call)
  const before = await call('GET', `${BOOKINGS}/${id}`)
  const response = await put(id, { lingua: 'DE' })
  const { data, status } = response.json<{ data: Booking, status: number }>()
  t.equal(response.statusCode, 200)
  t.equal(status, 200)
  const { ospiti: _, ...stored } = await read(call, id)
  t.same(data, stored)
  t.not(response.headers.etag, before.headers.etag)
  t.equal(response.headers.etag, (await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
})

t.test('a change affects only the fields that are present', async (t) => {
  const before = await create(call, { email: 'anna@example.com', telefono: '055 1', idf_gen: 'BK-1' })
  const changes = {
    ...{ nome_cognome: 'Carla Verdi', lingua: 'FR', email: 'carla@example.com', telefono: '055 2' },
    ...{ paese_id: 250, numero_ospiti: 4, idf_gen: 'BK-2' }
  }
  let expected = before
  for (const [name, value] of Object.entries(changes)) {
    const { updated_at, ...after } = await changed(before.id, { [name]: value })
    expected = { ...expected, [name]: value, updated_at }
    t.same({ ...after, updated_at }, expected, name)
  }
  t.ok(expected.updated_at >= before.updated_at)
  t.equal(expected.created_at, before.created_at)
})

t.test('null clears an optional field', async (t) => {
  const { id } = await create(call, { email: 'anna@example.com', telefono: '055 1', idf_gen: 'BK-1' })
  t.match(await changed(id, { email: null, idf_gen: null }), { email: null, telefono: '055 1', idf_gen: null })
})

const CHANGES: [title: string, change: object, stay: [check_in: string, check_out: string, numero_notti: number]][] = [
  ['check_out given wins over numero_notti', { check_out: '2026-11-30', numero_notti: 1 },
    ['2026-11-21', '2026-11-30', 9]],
  ['numero_notti alone moves the departure', { numero_notti: 10 }, ['2026-11-21', '2026-12-01', 10]],
  ['check_in alone keeps the departure and recomputes the nights', { check_in: '2026-11-23' },
    ['2026-11-23', '2026-11-24', 1]],
  ['check_in and numero_notti together move the whole stay', { check_in: '2027-01-01', numero_notti: 2 },
    ['2027-01-01', '2027-01-03', 2]]
]
for (const [title, change, [check_in, check_out, numero_notti]] of CHANGES) {
  t.test(`a change of the stay: ${title}`, async (t) => {
    const { id } = await create(call)
    t.match(await changed(id, change), { check_in, check_out, numero_notti })
  })
}

t.test(
  'a departure that is not after the arrival is answered with a 400 that names it, and the booking is unchanged',
  async (t) => {
    const { id } = await create(call)
    const before = await read(call, id)
    t.same(fieldsAtFault(await put(id, { check_in: '2026-11-24' })), ['check_in'])
    t.same(fieldsAtFault(await put(id, { check_in: '2026-11-25', lingua: 'EN' })), ['check_in'])
    t.same(fieldsAtFault(await put(id, { check_out: '2026-11-21' })), ['check_out'])
    t.same(fieldsAtFault(await put(id, { check_in: '2026-12-01', check_out: '2026-11-30' })), ['check_out'])
    t.same(fieldsAtFault(await put(id, { check_in: '1900-01-01' })), ['check_in'])
    t.same(await read(call, id), before)
  }
)

t.test('a whole booking can be sent back, and its read-only fields are ignored', async (t) => {
  const { id } = await create(call)
  await saveGuests(call, id, guests(2))
  const whole = await read(call, id)
  const after = await changed(id, {
    ...whole,
    id: id + 1000,
    ospiti: [],
    created_at: '1999-01-01T00:00:00.000Z',
    nome_cognome: 'Carla Verdi'
  })
  t.match(after, {
    id,
    nome_cognome: 'Carla Verdi',
    created_at: whole.created_at,
    check_in: whole.check_in,
    numero_notti: 3
  })
  t.same((await read(call, id)).ospiti, whole.ospiti)
})

t.test('any other unknown field of a change is answered with a 400 that names it', async (t) => {
  const { id } = await create(call)
  for (const name of ['note', 'versione', 'guests']) {
    t.same(fieldsAtFault(await put(id, { lingua: 'EN', [name]: 1 })), [name])
  }
  t.equal((await read(call, id)).lingua, 'IT')
})

t.test('values of a change are not coerced, as in a creation', async (t) => {
  const { id } = await create(call)
  for (const [name, value] of [
    ['numero_ospiti', '1'],
    ['paese_id', null],
    ['check_out', '2026-02-30'],
    ['numero_notti', 0],
    ['nome_cognome', ' '],
    ['lingua', 'i']
  ] as const) {
    t.same(fieldsAtFault(await put(id, { [name]: value })), [name])
  }
})

t.test('an empty body, or one with only read-only fields, changes no field', async (t) => {
  const { id } = await create(call)
  const before = await call('GET', `${BOOKINGS}/${id}`)
  for (const body of [{}, { id, created_at: 'x', updated_at: null, ospiti: 'x' }]) {
    const response = await put(id, body)
    t.equal(response.statusCode, 200)
    t.equal(response.headers.etag, before.headers.etag)
    t.same(await read(call, id), before.json<{ data: Booking }>().data)
  }
})

t.test('a change of a missing booking is answered with a 404, with or without If-Match', async (t) => {
  for (const response of [
    await put(2_000_000, { lingua: 'EN' }),
    await put(2_000_000, {}),
    await put(2_000_000, { lingua: 'EN' }, '"1"')
  ]) {
    t.equal(response.statusCode, 404)
    t.match(response.json(), { error: 'Prenotazione non trovata', status: 404, codice: 'PRENOTAZIONE_NON_TROVATA' })
  }
})

t.test('If-Match allows a change only of a version that it names', async (t) => {
  const { id } = await create(call)
  const etag = String((await put(id, { lingua: 'EN' })).headers.etag)
  const stale = '"1"'
  t.not(etag, stale)
  const other = [stale, `W/${etag}`, `"x${etag.slice(1)}`, etag.replaceAll('"', ''), '""', '', `${stale}, W/${etag}`]
  for (const header of [...other, `*, ${stale}`]) {
    const response = await put(id, { lingua: 'DE' }, header)
    t.equal(response.statusCode, 412, header)
    t.match(response.json(), { status: 412, codice: 'PRENOTAZIONE_MODIFICATA' })
  }
  t.equal((await read(call, id)).lingua, 'EN')
})

t.test('If-Match accepts the current version, alone or in a list, and * for any', async (t) => {
  const { id } = await create(call)
  for (const header of [(etag: string) => etag, (etag: string) => ` "7", ${etag} , W/"8"`, () => '*']) {
    const etag = String((await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
    t.equal((await put(id, { lingua: 'DE' }, header(etag))).statusCode, 200)
  }
})

const nights = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 36_500 }))
const anyStay = fc
  .tuple(anyDay(1, 9800), nights)
  .map(([check_in, numero_notti]) => ({ ...newStay({ check_in, numero_notti }), numero_notti }))

/** The number of days from arrival to departure, by a calendar that shares no code with the server. */
function apart ({ check_in, check_out }: { check_in: string, check_out: string }): number {
  return dayNumber(check_out) - dayNumber(check_in)
}

t.test('check_out is check_in plus numero_notti', async () => {
  fc.assert(fc.property(anyDay(1, 9800), nights, (check_in, numero_notti) => {
    const result = newStay({ check_in, numero_notti })
    return result.check_in === check_in && apart(result) === numero_notti
  }), { numRuns: 1000 })
})

t.test('a stay given by its days keeps these days, with any numero_notti', async () => {
  fc.assert(fc.property(anyStay, fc.option(nights, { nil: undefined }), ({ check_in, check_out }, numero_notti) => {
    const result = newStay({ check_in, check_out, numero_notti })
    return result.check_in === check_in && result.check_out === check_out
  }))
})

t.test('a change gives the stay of its days and nights, and one without nights or too long is refused', async (t) => {
  const change = fc.record(
    { check_in: anyDay(2020, 2030), check_out: anyDay(2020, 2030), numero_notti: nights },
    { requiredKeys: [] }
  )
  const current = fc
    .tuple(anyDay(2020, 2030), nights)
    .map(([check_in, numero_notti]) => newStay({ check_in, numero_notti }))
  let refusals = 0
  fc.assert(fc.property(current, change, (before, change) => {
    const check_in = change.check_in ?? before.check_in
    const byNights =
      change.numero_notti === undefined ? dayNumber(before.check_out) : dayNumber(check_in) + change.numero_notti
    const wanted = change.check_out === undefined ? byNights : dayNumber(change.check_out)
    const valid = wanted > dayNumber(check_in) && wanted - dayNumber(check_in) <= 36_500
    try {
      const after = changedStay(before, change)
      return valid && after.check_in === check_in && dayNumber(after.check_out) === wanted
    } catch {
      refusals++
      return !valid
    }
  }), { numRuns: 1000 })
  t.ok(refusals > 0)
})

t.test('a booking created with days, and one created with nights, store the same stay', async (t) => {
  await fc.assert(fc.asyncProperty(anyStay, fc.boolean(), async ({ check_in, check_out, numero_notti }, byNights) => {
    const created = await create(
      call,
      byNights ? { check_in, numero_notti } : { check_in, check_out, numero_notti: undefined }
    )
    const { ospiti: _, ...stored } = await read(call, created.id)
    t.match(created, { check_in, check_out, numero_notti })
    t.same(stored, created)
    t.equal(apart(created), created.numero_notti)
  }), { numRuns: 60 })
})

const tagOf = async (id: number) => String((await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
const guestsOf = async (id: number) =>
  (await app.sql`select count(*)::int as n from ospiti where prenotazione_id = ${id}`)[0]?.n

/**
 * Starts the requests in this order while another transaction has locked the booking. Each request starts when the
 * previous one waits. Then it releases the lock, so the order is always the same.
 */
async function inOrder (
  id: number,
  ...requests: (() => Promise<LightMyRequestResponse>)[]
): Promise<LightMyRequestResponse[]> {
  const responses: Promise<LightMyRequestResponse>[] = []
  await app.sql.begin(async (tx) => {
    await tx`select 1 from prenotazioni where id = ${id} for update`
    for (const request of requests) {
      responses.push(request())
      for (let waiting = 0; waiting < responses.length;) {
        await tx`select pg_stat_clear_snapshot()`
        const [row] = await tx`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        waiting = Number(row?.n)
      }
    }
  })
  return await Promise.all(responses)
}

t.test('exactly one of two updates with the same If-Match succeeds', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id } = await create(call)
    const tag = await tagOf(id)
    const change = (nome_cognome: string) => () => put(id, { nome_cognome }, tag)
    const responses =
      round % 2 === 0
        ? await inOrder(id, change('Uno'), change('Due'))
        : await Promise.all([change('Uno')(), change('Due')()])
    t.same(responses.map(({ statusCode }) => statusCode).sort(), [200, 412])
    const winner = responses.find(({ statusCode }) => statusCode === 200)?.json<{ data: { nome_cognome: string } }>()
      .data.nome_cognome
    t.equal((await read(call, id)).nome_cognome, winner)
  }
})

t.test('an update with If-Match fails when guests were saved meanwhile', async (t) => {
  const { id } = await create(call)
  const tag = await tagOf(id)
  const [saved, updated] = await inOrder(
    id,
    () => saveGuests(call, id, guests(2)),
    () => put(id, { numero_ospiti: 1 }, tag)
  )
  t.equal(saved?.statusCode, 200)
  t.equal(updated?.statusCode, 412)
  t.equal((await read(call, id)).numero_ospiti, 2)
})

t.test('after two concurrent saves, exactly one of the two guest lists is stored, complete', async (t) => {
  for (let round = 0; round < 8; round++) {
    const { id } = await create(call, { numero_ospiti: 6 })
    const lists = [guests(2 + round % 3, { cognome: 'Uno', sesso: 'F' }), guests(6, { cognome: 'Due' })]
    const saves = lists.map((dati) => () => saveGuests(call, id, dati))
    const responses = round % 2 === 0 ? await inOrder(id, ...saves) : await Promise.all(saves.map((save) => save()))
    t.same(responses.map(({ statusCode }) => statusCode), [200, 200])
    const stored = (await read(call, id)).ospiti.map(({ nome, cognome, sesso }) => ({ nome, cognome, sesso }))
    const expected = lists.map((dati) => dati.map(({ nome, cognome, sesso = null }) => ({ nome, cognome, sesso })))
    t.ok(expected.some((list) => JSON.stringify(list) === JSON.stringify(stored)), JSON.stringify(stored))
  }
})

t.test('a list that no longer fits is refused when the booking shrinks first', async (t) => {
  const { id } = await create(call, { numero_ospiti: 4 })
  const [shrunk, saved] = await inOrder(id, () => put(id, { numero_ospiti: 2 }), () => saveGuests(call, id, guests(4)))
  t.equal(shrunk?.statusCode, 200)
  t.equal(saved?.statusCode, 400)
  t.equal(await guestsOf(id), 0)
})

t.test('an update that waits for a deletion writes no row', async (t) => {
  const { id } = await create(call)
  await saveGuests(call, id, guests(2))
  const [erased, updated, saved] = await inOrder(
    id,
    () => erase(id),
    () => put(id, { lingua: 'EN' }),
    () => saveGuests(call, id, guests(1))
  )
  t.same(erased?.json<{ deleted: number[] }>().deleted, [id])
  t.equal(updated?.statusCode, 404)
  t.equal(saved?.statusCode, 404)
  t.equal(await guestsOf(id), 0)
})

t.test('a deletion removes everything that an earlier update has written', async (t) => {
  for (const change of [(id: number) => put(id, { lingua: 'EN' }), (id: number) => saveGuests(call, id, guests(2))]) {
    const { id } = await create(call)
    const [changed, erased] = await inOrder(id, () => change(id), () => erase(id))
    t.equal(changed?.statusCode, 200)
    t.same(erased?.json<{ deleted: number[] }>().deleted, [id])
    t.equal((await call('GET', `${BOOKINGS}/${id}`)).statusCode, 404)
    t.equal(await guestsOf(id), 0)
  }
})

t.test('deletions that overlap in opposite orders do not deadlock, and each booking is deleted once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const ids: number[] = []
    for (let index = 0; index < 12; index++) ids.push((await create(call)).id)
    const responses = await Promise.all([erase(...ids), erase(...ids.toReversed()), erase(...ids.slice(3, 9))])
    t.same(responses.map(({ statusCode }) => statusCode), [200, 200, 200])
    t.same(responses.flatMap((answer) => answer.json<{ deleted: number[] }>().deleted).sort((a, b) => a - b), ids)
  }
})

t.test('twenty concurrent updates of different fields are all stored', async (t) => {
  const { id } = await create(call)
  const changes = {
    nome_cognome: 'Carla Verdi',
    lingua: 'FR',
    email: 'carla@example.com',
    telefono: '055 2',
    paese_id: 250,
    numero_ospiti: 4,
    idf_gen: 'BK-2',
    check_in: '2026-11-20',
    check_out: '2026-11-29'
  }
  const single = Object.entries(changes).map(([name, value]) => ({ [name]: value }))
  const again = [...single, ...single, { lingua: 'FR' }, { paese_id: 250 }].slice(0, 20)
  const responses = await Promise.all(again.map((change) => put(id, change)))
  t.ok(responses.every(({ statusCode }) => statusCode === 200))
  t.match(await read(call, id), { ...changes, numero_notti: 9 })
  t.equal(new Set(responses.map(({ headers }) => headers.etag)).size, 20, 'each change has its own version')
})

t.test('concurrent changes of arrival and departure never leave a stay that ends before it begins', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id } = await create(call, { check_in: '2026-11-10', check_out: '2026-11-12' })
    const responses = await inOrder(
      id,
      () => put(id, { check_in: '2026-11-11' }),
      () => put(id, { check_out: '2026-11-11' })
    )
    t.same(responses.map(({ statusCode }) => statusCode), [200, 400])
    t.match(await read(call, id), { check_in: '2026-11-11', check_out: '2026-11-12', numero_notti: 1 })
  }
})
