import t from 'tap'
import type { LightMyRequestResponse } from 'fastify'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, guests, read, saveGuests } from './samples.ts'

const { app, call } = await build(t)

const put = (id: number, change: object, headers?: Record<string, string>) =>
  call('PUT', `${BOOKINGS}/${id}`, change, headers)
const erase = (...ids: number[]) => call('POST', `${BOOKINGS}/delete-bulk`, { ids })
const tagOf = async (id: number) => String((await call('GET', `${BOOKINGS}/${id}`)).headers.etag)
const guestsOf = async (id: number) =>
  (await app.sql`select count(*)::int as n from ospiti where prenotazione_id = ${id}`)[0]?.n

/**
 * Starts the requests in this order while somebody else holds the booking, each when the one before it waits, and then
 * lets them go: the order in which they meet is sure, and not left to luck.
 */
async function meeting (
  id: number,
  ...requests: (() => Promise<LightMyRequestResponse>)[]
): Promise<LightMyRequestResponse[]> {
  const answers: Promise<LightMyRequestResponse>[] = []
  await app.sql.begin(async (tx) => {
    await tx`select 1 from prenotazioni where id = ${id} for update`
    for (const request of requests) {
      answers.push(request())
      for (let waiting = 0; waiting < answers.length;) {
        await tx`select pg_stat_clear_snapshot()`
        const [row] = await tx`
          select count(*)::int as n from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        waiting = Number(row?.n)
      }
    }
  })
  return await Promise.all(answers)
}

t.test('of two updates with the same If-Match exactly one wins', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id } = await create(call)
    const headers = { 'if-match': await tagOf(id) }
    const change = (nome_cognome: string) => () => put(id, { nome_cognome }, headers)
    const answers =
      round % 2 === 0
        ? await meeting(id, change('Uno'), change('Due'))
        : await Promise.all([change('Uno')(), change('Due')()])
    t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, 412])
    const winner = answers.find(({ statusCode }) => statusCode === 200)?.json<{ data: { nome_cognome: string } }>()
      .data.nome_cognome
    t.equal((await read(call, id)).nome_cognome, winner)
  }
})

t.test('an update with If-Match loses against guests saved in between', async (t) => {
  const { id } = await create(call)
  const headers = { 'if-match': await tagOf(id) }
  const [saved, updated] = await meeting(
    id,
    () => saveGuests(call, id, guests(2)),
    () => put(id, { numero_ospiti: 1 }, headers)
  )
  t.equal(saved?.statusCode, 200)
  t.equal(updated?.statusCode, 412)
  t.equal((await read(call, id)).numero_ospiti, 2)
})

t.test('of two guest lists saved at once, one is the result, whole', async (t) => {
  for (let round = 0; round < 8; round++) {
    const { id } = await create(call, { numero_ospiti: 6 })
    const lists = [guests(2 + round % 3, { cognome: 'Uno', sesso: 'F' }), guests(6, { cognome: 'Due' })]
    const saves = lists.map((dati) => () => saveGuests(call, id, dati))
    const answers = round % 2 === 0 ? await meeting(id, ...saves) : await Promise.all(saves.map((save) => save()))
    t.same(answers.map(({ statusCode }) => statusCode), [200, 200])
    const stored = (await read(call, id)).ospiti.map(({ nome, cognome, sesso }) => ({ nome, cognome, sesso }))
    const expected = lists.map((dati) => dati.map(({ nome, cognome, sesso = null }) => ({ nome, cognome, sesso })))
    t.ok(expected.some((list) => JSON.stringify(list) === JSON.stringify(stored)), JSON.stringify(stored))
  }
})

t.test('a list that would no longer fit is refused when the booking shrinks first', async (t) => {
  const { id } = await create(call, { numero_ospiti: 4 })
  const [shrunk, saved] = await meeting(id, () => put(id, { numero_ospiti: 2 }), () => saveGuests(call, id, guests(4)))
  t.equal(shrunk?.statusCode, 200)
  t.equal(saved?.statusCode, 400)
  t.equal(await guestsOf(id), 0)
})

t.test('a deletion leaves no half state of an update that comes after it', async (t) => {
  const { id } = await create(call)
  await saveGuests(call, id, guests(2))
  const [erased, updated, saved] = await meeting(
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

t.test('a deletion takes all that an update before it has written', async (t) => {
  for (const change of [(id: number) => put(id, { lingua: 'EN' }), (id: number) => saveGuests(call, id, guests(2))]) {
    const { id } = await create(call)
    const [changed, erased] = await meeting(id, () => change(id), () => erase(id))
    t.equal(changed?.statusCode, 200)
    t.same(erased?.json<{ deleted: number[] }>().deleted, [id])
    t.equal((await call('GET', `${BOOKINGS}/${id}`)).statusCode, 404)
    t.equal(await guestsOf(id), 0)
  }
})

t.test('deletions that overlap in opposite orders all end, and each booking is deleted once', async (t) => {
  for (let round = 0; round < 5; round++) {
    const ids: number[] = []
    for (let index = 0; index < 12; index++) ids.push((await create(call)).id)
    const answers = await Promise.all([erase(...ids), erase(...ids.toReversed()), erase(...ids.slice(3, 9))])
    t.same(answers.map(({ statusCode }) => statusCode), [200, 200, 200])
    t.same(answers.flatMap((answer) => answer.json<{ deleted: number[] }>().deleted).sort((a, b) => a - b), ids)
  }
})

t.test('twenty updates of different fields at once lose nothing', async (t) => {
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
  const answers = await Promise.all(again.map((change) => put(id, change)))
  t.ok(answers.every(({ statusCode }) => statusCode === 200))
  t.match(await read(call, id), { ...changes, numero_notti: 9 })
  t.equal(new Set(answers.map(({ headers }) => headers.etag)).size, 20, 'each has a version of its own')
})

t.test('a stay moved from both sides at once is never inside out', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { id } = await create(call, { check_in: '2026-11-10', check_out: '2026-11-12' })
    const answers = await meeting(
      id,
      () => put(id, { check_in: '2026-11-11' }),
      () => put(id, { check_out: '2026-11-11' })
    )
    t.same(answers.map(({ statusCode }) => statusCode), [200, 400])
    t.match(await read(call, id), { check_in: '2026-11-11', check_out: '2026-11-12', numero_notti: 1 })
  }
})
