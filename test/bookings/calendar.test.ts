import fc from 'fast-check'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { daysOf } from '#test/days.ts'
import { build, type TestApp } from '#test/helper.ts'
import { booking, BOOKINGS, CALENDAR, create, fieldsAtFault } from './samples.ts'

interface Entry { id: number, title: string, start: string, end: string, url: string }

const response = (call: TestApp['call'], query: Record<string, string>) =>
  call('GET', `${CALENDAR}?${new URLSearchParams(query)}`)

const { app, call } = await build(t)

/** Deletes all bookings and restarts the ids at 1. */
const empty = () => app.sql`truncate prenotazioni restart identity cascade`
let stay: Booking

async function shown (query: Record<string, string>): Promise<boolean> {
  const entries = (await response(call, query)).json<Entry[]>()
  return entries.some(({ id }) => id === stay.id)
}

t.test('an entry has the form that FullCalendar reads, and ends on the check-out day', async (t) => {
  await empty()
  stay = await create(call, { nome_cognome: 'Anna Bianchi', check_in: '2026-11-21', check_out: '2026-11-24' })
  t.same((await call('GET', CALENDAR)).json(), [
    {
      id: stay.id,
      title: 'Anna Bianchi',
      start: '2026-11-21',
      end: '2026-11-24',
      url: `/prenotazioni/${stay.id}`,
      stato: 'confermata'
    }
  ])
})

t.test('an entry is valid and compact JSON, even with special characters in its title', async (t) => {
  const { id } = stay
  for (const title of ['Anna "la rossa" \\ 100 % %1$s', 'Zoë\n\t\u0001 😀', '']) {
    await app.sql`update prenotazioni set nome_cognome = ${title} where id = ${id}`
    t.equal((await call('GET', CALENDAR)).body, JSON.stringify([{
      id, title, start: '2026-11-21', end: '2026-11-24', url: `/prenotazioni/${id}`, stato: 'confermata'
    }]))
  }
})

t.test('both ends of a span apply, and its end is exclusive', async (t) => {
  t.ok(await shown({ start: '2026-11-23', end: '2026-11-24' }))
  t.notOk(await shown({ start: '2026-11-24', end: '2026-11-30' }), 'the last night is the one before the departure')
  t.ok(await shown({ start: '2026-11-01', end: '2026-11-22' }))
  t.notOk(await shown({ start: '2026-11-01', end: '2026-11-21' }))
  t.ok(await shown({ start: '2026-11-22', end: '2026-11-23' }), 'a span inside the stay')
})

t.test('with one bound the other side has no limit', async (t) => {
  t.ok(await shown({ start: '2026-11-23' }))
  t.notOk(await shown({ start: '2026-11-24' }))
  t.ok(await shown({ end: '2026-11-22' }))
  t.notOk(await shown({ end: '2026-11-21' }))
})

t.test('an instant with an offset, or with none, means the day written in it', async (t) => {
  const midnights =
    ['T00:00:00+01:00', 'T00:00:00-08:00', 'T00:00:00+0200', 'T00:00:00', 'T00:00', 'T00:00:00.000+14:00']
  for (const rest of midnights) {
    t.notOk(await shown({ start: `2026-11-24${rest}` }), `start ${rest}`)
    t.ok(await shown({ start: `2026-11-23${rest}` }), `start ${rest}`)
    t.notOk(await shown({ end: `2026-11-21${rest}` }), `end ${rest}`)
    t.ok(await shown({ end: `2026-11-22${rest}` }), `end ${rest}`)
  }
})

t.test('a + that is not percent-encoded is accepted', async (t) => {
  t.same((await call('GET', `${CALENDAR}?start=2026-11-01T00:00:00+01:00&end=2026-11-21T00:00:00+01:00`)).json(), [])
  t.equal(
    (await call('GET', `${CALENDAR}?start=2026-11-01T00:00:00+01:00&end=2026-11-22T00:00:00+01:00`)).json<Entry[]>()
      .length,
    1
  )
})

t.test('an instant in UTC means the day in Rome', async (t) => {
  t.notOk(await shown({ start: '2026-11-23T23:00:00Z' }), 'midnight of the 24th in Rome')
  t.ok(await shown({ start: '2026-11-23T22:59:59Z' }))
  t.notOk(await shown({ end: '2026-11-20T23:00:00Z' }), 'midnight of the 21st in Rome')
  t.ok(await shown({ end: '2026-11-20T23:00:01Z' }))
})

t.test('an end after midnight includes its day', async (t) => {
  for (const end of ['2026-11-21T00:00:01+01:00', '2026-11-21T23:59:59', '2026-11-21T00:00:00.001+01:00']) {
    t.ok(await shown({ end }), end)
  }
})

t.test('FullCalendar\'s other parameters are accepted', async (t) => {
  t.ok(
    await shown({
      start: '2026-11-01T00:00:00+01:00',
      end: '2026-12-01T00:00:00+01:00',
      timeZone: 'Europe/Rome',
      _: '1764000000000'
    })
  )
})

t.test('a bound that is neither a day nor an instant is answered with a 400 that names it', async (t) => {
  const wrong = [
    'oggi', '2026-02-30', '2026-02-30T00:00:00Z', '2026-11-21T24:00:00+01:00', '2026-11-21T10:60:00Z', '2026-11-21T::',
    '2026-11-21T10', '2026-11-21 10:00', '2026-11', '0000-01-01'
  ]
  for (const bound of wrong) {
    t.same(fieldsAtFault(await response(call, { start: bound })), ['start'], bound)
    t.same(fieldsAtFault(await response(call, { end: bound })), ['end'], bound)
  }
})

t.test('an end before its start is refused with a 400 that names it, and an empty span returns no entry', async (t) => {
  t.same(fieldsAtFault(await response(call, { start: '2026-11-23', end: '2026-11-22' })), ['end'])
  t.same((await response(call, { start: '2026-11-22', end: '2026-11-22' })).json(), [])
  t.same(fieldsAtFault(await response(call, { start: '2026-02-30', end: '9999-99-99' })), ['start', 'end'])
})

t.test('the first and the last day of the calendar are valid bounds', async (t) => {
  for (const end of ['9999-12-31', '9999-12-31T12:00:00+01:00', '9999-12-31T23:30:00Z', '9999-12-31T23:59:59.999Z']) {
    t.ok(await shown({ start: '0001-01-01', end }), end)
  }
  for (const start of ['0001-01-01T00:00:00Z', '0500-06-01T12:00:00Z', '0999-12-31T23:30:00Z']) {
    t.ok(await shown({ start }), start)
  }
  for (const start of ['9999-12-31T23:30:00Z', '9999-12-31T12:00:00+01:00']) {
    t.same((await response(call, { start, end: '9999-12-31' })).json(), [], start)
  }
})

t.test('an unknown parameter is answered with a 400 that names it', async (t) => {
  t.same(fieldsAtFault(await response(call, { da: '2026-11-01' })), ['da'])
})

t.test('an entry is returned exactly when a night of its stay is in the span, in order of arrival', async (t) => {
  await empty()
  const night = fc.integer({ min: 0, max: 40 }).map((index) => daysOf('2026-03-10', '2026-04-25')[index]!)
  const stays = fc.sample(fc.record({ check_in: night, numero_notti: fc.integer({ min: 1, max: 12 }) }), 40)
  for (const each of stays) await call('POST', BOOKINGS, booking(each))
  const all = (await call('GET', CALENDAR)).json<Entry[]>()
  t.equal(all.length, stays.length)

  /** Several spellings of the midnight at which a day begins. In that spring, clocks changed on 29 March. */
  const bound = fc.tuple(night, fc.constantFrom('', 'T00:00:00', 'T00:00:00+01:00', 'Z')).map(([day, form]) => {
    const before = daysOf('2026-03-09', day).at(-1)
    return { day, text: form === 'Z' ? `${before}T${day > '2026-03-29' ? 22 : 23}:00:00Z` : day + form }
  })
  await fc.assert(fc.asyncProperty(bound, bound, async (one, other) => {
    const [start, end] = one.day <= other.day ? [one, other] : [other, one]
    const span = new Set(daysOf(start.day, end.day))
    const expected = all.filter((entry) => daysOf(entry.start, entry.end).some((day) => span.has(day)))
      .sort((a, b) => a.start < b.start ? -1 : a.start > b.start ? 1 : a.id - b.id)
    t.same((await response(call, { start: start.text, end: end.text })).json(), expected)
  }), { numRuns: 100 })
})
