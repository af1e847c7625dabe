import fc from 'fast-check'
import t from 'tap'
import type { Block, Unit } from '#schemas/unit.ts'
import type { Booking } from '#schemas/booking.ts'
import type { ErrorBody } from '#schemas/common.ts'
import { addDays } from '#src/lib/time.ts'
import { build } from '#test/helper.ts'
import { BOOKINGS, booking, create, fieldsAtFault, list } from './samples.ts'

const UNITS = '/api/v1/unita'
const BLOCKS = '/api/v1/blocchi'
const first = '2026-11-21'
const day = (offset: number) => addDays(first, offset)

const { app, call } = await build(t)
const { sql } = app
const put = (id: number, change: object) => call('PUT', `${BOOKINGS}/${id}`, change)
const assign = (id: number) => call('POST', `${BOOKINGS}/${id}/assegna`)
const block = (body: object) => call('POST', BLOCKS, { motivo: 'manutenzione', ...body })

let names = 0
async function unit (changes: object = {}): Promise<Unit> {
  const room = { nome: `Camera ${++names}`, tipo: 'camera', ospiti_massimi: 2 }
  const created = await call('POST', UNITS, { ...room, ...changes })
  if (created.statusCode !== 201) throw new Error(created.body)
  return created.json<{ data: Unit }>().data
}

t.test('a unit is created, listed in order, changed and deleted', async (t) => {
  const room = await unit({ nome: 'Glicine', ordine: 5, gruppo: 'Primo piano' })
  const flat = await unit({ nome: 'Torre', tipo: 'appartamento', ospiti_massimi: 4, ordine: 1, id_appartamento: 17 })
  t.match(room, { posti_letto: 2, camere: 1, id_appartamento: null, attiva_da: null })
  const { data } = (await call('GET', UNITS)).json<{ data: Unit[] }>()
  t.same(data.map(({ nome }) => nome), ['Torre', 'Glicine'])
  t.match((await call('PUT', `${UNITS}/${room.id}`, { ...room, gruppo: null, ospiti_massimi: 3 })).json(),
    { data: { gruppo: null, ospiti_massimi: 3, nome: 'Glicine' } })
  t.same(fieldsAtFault(await call('PUT', `${UNITS}/${room.id}`, { nome: 'Torre' })), ['nome'], 'names are unique')
  const days = { attiva_da: day(1), attiva_a: first }
  const made = await call('POST', UNITS, { nome: 'Rosa', tipo: 'camera', ospiti_massimi: 1, ...days })
  t.same(fieldsAtFault(made), ['attiva_a'])
  t.same(fieldsAtFault(await call('PUT', `${UNITS}/${room.id}`, days)), ['attiva_a'])
  for (const { id } of [room, flat]) t.equal((await call('DELETE', `${UNITS}/${id}`)).statusCode, 200)
  t.equal((await call('GET', `${UNITS}/${room.id}`)).json<ErrorBody>().codice, 'UNITA_NON_TROVATA')
})

t.test('a stay that overlaps another is refused with a 409 that names it, and back-to-back stays fit', async (t) => {
  const { id: unita_id } = await unit()
  const { id } = await create(call, { unita_id })
  const second = await call('POST', BOOKINGS, booking({ unita_id, check_in: day(2) }))
  t.equal(second.statusCode, 409)
  t.match(second.json(), {
    codice: 'UNITA_OCCUPATA',
    error: `L’unità è occupata dal 21/11/2026 al 24/11/2026 dalla prenotazione ${id}`
  })
  const next = await create(call, { unita_id, check_in: day(3) })
  t.equal((await put(id, { check_out: day(4) })).statusCode, 409, 'an extension into the next stay')
  t.equal((await put(next.id, { stato: 'annullata' })).statusCode, 200)
  t.equal((await put(id, { check_out: day(4) })).statusCode, 200, 'a cancelled booking frees its nights')
  t.equal((await put(next.id, { stato: 'confermata' })).statusCode, 409, 'until it is confirmed again')
  t.match((await call('DELETE', `${UNITS}/${unita_id}`)).json(), { codice: 'UNITA_IN_USO' })
  await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [id, next.id] })
  t.equal((await call('DELETE', `${UNITS}/${unita_id}`)).statusCode, 200)
})

t.test('a block refuses bookings, and bookings refuse a block', async (t) => {
  const { id: unita_id } = await unit()
  const { data } = (await block({ unita_id, dal: first, al: day(2) })).json<{ data: Block }>()
  t.match((await call('POST', BOOKINGS, booking({ unita_id }))).json(),
    { error: 'L’unità è occupata dal 21/11/2026 al 23/11/2026 da un blocco' })
  const later = await create(call, { unita_id, check_in: day(2) })
  t.equal((await block({ unita_id, dal: day(4), al: day(9) })).statusCode, 409)
  t.same((await call('GET', `${BLOCKS}?unita_id=${unita_id}&da=${day(1)}&a=${day(1)}`)).json().data, [data])
  t.same((await call('GET', `${BLOCKS}?unita_id=${unita_id}&da=${day(2)}`)).json().data, [], 'it ends before')
  t.equal((await call('DELETE', `${BLOCKS}/${data.id}`)).statusCode, 200)
  t.equal((await put(later.id, { check_in: first })).statusCode, 200)
  t.equal((await call('DELETE', `${BLOCKS}/${data.id}`)).json<ErrorBody>().codice, 'BLOCCO_NON_TROVATO')
  t.same(fieldsAtFault(await block({ unita_id, dal: first, al: first })), ['al'])
})

t.test('the list of free units has those with room that are in use and free in every night', async (t) => {
  const [small, large, closed] = [
    await unit({ ordine: 100 }), await unit({ ospiti_massimi: 4, ordine: 101 }),
    await unit({ attiva_a: day(1), ordine: 102 })
  ]
  const free = async (query: string) =>
    (await call('GET', `${UNITS}/disponibilita?${query}`)).json<{ data: Unit[] }>().data.map(({ id }) => id)
      .filter((id) => [small, large, closed].some((each) => each.id === id))
  t.same(await free(`da=${first}&a=${day(2)}`), [small.id, large.id, closed.id])
  t.same(await free(`da=${first}&a=${day(3)}`), [small.id, large.id], 'the last day of use is a night')
  t.same(await free(`da=${first}&a=${day(2)}&ospiti=3`), [large.id])
  await create(call, { unita_id: small.id })
  t.same(await free(`da=${day(2)}&a=${day(5)}`), [large.id])
  t.same(fieldsAtFault(await call('GET', `${UNITS}/disponibilita?da=${first}&a=${first}`)), ['a'])
  t.same(fieldsAtFault(await call('POST', BOOKINGS, booking({ unita_id: closed.id }))), ['unita_id'])
  t.same(fieldsAtFault(await call('POST', BOOKINGS, booking({ unita_id: 1_000_000 }))), ['unita_id'])
  t.equal((await call('PUT', `${UNITS}/${small.id}`, { attiva_a: day(1) })).json<ErrorBody>().codice, 'UNITA_IN_USO')
})

t.test('a free unit is assigned once, the smallest that has room', async (t) => {
  await sql`delete from prenotazioni`
  await sql`delete from unita`
  const [flat, room] = [await unit({ ospiti_massimi: 6 }), await unit()]
  const [one, two, three] = await Promise.all([1, 2, 3].map(() => create(call)))
  const assigned = async (id: number) => (await assign(id)).json<{ data: Booking }>().data.unita_id
  t.equal(await assigned(one!.id), room.id)
  t.equal(await assigned(one!.id), room.id, 'a second call changes nothing')
  t.equal(await assigned(two!.id), flat.id)
  t.match((await assign(three!.id)).json(), {
    codice: 'NESSUNA_UNITA_LIBERA', error: 'Nessuna unità per 2 ospiti è libera dal 21/11/2026 al 24/11/2026'
  })
  t.same((await list(call, '?senza_unita=true')).map(({ id }) => id), [three!.id])
  t.same((await list(call, `?unita_id=${flat.id}`)).map(({ id }) => id), [two!.id])
  t.match((await put(one!.id, { unita_id: null, gruppo: 'Famiglia Verdi' })).json(), { data: { unita_id: null } })
  t.same((await list(call, '?gruppo=Famiglia%20Verdi')).map(({ id }) => id), [one!.id])
})

t.test('the calendar lists stays, blocks and free nights of each unit, and stays to be assigned', async (t) => {
  await sql`delete from prenotazioni`
  await sql`delete from unita`
  const [room, other] = [await unit({ attiva_a: day(9) }), await unit({ nome: 'Zenzero', attiva_a: day(-2) })]
  const stay = await create(call, { unita_id: room.id, gruppo: 'Verdi' })
  const without = await create(call)
  const cancelled = await create(call, { unita_id: room.id, check_in: day(3), stato: 'annullata' })
  const { data: blocked } = (await block({ unita_id: room.id, dal: day(4), al: day(6) })).json<{ data: Block }>()
  const bar = ({ id, check_in: dal, check_out: al, gruppo }: Booking) =>
    ({ id, titolo: 'Anna Bianchi', dal, al, ospiti: 2, gruppo, url: `/prenotazioni/${id}` })
  t.same((await call('GET', `/api/v1/calendario?da=${day(1)}&a=${day(20)}`)).json(), {
    data: [{
      unita: room,
      prenotazioni: [bar(stay)],
      blocchi: [blocked],
      liberi: [{ dal: day(3), al: day(4) }, { dal: day(6), al: day(10) }]
    }],
    da_assegnare: [bar(without)]
  })
  t.ok(cancelled.id > 0 && other.id > 0)
  t.same((await call('GET', `/api/v1/calendario?da=${day(-9)}&a=${day(-2)}`)).json().data.length, 2, 'while in use')
  t.same(fieldsAtFault(await call('GET', `/api/v1/calendario?da=${first}&a=${first}`)), ['a'])
  t.same(fieldsAtFault(await call('GET', `/api/v1/calendario?da=${first}&a=${day(401)}`)), ['a'])
  await sql`insert into unita (nome, tipo, posti_letto, ospiti_massimi, ordine)
    select 'N' || n, 'camera', 2, 2, n from generate_series(1, 250) n`
  const many = (await call('GET', `/api/v1/calendario?da=${day(1)}&a=${day(20)}`)).json().data as { unita: Unit }[]
  t.same(many.map(({ unita }) => unita.ordine), Array.from({ length: 251 }, (_, at) => at), 'in batches')
})

t.test('channel, price and notes are stored, and a price without currency is in euro', async (t) => {
  const made = await create(call, { canale: 'Booking.com', prezzo: 24_000, note: 'Arriva\ntardi' })
  t.match(made, { canale: 'Booking.com', prezzo: 24_000, valuta: 'EUR', note: 'Arriva\ntardi' })
  t.match((await put(made.id, { valuta: 'usd', note: '' })).json(), { data: { valuta: 'USD', note: null } })
  t.match((await put(made.id, { prezzo: null })).json(), { data: { prezzo: null } })
})

t.test('one of twenty concurrent bookings of a unit is stored', async (t) => {
  const { id: unita_id } = await unit()
  const answers = await Promise.all(Array.from({ length: 20 }, (_, guest) =>
    call('POST', BOOKINGS, booking({ unita_id, check_in: day(guest % 3) }))))
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [201, ...Array(19).fill(409)])
})

t.test('without the exclusion constraint, locks still refuse overlapping bookings', async (t) => {
  await sql`alter table occupazione drop constraint occupazione_senza_sovrapposizioni`
  t.teardown(() => sql`select occupazione_vincolo()`)
  const { id: unita_id } = await unit()
  const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', BOOKINGS, booking({ unita_id }))))
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [201, ...Array(19).fill(409)])
})

/** A booking (with an id) or a block of the model. */
interface Nights { unita_id: number | null, dal: string, al: string, isConfirmed: boolean, id?: number }

function overlaps (others: readonly Nights[], one: Nights): boolean {
  return one.isConfirmed && one.unita_id !== null && others.some(({ unita_id, dal, al, isConfirmed }) =>
    isConfirmed && unita_id === one.unita_id && dal < one.al && al > one.dal)
}

t.test('the table of occupied nights equals a model after random assignments, moves and blocks', async (t) => {
  await sql`delete from prenotazioni`
  await sql`delete from unita`
  const units = [(await unit()).id, (await unit()).id]
  const nights = fc.record({
    unita_id: fc.option(fc.constantFrom(...units)), from: fc.nat(8), count: fc.integer({ min: 1, max: 4 })
  }).map(({ unita_id, from, count }) => ({ unita_id, dal: day(from), al: day(from + count) }))
  const step = fc.record({
    kind: fc.constantFrom('book', 'block', 'move', 'cancel', 'confirm', 'assign', 'unblock'), nights, at: fc.nat(9)
  })
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
    await sql`delete from prenotazioni`
    await sql`delete from blocchi`
    const model: Nights[] = []
    for (const { kind, nights, at } of steps) {
      const added = { ...nights, isConfirmed: true }
      const { unita_id, dal: check_in, al: check_out } = nights
      const bookings = model.filter(({ id }) => id !== undefined)
      const target = bookings[at % bookings.length]
      if (kind === 'block') await blockNights(model, added)
      else if (kind === 'unblock') await unblock(model)
      else if (kind === 'book') {
        const made = await call('POST', BOOKINGS, booking({ unita_id, check_in, check_out, numero_notti: undefined }))
        t.equal(made.statusCode, overlaps(model, added) ? 409 : 201)
        if (made.statusCode === 201) model.push({ ...added, id: made.json<{ data: Booking }>().data.id })
      } else if (kind === 'assign' && target) {
        await assignFree(model, target)
      } else if (target) {
        const next = kind === 'move' ? { ...target, ...nights } : { ...target, isConfirmed: kind === 'confirm' }
        const change = kind === 'move'
          ? { unita_id, check_in, check_out }
          : { stato: kind === 'confirm' ? 'confermata' : 'annullata' }
        const { statusCode } = await put(target.id!, change)
        t.equal(statusCode, overlaps(model.filter((other) => other !== target), next) ? 409 : 200)
        if (statusCode === 200) Object.assign(target, next)
      }
    }
    await checkOccupied(model)
  }), { numRuns: 25 })

  /** The rooms are equal, so that the first free one in the list is the one to assign. */
  async function assignFree (model: readonly Nights[], target: Nights): Promise<void> {
    const others = model.filter((other) => other !== target)
    const free = units.find((unita_id) => !overlaps(others, { ...target, unita_id, isConfirmed: true }))
    const wanted = target.unita_id ?? free
    const { statusCode } = await assign(target.id!)
    t.equal(statusCode, wanted === undefined ? 409 : 200)
    if (wanted !== undefined) target.unita_id = wanted
  }

  async function blockNights (model: Nights[], added: Nights): Promise<void> {
    const { unita_id, dal, al } = added
    if (unita_id === null) return
    const { statusCode } = await block({ unita_id, dal, al })
    t.equal(statusCode, overlaps(model, added) ? 409 : 201)
    if (statusCode === 201) model.push(added)
  }

  async function unblock (model: Nights[]): Promise<void> {
    const blocked = model.find(({ id }) => id === undefined)
    if (blocked === undefined) return
    const { unita_id, dal } = blocked
    const response = await call('GET', `${BLOCKS}?unita_id=${unita_id}&da=${dal}&a=${dal}`)
    const { data } = response.json<{ data: Block[] }>()
    t.equal((await call('DELETE', `${BLOCKS}/${data[0]!.id}`)).statusCode, 200)
    model.splice(model.indexOf(blocked), 1)
  }

  async function checkOccupied (model: readonly Nights[]): Promise<void> {
    const rows = await sql`select unita_id, dal::text, al::text from occupazione order by 1, 2`
    const expected = model.filter(({ isConfirmed, unita_id }) => isConfirmed && unita_id !== null)
      .map(({ unita_id, dal, al }) => ({ unita_id, dal, al }))
      .sort((a, b) => a.unita_id! - b.unita_id! || a.dal.localeCompare(b.dal))
    t.same([...rows], expected)
  }
})

t.test('twenty concurrent changes occupy no night twice, and each accepted one is written', async (t) => {
  await sql`delete from prenotazioni`
  await sql`delete from unita`
  const units = [(await unit()).id, (await unit()).id]
  const change = fc.record({
    kind: fc.constantFrom('book', 'block', 'move', 'cancel', 'assign'),
    unita_id: fc.constantFrom(...units),
    from: fc.nat(5),
    count: fc.integer({ min: 1, max: 3 })
  })
  await fc.assert(fc.asyncProperty(fc.array(change, { minLength: 20, maxLength: 20 }), async (changes) => {
    await sql`delete from prenotazioni`
    await sql`delete from blocchi`
    const stored = await Promise.all(changes.map(() => create(call)))
    const answers = await Promise.all(changes.map(({ kind, unita_id, from, count }, at) => {
      const { id } = stored[at]!
      const days = { check_in: day(from), check_out: day(from + count) }
      if (kind === 'book') return call('POST', BOOKINGS, booking({ unita_id, ...days, numero_notti: undefined }))
      if (kind === 'block') return block({ unita_id, dal: days.check_in, al: days.check_out })
      if (kind === 'assign') return assign(id)
      return put(id, { unita_id, ...kind === 'move' ? days : { stato: 'annullata' } })
    }))
    t.same(answers.map(({ statusCode }) => statusCode).filter((status) => ![200, 201, 409].includes(status)), [])
    const twice = await sql`select from occupazione a join occupazione b on a.unita_id = b.unita_id and a.ctid < b.ctid
      and a.dal < b.al and b.dal < a.al`
    t.equal(twice.length, 0)
    const written = await sql`select prenotazione_id from occupazione where prenotazione_id is not null order by 1`
    const confirmed = await sql`
      select id from prenotazioni where unita_id is not null and stato = 'confermata' order by 1`
    t.same(written.map(({ prenotazione_id: id }) => id as number), confirmed.map(({ id }) => id as number))
    const blocks = answers.filter(({ statusCode }, at) => changes[at]!.kind === 'block' && statusCode === 201)
    t.match(await sql`select count(*)::int as blocks from occupazione where blocco_id is not null`,
      [{ blocks: blocks.length }])
  }), { numRuns: 8 })
})
