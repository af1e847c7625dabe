import t from 'tap'
import { build } from '#test/helper.ts'
import { BOOKINGS, create, fieldsAtFault, list } from './samples.ts'

const { app, call } = await build(t)
const given = [
  {
    nome_cognome: 'Anna Bianchi',
    email: 'anna@example.com',
    idf_gen: 'BK-100%',
    check_in: '2026-11-01',
    paese_id: 380
  },
  { nome_cognome: 'Bruno Rossi', email: null, idf_gen: 'BK_200', check_in: '2026-11-02', paese_id: 276 },
  { nome_cognome: "Carla d'Aosta", email: 'carla_d@example.org', idf_gen: null, check_in: '2026-11-03', paese_id: 380 },
  { nome_cognome: 'Dörte \\ Müller', email: null, idf_gen: 'BKX200', check_in: '2026-11-03', paese_id: 276 }
]
const [anna, bruno, carla, doerte] = await Promise.all(given.map((each) => create(call, each))).then((all) =>
  all.map(({ id }) => id)
)

/** The ids that a query finds, in no particular order. */
async function found (query: Record<string, string>): Promise<number[]> {
  return (await list(call, `?${new URLSearchParams(query)}`)).map(({ id }) => id).sort((a, b) => a - b)
}
const ids = (...wanted: (number | undefined)[]) => wanted.map(Number).sort((a, b) => a - b)
const fault = async (query: Record<string, string>) =>
  fieldsAtFault(await call('GET', `${BOOKINGS}?${new URLSearchParams(query)}`))

t.test('without a query the list is all bookings, by id, each as its detail shows it', async (t) => {
  const all = await list(call)
  t.same(all.map(({ id }) => id), ids(anna, bruno, carla, doerte))
  for (const each of all) {
    const { ospiti: _, ...rest } = (await call('GET', `${BOOKINGS}/${each.id}`)).json<{ data: { ospiti: unknown } }>()
      .data
    t.same(each, rest)
  }
})

t.test('q finds in name, code and e-mail, whatever the case', async (t) => {
  t.same(await found({ q: 'bianchi' }), ids(anna))
  t.same(await found({ q: 'bk-1' }), ids(anna))
  t.same(await found({ q: 'EXAMPLE.ORG' }), ids(carla))
  t.same(await found({ q: 'D\'AOSTA' }), ids(carla))
  t.same(await found({ q: 'nessuno' }), [])
})

t.test('q takes %, _ and \\ for themselves', async (t) => {
  t.same(await found({ q: '%' }), ids(anna))
  t.same(await found({ q: 'BK_200' }), ids(bruno))
  t.same(await found({ q: '_' }), ids(bruno, carla))
  t.same(await found({ q: '\\' }), ids(doerte))
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

t.test('updated_since is inclusive, and takes the very stamp that the list shows', async (t) => {
  await app.sql`update prenotazioni set updated_at = '2026-01-05T10:00:00.123Z' where id = ${Number(anna)}`
  await app.sql`update prenotazioni set updated_at = '2026-01-05T10:00:00.124Z' where id <> ${Number(anna)}`
  t.equal((await found({ updated_since: '2026-01-05T10:00:00.123Z' })).length, 4)
  t.same(await found({ updated_since: '2026-01-05T10:00:00.124Z' }), ids(bruno, carla, doerte))
  t.same(await found({ updated_since: '2026-01-05T10:00:00.125Z' }), [])
  t.same(await found({ updated_since: '2026-01-05T12:00:00.124+02:00' }), ids(bruno, carla, doerte))
})

t.test('filters narrow together, and the count of a page counts what they let through', async (t) => {
  t.same(await found({ q: 'bk', paese_id: '276', check_in_da: '2026-11-03' }), ids(doerte))
  const response = await call('GET', `${BOOKINGS}?paese_id=276&limit=1`)
  t.equal(response.headers['x-total-count'], '2')
  t.equal(response.json<{ data: unknown[] }>().data.length, 1)
})

t.test('the first page counts, later ones when they are asked to', async (t) => {
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
  for (const limit of ['0', '-1', '1001', '1e400', '1.5', 'x', '']) t.same(await fault({ limit }), ['limit'], limit)
  t.equal((await list(call, '?limit=1')).length, 1)
  t.equal((await list(call, '?limit=1000')).length, 4)
})

t.test('the last page has no next, and a full last page neither', async (t) => {
  for (const limit of [4, 5]) {
    const response = await call('GET', `${BOOKINGS}?limit=${limit}`)
    t.equal(response.headers.link, undefined)
    t.equal(response.headers['x-total-count'], '4')
  }
})

t.test('the address of the next page carries the query on', async (t) => {
  const response = await call('GET', `${BOOKINGS}?${new URLSearchParams({ sort: '-check_in', q: 'bk', limit: '1' })}`)
  const link = /^<([^>]+)>; rel="next"$/.exec(String(response.headers.link))?.[1] ?? ''
  const { pathname, searchParams } = new URL(link, 'http://localhost')
  t.equal(pathname, BOOKINGS)
  t.match(Object.fromEntries(searchParams), { sort: '-check_in', q: 'bk', limit: '1', cursor: /./ })
  t.same((await list(call, link.slice(BOOKINGS.length))).map(({ id }) => id), ids(bruno))
})

t.test('the key of a caller who gives it in the query is not in the next address', async (t) => {
  const response = await app.inject({ url: `${BOOKINGS}?limit=1&api_key=chiave-di-prova-0123456789` })
  t.equal(response.statusCode, 200)
  t.notMatch(response.headers.link, /api_key|chiave/)
})

t.test('a cursor of another order, or one that is not ours, is a 400 that names it', async (t) => {
  const response = await call('GET', `${BOOKINGS}?limit=1&sort=check_in`)
  const cursor = /cursor=([^>]+)>/.exec(String(response.headers.link))?.[1] ?? ''
  t.same(await fault({ cursor, sort: 'check_in' }), [])
  for (const sort of ['id', '-check_in', 'updated_at']) t.same(await fault({ cursor, sort }), ['cursor'], sort)
  t.same(await fault({ cursor }), ['cursor'])
  for (const wrong of ['x', 'e30', '', '€', 'a'.repeat(201)]) t.same(await fault({ cursor: wrong }), ['cursor'], wrong)
})

t.test('a parameter that is unknown, repeated or no value of its kind is a 400 that names it', async (t) => {
  const wrong = {
    ordina: 'id',
    sort: 'nome_cognome',
    check_in_da: '2026-02-30',
    check_in_a: 'ieri',
    paese_id: '0',
    updated_since: '2026-01-01',
    q: ''
  }
  for (const [name, value] of Object.entries(wrong)) t.same(await fault({ [name]: value }), [name])
  t.same(await fault({ updated_since: '2026-01-01T00:00:00+23:00' }), ['updated_since'])
  t.same(fieldsAtFault(await call('GET', `${BOOKINGS}?q=a&q=b`)), ['q'])
})

t.test('a full list that fails before its first row is an ordinary error', async (t) => {
  await app.sql`alter table prenotazioni rename to altrove`
  t.teardown(() => app.sql`alter table altrove rename to prenotazioni`)
  const response = await call('GET', BOOKINGS)
  t.equal(response.statusCode, 500)
  t.match(response.json(), { error: 'Errore interno del server', status: 500 })
})
