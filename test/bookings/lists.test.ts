import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { type Booking, BOOKING_SORTS } from '#schemas/booking.ts'
import { anyCharacter } from '#test/any-character.ts'
import { testDatabase } from '#test/database.ts'
import { build, type TestApp } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, list } from './samples.ts'

const { url, sql: other } = await testDatabase(t)
const { app, call, token } = await build(t, { DATABASE_URL: url })

/** Deletes all bookings and restarts the ids at 1. */
const empty = () => app.sql`truncate prenotazioni restart identity cascade`
const given = [
  {
    nome_cognome: 'Anna Bianchi', email: 'anna@example.com', idf_gen: 'BK-100%', check_in: '2026-11-01', paese_id: 380
  },
  { nome_cognome: 'Bruno Rossi', email: null, idf_gen: 'BK_200', check_in: '2026-11-02', paese_id: 276 },
  { nome_cognome: "Carla d'Aosta", email: 'carla_d@example.org', idf_gen: null, check_in: '2026-11-03', paese_id: 380 },
  { nome_cognome: 'Dörte \\\\ Müller', email: null, idf_gen: 'BKX200', check_in: '2026-11-03', paese_id: 276 }
]
const [anna, bruno, carla, doerte] = await Promise.all(given.map((each) => create(call, each))).then((all) =>
  all.map(({ id }) => id)
)

/** The ids that a query finds, in ascending order. */
async function found (query: Record<string, string>): Promise<number[]> {
  return (await list(call, `?${new URLSearchParams(query)}`)).map(({ id }) => id).sort((a, b) => a - b)
}
const ids = (...wanted: (number | undefined)[]) => wanted.map(Number).sort((a, b) => a - b)
const fault = async (query: Record<string, string>) =>
  fieldsAtFault(await call('GET', `${BOOKINGS}?${new URLSearchParams(query)}`))

t.test('without a query the list contains all bookings, by id, each in the form of its detail', async (t) => {
  const all = await list(call)
  t.same(all.map(({ id }) => id), ids(anna, bruno, carla, doerte))
  for (const each of all) {
    const { ospiti: _, ...rest } = (await call('GET', `${BOOKINGS}/${each.id}`)).json<{ data: { ospiti: unknown } }>()
      .data
    t.same(each, rest)
  }
})

t.test('q searches name, code and e-mail, ignoring case', async (t) => {
  t.same(await found({ q: 'bianchi' }), ids(anna))
  t.same(await found({ q: 'bk-1' }), ids(anna))
  t.same(await found({ q: 'EXAMPLE.ORG' }), ids(carla))
  t.same(await found({ q: 'D\'AOSTA' }), ids(carla))
  t.same(await found({ q: 'nessuno' }), [])
})

t.test('%, _ and \\ have no special meaning in q', async (t) => {
  t.same(await found({ q: '%' }), [])
  t.same(await found({ q: 'BK_200' }), ids(bruno))
  t.same(await found({ q: '_' }), [])
  t.same(await found({ q: '\\' }), [])
  t.same(await found({ q: '\\%' }), [])
})

t.test('check_in_da and check_in_a are both inclusive', async (t) => {
  t.same(await found({ check_in_da: '2026-11-02' }), ids(bruno, carla, doerte))
  t.same(await found({ check_in_a: '2026-11-02' }), ids(anna, bruno))
  t.same(await found({ check_in_da: '2026-11-02', check_in_a: '2026-11-02' }), ids(bruno))
  t.same(await found({ check_in_da: '2026-11-03', check_in_a: '2026-11-02' }), [])
})

t.test('paese_id filters by country', async (t) => {
  t.same(await found({ paese_id: '276' }), ids(bruno, doerte))
  t.same(await found({ paese_id: '4' }), [])
})

t.test('updated_since is inclusive, and accepts a timestamp from the list', async (t) => {
  await app.sql`update prenotazioni set updated_at = '2026-01-05T10:00:00.123Z' where id = ${Number(anna)}`
  await app.sql`update prenotazioni set updated_at = '2026-01-05T10:00:00.124Z' where id <> ${Number(anna)}`
  t.equal((await found({ updated_since: '2026-01-05T10:00:00.123Z' })).length, 4)
  t.same(await found({ updated_since: '2026-01-05T10:00:00.124Z' }), ids(bruno, carla, doerte))
  t.same(await found({ updated_since: '2026-01-05T10:00:00.125Z' }), [])
  t.same(await found({ updated_since: '2026-01-05T12:00:00.124+02:00' }), ids(bruno, carla, doerte))
})

t.test('filters are combined, and the count of a page depends on them', async (t) => {
  t.same(await found({ q: 'bk', paese_id: '276', check_in_da: '2026-11-03' }), ids(doerte))
  const response = await call('GET', `${BOOKINGS}?paese_id=276&limit=1`)
  t.equal(response.headers['x-total-count'], '2')
  t.equal(response.json<{ data: unknown[] }>().data.length, 1)
})

t.test('the first page has the count, and later pages have it on request', async (t) => {
  const counted = async (query: string) => (await call('GET', `${BOOKINGS}?${query}`)).headers['x-total-count']
  for (const [filter, total] of [['', '4'], ['&paese_id=276', '2'], ['&paese_id=4', '0'], ['&q=bk', '3']] as const) {
    t.equal(await counted(`limit=1${filter}`), total, filter)
    t.equal(await counted(`limit=1${filter}&conteggio=false`), undefined)
  }
  for (const filter of ['', '&q=bk']) {
    const { headers: { link } } = await call('GET', `${BOOKINGS}?limit=1${filter}`)
    const next = /\?(.+)>/.exec(String(link))?.[1] ?? ''
    t.match(next, 'cursor=')
    t.equal(await counted(next), undefined)
    t.equal(await counted(`${next}&conteggio=true`), filter === '' ? '4' : '3')
  }
})

t.test('limit is from 1 to 1000', async (t) => {
  for (const limit of ['0', '-1', '1001', '1e400', '1.5', 'x']) t.same(await fault({ limit }), ['limit'], limit)
  t.equal((await list(call, '?limit=1')).length, 1)
  t.equal((await list(call, '?limit=1000')).length, 4)
})

t.test('the last page has no next page, even when it is full', async (t) => {
  for (const limit of [4, 5]) {
    const response = await call('GET', `${BOOKINGS}?limit=${limit}`)
    t.equal(response.headers.link, undefined)
    t.equal(response.headers['x-total-count'], '4')
  }
})

t.test('the URL of the next page contains the query', async (t) => {
  const response = await call('GET', `${BOOKINGS}?${new URLSearchParams({ sort: '-check_in', q: 'bk', limit: '1' })}`)
  const link = /^<([^>]+)>; rel="next"$/.exec(String(response.headers.link))?.[1] ?? ''
  const { pathname, searchParams } = new URL(link, 'http://localhost')
  t.equal(pathname, BOOKINGS)
  t.match(Object.fromEntries(searchParams), { sort: '-check_in', q: 'bk', limit: '1', cursor: /./ })
  t.same((await list(call, link.slice(BOOKINGS.length))).map(({ id }) => id), ids(bruno))
})

t.test('an API key in the query is not part of the next page\'s URL', async (t) => {
  const response = await app.inject({ url: `${BOOKINGS}?limit=1&api_key=chiave-di-prova-0123456789` })
  t.equal(response.statusCode, 200)
  t.notMatch(response.headers.link, /api_key|chiave/)
})

t.test('a cursor of another order, or an invalid one, is answered with a 400 that names it', async (t) => {
  const response = await call('GET', `${BOOKINGS}?limit=1&sort=check_in`)
  const cursor = /cursor=([^>]+)>/.exec(String(response.headers.link))?.[1] ?? ''
  t.same(await fault({ cursor, sort: 'check_in' }), [])
  for (const sort of ['id', '-check_in', 'updated_at']) t.same(await fault({ cursor, sort }), ['cursor'], sort)
  t.same(await fault({ cursor }), ['cursor'])
  for (const wrong of ['x', 'e30', '', '€', 'a'.repeat(201)]) t.same(await fault({ cursor: wrong }), ['cursor'], wrong)
})

t.test('a forged cursor returns a page or a 400', async (t) => {
  const sort = fc.constantFrom(...BOOKING_SORTS)
  const text = fc.oneof(
    fc.constantFrom('', '1', '2026-01-01', '2026-99-99', '2026-01-01 99:00:00.5+00', '9999999999', '\u0000', '\ud800'),
    fc.string({ unit: anyCharacter, maxLength: 40 })
  )
  const position = fc.tuple(sort, text, fc.oneof(fc.integer(), fc.double(), fc.jsonValue()))
    .map((parts) => ({ sort: parts[0], json: JSON.stringify(parts) }))
  const forged = fc.oneof({ weight: 4, arbitrary: position }, fc.record({ sort, json: fc.oneof(fc.json(), text) }))
  const seen = new Set<number>()
  await fc.assert(fc.asyncProperty(forged, async ({ sort, json }) => {
    const response = await call(
      'GET',
      `${BOOKINGS}?sort=${sort}&limit=2&cursor=${Buffer.from(json).toString('base64url')}`
    )
    seen.add(response.statusCode)
    return [200, 400].includes(response.statusCode)
  }), { numRuns: 300 })
  t.same([...seen].sort(), [200, 400])
})

t.test('a parameter that is unknown, repeated or invalid is answered with a 400 that names it', async (t) => {
  const wrong = {
    ...{ ordina: 'id', sort: 'nome_cognome', check_in_da: '2026-02-30', check_in_a: 'ieri' },
    ...{ paese_id: '0', updated_since: '2026-01-01' }
  }
  for (const [name, value] of Object.entries(wrong)) t.same(await fault({ [name]: value }), [name])
  t.same(await fault({ updated_since: '2026-01-01T00:00:00+23:00' }), ['updated_since'])
  t.same(fieldsAtFault(await call('GET', `${BOOKINGS}?q=a&q=b`)), ['q'])
})

t.test('a full list that fails before its first row is answered with a 500 with the error body', async (t) => {
  await app.sql`alter table prenotazioni rename to altrove`
  t.teardown(() => app.sql`alter table altrove rename to prenotazioni`)
  const response = await call('GET', BOOKINGS)
  t.equal(response.statusCode, 500)
  t.match(response.json(), { error: 'Errore interno del server', status: 500 })
})

type Call = TestApp['call']
type Sort = typeof BOOKING_SORTS[number]

/** Follows the links from the first page to the last. `between` runs before each page except the first. */
async function pages (
  call: Call,
  query: Record<string, string>,
  between: () => Promise<unknown> = async () => {}
): Promise<Booking[][]> {
  const found: Booking[][] = []
  let next: string | undefined = `${BOOKINGS}?${new URLSearchParams(query)}`
  while (next !== undefined) {
    if (found.length > 0) await between()
    const response = await call('GET', next)
    found.push(response.json<{ data: Booking[] }>().data)
    next = /^<(.+)>; rel="next"$/.exec(String(response.headers.link))?.[1]
  }
  return found
}

/** The expected order, by the values that the API returns. */
function ordered (bookings: readonly Booking[], sort: Sort): Booking[] {
  const name = sort.replace('-', '') as 'id' | 'check_in' | 'updated_at'
  const sign = sort.startsWith('-') ? -1 : 1
  return [...bookings].sort((a, b) => sign * (a[name] < b[name] ? -1 : a[name] > b[name] ? 1 : a.id - b.id))
}

const idsOf = (bookings: readonly Booking[]) => bookings.map(({ id }) => id)

t.test('thirty bookings with many ties', async (t) => {
  await empty()
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Anna Bianchi', 'IT', 1 + n % 2, date '2026-11-10' + n * 7 % 5, date '2026-11-13' + n * 7 % 5, 2
    from generate_series(0, 29) n`
  // Several rows have the same instant, in another order than the ids.
  await app.sql`
    update prenotazioni
    set updated_at = timestamptz '2026-01-01 00:00:00.5+00' + interval '1 millisecond' * (id * 11 % 7)`
  const all = await list(call)

  for (const sort of BOOKING_SORTS) {
    t.test(
      `sorted by ${sort}, the list is in order and equals its pages joined, with pages of any size`,
      async (t) => {
        const whole = await list(call, `?sort=${sort}`)
        t.same(whole, ordered(all, sort))
        await fc.assert(
          fc.asyncProperty(fc.integer({ min: 1, max: 31 }), async (limit) => {
            const found = await pages(call, { sort, limit: String(limit) })
            t.same(found.flat(), whole)
            t.ok(found.slice(0, -1).every((page) => page.length === limit))
          }),
          { numRuns: 4 }
        )
      }
    )
  }

  t.test('a filter applies to every page', async (t) => {
    const found = await pages(call, { sort: '-check_in', limit: '4', paese_id: '2' })
    t.same(found.flat(), ordered(all, '-check_in').filter(({ paese_id }) => paese_id === 2))
  })

  t.test('a cursor without limit has pages of a hundred', async (t) => {
    const response = await call('GET', `${BOOKINGS}?limit=10`)
    const cursor = new URL(
      /<(.+)>/.exec(String(response.headers.link))?.[1] ?? '',
      'http://localhost'
    ).searchParams.get('cursor')
    t.same(idsOf(await list(call, `?cursor=${cursor}`)), idsOf(all).slice(10))
  })

  for (const sort of BOOKING_SORTS) {
    t.test(
      `sorted by ${sort}, bookings created between two pages neither repeat nor hide others`,
      async (t) => {
        const before = idsOf(await list(call, `?sort=${sort}`))
        const found = idsOf(
          (
            await pages(call, { sort, limit: '7' }, async () => {
              await app.sql`
                insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
                select 'Anna Bianchi', 'IT', 380, date '2026-11-10' + n, date '2026-11-13' + n, 2
                from unnest(array[0, 2, 4]) n`
            })
          ).flat()
        )
        t.equal(new Set(found).size, found.length)
        t.same(found.filter((id) => before.includes(id)), before)
      }
    )
  }

  t.test('bookings deleted between two pages hide no other, even if the cursor names one of them', async (t) => {
    const before = idsOf(await list(call))
    const gone: number[] = []
    const found = idsOf((await pages(call, { limit: '20' }, async () => {
      gone.push(Number(before[20 * (gone.length + 1) - 1]))
      await call('POST', `${BOOKINGS}/delete-bulk`, { ids: gone })
    })).flat())
    t.same(found, before)
    t.same(idsOf(await list(call)), before.filter((id) => !gone.includes(id)))
  })
})

t.test('2,500 bookings are returned complete and in order', async (t) => {
  await empty()
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Ospite ' || n, 'IT', 380, date '2026-01-01' + n % 300, date '2026-01-02' + n % 300, 2
    from generate_series(1, 2500) n`
  const all = await list(call)
  t.equal(all.length, 2500)
  t.same(idsOf(all), Array.from({ length: 2500 }, (_, index) => index + 1))
  t.same(idsOf(await list(call, '?sort=-check_in')), idsOf(ordered(all, '-check_in')))
  t.same(idsOf((await pages(call, { sort: 'check_in', limit: '1000' })).flat()), idsOf(ordered(all, 'check_in')))
  t.equal(
    (await list(call, '?check_in_a=2026-05-01')).length,
    all.filter(({ check_in }) => check_in <= '2026-05-01').length
  )
})

t.test('a list of exactly one batch, and an empty one, are well-formed', async (t) => {
  await empty()
  t.equal((await call('GET', BOOKINGS)).body, '{"data":[]}')
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Ospite', 'IT', 380, '2026-01-01', '2026-01-02', 2 from generate_series(1, 1000)`
  t.equal((await list(call)).length, 1000)
  await create(call)
  t.equal((await list(call)).length, 1001)
})

t.test('searches use an index', async (t) => {
  await create(call, { nome_cognome: 'Lucia Moretti' })
  await create(call)
  const plan = await app.sql.begin(async (tx) => {
    // With so few bookings PostgreSQL would not use an index.
    await tx`set local enable_seqscan = off`
    return await Promise.all(['prenotazioni', 'ospiti'].map((table) => (
      tx.unsafe(`explain select id from ${table} where ricerca like '%ETTI%'`))))
  })
  const lines = plan.flat().map((row) => String(row['QUERY PLAN'])).join('\n')
  for (const index of ['prenotazioni_ricerca', 'ospiti_ricerca']) t.match(lines, index)
  t.same((await list(call, '?q=etti')).map(({ nome_cognome }) => nome_cognome), ['Lucia Moretti'])
})

for (const [kind, rest] of [['for a page', '&limit=1'], ['for all results', '']]) {
  const title = `searches ${kind} beyond slots and queue are refused, long ones time out, and the server stays ready`
  t.test(title, async (t) => {
    await create(call)
    const operator = { authorization: `Bearer ${await token()}` }
    let release = () => {}
    const held = new Promise<void>((resolve) => { release = resolve })
    let lock = () => {}
    const locked = new Promise<void>((resolve) => { lock = resolve })
    const holding = other.begin(async (tx) => {
      await tx`lock table prenotazioni in access exclusive mode`
      lock()
      await held
    })
    await locked

    let tooLong = () => {}
    const someTooLong = new Promise<void>((resolve) => { tooLong = resolve })
    const codes: Record<string, number> = {}
    const search = async (headers?: Record<string, string>) => {
      const answer = await call('GET', `${BOOKINGS}?q=bianchi${rest}`, undefined, headers)
      const codice = answer.statusCode === 200 ? 'found' : answer.json<{ codice: string }>().codice
      if (answer.statusCode === 503) t.equal(answer.headers['retry-after'], '5')
      if (codice === 'RICERCA_TROPPO_LUNGA') tooLong()
      codes[codice] = (codes[codice] ?? 0) + 1
      return codice
    }
    const flood = Array.from({ length: 280 }, () => search())
    t.equal(await Promise.race(flood), 'SERVIZIO_OCCUPATO')
    t.equal((await app.inject('/health/ready')).statusCode, 200)
    const others = search(operator)
    await someTooLong
    t.equal((await app.inject('/health/ready')).statusCode, 200)
    release()
    await holding
    t.not(await others, 'SERVIZIO_OCCUPATO', 'another caller has a separate limit')
    await Promise.all(flood)
    t.ok(codes.SERVIZIO_OCCUPATO! >= 280 - 12 - 256, 'twelve run, and 256 wait')
    t.equal(await search(), 'found', 'the slots are released')
  })
}

t.test('without the extension pg_trgm the server starts, logs a warning, and searches without an index', async (t) => {
  const { sql, url } = await testDatabase(t)
  await sql.unsafe(`drop extension pg_trgm cascade;
    create function set_limit(real) returns real language sql as 'select $1'`)
  const hasIndex = async () => (await sql<{ made: boolean }[]>`
    select to_regclass('prenotazioni_ricerca') is not null and to_regclass('ospiti_ricerca') is not null as made
    `)[0]?.made
  const warning = 'searching bookings is slow: the extension pg_trgm is not available in the database'
  const { call, logs } = await build(t, { DATABASE_URL: url })
  const { id } = await create(call, { nome_cognome: 'Lucia Moretti' })
  t.same((await call('GET', `${BOOKINGS}?q=etti`)).json<{ data: Booking[] }>().data.map((each) => each.id), [id])
  t.equal(logs.filter(({ msg }) => msg === warning).length, 1)
  t.equal(await hasIndex(), false)

  await sql`drop function set_limit`
  const later = await build(t, { DATABASE_URL: url })
  t.notOk(later.logs.some(({ msg }) => msg === warning))
  t.equal(await hasIndex(), true, 'a later start creates the index')
})

t.test('without the right to create the search index, the function that creates it returns false', async (t) => {
  const { sql } = await testDatabase(t)
  const name = `senza_${randomBytes(4).toString('hex')}`
  await sql.unsafe(`drop extension pg_trgm cascade; create role ${name}; grant ${name} to current_user;
    grant all on prenotazioni to ${name}`)
  t.teardown(() => sql.unsafe(`drop owned by ${name}; drop role ${name}`))
  const asRole = (role: string) => sql.begin(async (tx) => {
    await tx.unsafe(`set local role ${role}`)
    return await tx`select prenotazioni_indice_ricerca() as made`
  })
  t.match(await asRole(name), [{ made: false }])
  await sql`create extension pg_trgm`
  t.match(await asRole(name), [{ made: false }], 'the role still does not own the table')
  t.match(await asRole('none'), [{ made: true }])
})
