import fc from 'fast-check'
import t from 'tap'
import { BOOKING_SORTS, type Booking } from '#schemas/booking.ts'
import { build, type TestApp } from '#test/helper.ts'
import { BOOKINGS, create, list } from './samples.ts'

type Call = TestApp['call']
type Sort = typeof BOOKING_SORTS[number]

/** Follows the links from the first page to the last; `between` runs before each page but the first. */
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

/** The order that a sort stands for, by the values that the API shows. */
function ordered (bookings: readonly Booking[], sort: Sort): Booking[] {
  const name = sort.replace('-', '') as 'id' | 'check_in' | 'updated_at'
  const sign = sort.startsWith('-') ? -1 : 1
  return [...bookings].sort((a, b) => sign * (a[name] < b[name] ? -1 : a[name] > b[name] ? 1 : a.id - b.id))
}

const ids = (bookings: readonly Booking[]) => bookings.map(({ id }) => id)

const { app, call } = await build(t)

/** There are no bookings, and the next one has number 1. */
const empty = () => app.sql`truncate prenotazioni restart identity cascade`

t.test('thirty bookings with many ties', async (t) => {
  await empty()
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Anna Bianchi', 'IT', 1 + n % 2, date '2026-11-10' + n * 7 % 5, date '2026-11-13' + n * 7 % 5, 2
    from generate_series(0, 29) n`
  // Several rows share each instant, in an order of its own.
  await app.sql`
    update prenotazioni
    set updated_at = timestamptz '2026-01-01 00:00:00.5+00' + interval '1 millisecond' * (id * 11 % 7)`
  const all = await list(call)

  for (const sort of BOOKING_SORTS) {
    t.test(
      `sorted by ${sort}, the whole list is in order and equals its pages joined, whatever their size`,
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

  t.test('a filter holds on every page', async (t) => {
    const found = await pages(call, { sort: '-check_in', limit: '4', paese_id: '2' })
    t.same(found.flat(), ordered(all, '-check_in').filter(({ paese_id }) => paese_id === 2))
  })

  t.test('a cursor alone has pages of a hundred', async (t) => {
    const response = await call('GET', `${BOOKINGS}?limit=10`)
    const cursor = new URL(
      /<(.+)>/.exec(String(response.headers.link))?.[1] ?? '',
      'http://localhost'
    ).searchParams.get('cursor')
    t.same(ids(await list(call, `?cursor=${cursor}`)), ids(all).slice(10))
  })

  for (const sort of BOOKING_SORTS) {
    t.test(
      `sorted by ${sort}, bookings that arrive between two pages neither repeat nor hide the others`,
      async (t) => {
        const before = ids(await list(call, `?sort=${sort}`))
        const found = ids(
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
        t.same(
          found.filter((id) => before.includes(id)),
          before
        )
      }
    )
  }

  t.test('bookings deleted between two pages, that of the cursor too, hide no other', async (t) => {
    const before = ids(await list(call))
    const gone: number[] = []
    const found = ids((await pages(call, { limit: '20' }, async () => {
      gone.push(Number(before[20 * (gone.length + 1) - 1]))
      await call('POST', `${BOOKINGS}/delete-bulk`, { ids: gone })
    })).flat())
    t.same(found, before)
    t.same(ids(await list(call)), before.filter((id) => !gone.includes(id)))
  })
})

t.test('2,500 bookings come back whole and in order', async (t) => {
  await empty()
  await app.sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Ospite ' || n, 'IT', 380, date '2026-01-01' + n % 300, date '2026-01-02' + n % 300, 2
    from generate_series(1, 2500) n`
  const all = await list(call)
  t.equal(all.length, 2500)
  t.same(ids(all), Array.from({ length: 2500 }, (_, index) => index + 1))
  t.same(ids(await list(call, '?sort=-check_in')), ids(ordered(all, '-check_in')))
  t.same(ids((await pages(call, { sort: 'check_in', limit: '1000' })).flat()), ids(ordered(all, 'check_in')))
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
