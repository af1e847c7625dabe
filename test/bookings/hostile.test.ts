import fc from 'fast-check'
import t from 'tap'
import type { LightMyRequestResponse } from 'fastify'
import { BookingCreation, BookingQuery, CalendarQuery, BOOKING_SORTS } from '#schemas/booking.ts'
import type { ErrorBody } from '#schemas/common.ts'
import { GuestFields } from '#schemas/guest.ts'
import { anyCharacter } from '#test/any-character.ts'
import { API_KEY, build, type TestApp } from '#test/helper.ts'
import { booking, BOOKINGS, CALENDAR, create } from './samples.ts'

const RUNS = { numRuns: 70 }

const { app, call } = await build(t)
const { id } = await create(call, { numero_ospiti: 4 })

/** Texts that have broken parsers before: of days, instants, numbers, patterns, SQL and paths. */
const nasty = fc.constantFrom(
  '',
  ' ',
  '0',
  '-1',
  '1e400',
  '-1e400',
  'NaN',
  'null',
  'undefined',
  '2147483648',
  '9'.repeat(30),
  '\u0000',
  '\ud800',
  '\u2028',
  '\ufeff',
  '%',
  '%00',
  '_',
  '\\',
  '\\%',
  "'",
  '"',
  '$1',
  "'; drop table prenotazioni; --",
  '../..',
  '__proto__',
  'constructor',
  'a'.repeat(300),
  '0000-01-01',
  '9999-12-31',
  '10000-01-01',
  '2026-02-30',
  'infinity',
  'now',
  'epoch',
  '2026-01-01 BC',
  '2026-01-01T00:00:00+23:00',
  '9999-12-31T23:59:59Z',
  '9999-12-31T23:59:60Z',
  '0001-01-01T00:00:00+14:00',
  '2026-01-01T00:00:00.' + '9'.repeat(30) + 'Z',
  '2026-01-01 00:00:00 Foo/Bar',
  '2026-01-01 00:00:00+99'
)
const text = mostly(nasty, fc.string({ unit: anyCharacter, maxLength: 40 }))
const value = fc.oneof(
  mostly(text, fc.jsonValue()),
  fc.constantFrom(0, -0, -1, 1.5, 1e308, 2 ** 31, true, null, [], {})
)
const header = fc.oneof(
  fc.constantFrom(
    '*',
    '"1"',
    'W/"1"',
    '"',
    '""',
    ',',
    '"1", *',
    '"9999999999"',
    '"99999999999999999999"',
    '\u00e0'.repeat(300)
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x20, max: 0xff })
      .filter((code) => code !== 0x7f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 60
  })
)

function mostly<T, U> (often: fc.Arbitrary<T>, seldom: fc.Arbitrary<U>): fc.Arbitrary<T | U> {
  return fc.oneof({ weight: 4, arbitrary: often }, { weight: 1, arbitrary: seldom })
}

/** A right object of which a field here and there has any value at all. */
function spoilt (right: object, names: readonly string[]): fc.Arbitrary<object> {
  return fc
    .dictionary(fc.constantFrom(...names, 'altro'), value, { maxKeys: 3, noNullPrototype: true })
    .map((changes) => ({ ...right, ...changes }))
}

/** Any query of these parameters. */
function queries (names: readonly string[], likely: Record<string, fc.Arbitrary<string>> = {}): fc.Arbitrary<string> {
  const one = fc
    .constantFrom(...names, 'altro')
    .chain((name) => fc.tuple(fc.constant(name), fc.oneof(text, likely[name] ?? text)))
  return fc
    .array(one, { maxLength: 4 })
    .map((pairs) =>
      pairs.map((pair) => pair.map((each) => encodeURIComponent(each.toWellFormed())).join('=')).join('&')
    )
}

/** An answer below 500 that is, when it is an error, in the shape of all errors. */
function civil (response: LightMyRequestResponse): boolean {
  if (response.statusCode >= 500) return false
  if (response.statusCode < 400) return true
  const { error, status, codice, requestId } = response.json<ErrorBody>()
  return (
    status === response.statusCode &&
    [error, codice, requestId].every((part) => typeof part === 'string' && part !== '')
  )
}

async function withstands (requests: fc.Arbitrary<Parameters<TestApp['call']>>): Promise<void> {
  await fc.assert(fc.asyncProperty(requests, async (request) => civil(await call(...request))), RUNS)
}

t.test('no creation makes the server fail', async () => {
  const body = spoilt(booking(), Object.keys(BookingCreation.properties))
  await withstands(fc.tuple(fc.constant('POST' as const), fc.constant(BOOKINGS), body))
  await withstands(
    fc.tuple(
      fc.constant('POST' as const),
      fc.constant(BOOKINGS),
      body,
      header.map((key) => ({ 'idempotency-key': key }))
    )
  )
})

t.test('no update makes the server fail', async () => {
  const names = [...Object.keys(BookingCreation.properties), 'id', 'ospiti']
  await withstands(
    fc.tuple(
      fc.constant('PUT' as const),
      fc.constant(`${BOOKINGS}/${id}`),
      spoilt({}, names),
      header.map((tag) => ({ 'if-match': tag }))
    )
  )
  await withstands(fc.tuple(fc.constant('PUT' as const), fc.constant(`${BOOKINGS}/${id}`), spoilt({}, names)))
})

t.test('no detail makes the server fail, whatever the path and the tag', async () => {
  const path = text.map((part) => `${BOOKINGS}/${encodeURIComponent(part.toWellFormed())}`)
  const tag = header.map((tag) => ({ 'if-none-match': tag }))
  await withstands(
    fc.tuple(fc.constant('GET' as const), fc.oneof(path, fc.constant(`${BOOKINGS}/${id}`)), fc.constant(undefined), tag)
  )
  await withstands(fc.tuple(fc.constant('PUT' as const), path, fc.constant({ lingua: 'EN' })))
})

t.test('no calendar makes the server fail', async () => {
  await withstands(
    fc.tuple(
      fc.constant('GET' as const),
      queries(Object.keys(CalendarQuery.properties)).map((query) => `${CALENDAR}?${query}`)
    )
  )
  const day = fc.constantFrom('0001-01-01', '0999-12-31', '2026-03-29', '9999-12-31')
  const time = fc.constantFrom('', 'T00:00:00', 'T00:00:00.000000001', 'T23:59:59')
  const moment = fc.tuple(day, time, fc.constantFrom('', 'Z', '+23:59', '-23:59', ' 01:00'))
    .map(([day, time, zone]) => encodeURIComponent(time === '' ? day : day + time + zone))
  await withstands(
    fc.tuple(
      fc.constant('GET' as const),
      fc.tuple(moment, moment).map(([start, end]) => `${CALENDAR}?start=${start}&end=${end}`)
    )
  )
})

t.test('no list makes the server fail, whatever its filters', async () => {
  const query = queries(Object.keys(BookingQuery.properties), {
    sort: fc.constantFrom(...BOOKING_SORTS),
    limit: fc.constant('2')
  })
  await withstands(fc.tuple(fc.constant('GET' as const), query.map((query) => `${BOOKINGS}?${query}`)))
})

t.test('a forged cursor is an ordinary page or a 400', async (t) => {
  const sort = fc.constantFrom(...BOOKING_SORTS)
  const likely = fc.constantFrom(
    '1',
    '2026-01-01',
    '2026-99-99',
    '2026-01-01 00:00:00+00',
    '2026-01-01 99:00:00.5+00',
    '9999999999'
  )
  const position = fc.tuple(sort, fc.oneof(text, likely), fc.oneof(fc.integer(), fc.double(), value))
    .map((parts) => ({ sort: parts[0], json: JSON.stringify(parts) }))
  const forged = mostly(position, fc.record({ sort, json: fc.oneof(fc.json(), text) }))
  const seen = new Set<number>()
  await fc.assert(fc.asyncProperty(forged, async ({ sort, json }) => {
    const response = await call(
      'GET',
      `${BOOKINGS}?sort=${sort}&limit=2&cursor=${Buffer.from(json).toString('base64url')}`
    )
    seen.add(response.statusCode)
    return civil(response) && [200, 400].includes(response.statusCode)
  }), { numRuns: 300 })
  t.same([...seen].sort(), [200, 400])
})

t.test('no guest list makes the server fail', async () => {
  const guest = mostly(spoilt({ nome: 'Anna', cognome: 'Bianchi' }, GuestFields), value)
  const dati = mostly(fc.array(guest, { maxLength: 5 }), value)
  const body = fc.record({ prenotazione_id: mostly(fc.constant(id), value), dati }, { noNullPrototype: true })
  await withstands(fc.tuple(fc.constant('POST' as const), fc.constant('/api/saveOspiti'), body))
})

t.test('no deletion makes the server fail', async () => {
  // Beyond the bookings that the other tests need.
  const wanted = mostly(fc.integer({ min: 1_000_000, max: 2_147_483_647 }), value)
  const body = fc.oneof(fc.array(wanted, { maxLength: 6 }), value).map((ids) => ({ ids }))
  await withstands(fc.tuple(fc.constant('POST' as const), fc.constant(`${BOOKINGS}/delete-bulk`), body))
})

t.test('no bytes in the place of a body make the server fail', async () => {
  const payload = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.json().map((json) => Buffer.from(json)),
    fc.json().map((json) => Buffer.from(json.slice(0, -1)))
  )
  const route = fc.oneof(
    fc.constantFrom(BOOKINGS, `${BOOKINGS}/delete-bulk`, '/api/saveOspiti').map((url) => ['POST', url] as const),
    fc.constant(['PUT', `${BOOKINGS}/${id}`] as const)
  )
  const type = fc.constantFrom(
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'application/x-www-form-urlencoded',
    'x'
  )
  await fc.assert(
    fc.asyncProperty(route, payload, type, async ([method, url], payload, contentType) =>
      civil(await app.inject({ method, url, payload, headers: { 'x-api-key': API_KEY, 'content-type': contentType } }))
    ),
    RUNS
  )
})

t.test('after all that, the service answers as before', async (t) => {
  t.equal((await call('GET', `${BOOKINGS}/${id}`)).statusCode, 200)
  t.equal((await call('GET', BOOKINGS)).statusCode, 200)
})
