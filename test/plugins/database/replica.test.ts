import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Booking } from '#schemas/booking.ts'
import { create } from '#test/bookings/samples.ts'
import { testDatabase } from '#test/database.ts'
import { build, type TestApp } from '#test/helper.ts'
import { caughtUp, replicatedPair } from '#test/standby.ts'

const LISTS = [
  '/api/v1/prenotazioni', '/api/v1/prenotazioni?limit=5', '/api/v1/prenotazioni?q=Rossi&limit=5', '/api/prenotazioni',
  '/api/widget/data', '/api/map/top-countries?limit=3', '/api/lettere-benvenuto?limit=5', '/api/history?limit=5'
]
const OF_LISTS = /"?(?:prenotazioni|lettere|pdf)\w*"?/

const { primary, standby } = await replicatedPair(t)
const environ = { DATABASE_URL: primary.url, DATABASE_READ_URL: standby.url }
const server = await build(t, environ)
const { call, app } = server
await create(call, { nome_cognome: 'Lucia Moretti' })

async function isFresh ({ call }: Pick<TestApp, 'call'>): Promise<boolean> {
  return /^locanda_replica_fresh (\d)$/m.exec((await call('GET', '/metrics')).body)?.[1] === '1'
}
async function untilFresh (wanted = true): Promise<void> {
  while (await isFresh(server) !== wanted) await sleep(50)
}
/** What reads the tables of lists; a statement may have several lines. */
const statements = (log: string) => log.split(/^[\d-]+ [\d:.]+ UTC .*?LOG: {2}/m).filter((entry) =>
  entry.startsWith('execute') && OF_LISTS.test(entry))

t.test('lists, the calendar and widgets are read at a replica that is fresh, and at no other place', async (t) => {
  await untilFresh()
  const token = await server.token({ name: 'altra' })
  await caughtUp(primary)
  await untilFresh()
  standby.said()
  primary.said()
  for (const path of LISTS) {
    const { statusCode, body } = await app.inject({ url: path, headers: { authorization: `Bearer ${token}` } })
    t.equal(statusCode, 200, body)
    t.not(statements(standby.said()).length, 0, path)
  }
  t.same(statements(primary.said()), [])
})

t.test('a caller finds what he has just written, and a replica that is behind is not read', async (t) => {
  await untilFresh()
  await standby.sql`select pg_wal_replay_pause()`
  const { id } = await create(call, { nome_cognome: 'Anna Nuova' })
  const ids = async () => (await call('GET', '/api/v1/prenotazioni')).json<{ data: Booking[] }>().data.map((b) => b.id)
  t.ok((await ids()).includes(id), 'at once')
  await untilFresh(false)
  standby.said()
  t.ok((await ids()).includes(id))
  t.same(statements(standby.said()), [])
  await standby.sql`select pg_wal_replay_resume()`
  await untilFresh()
  t.ok((await ids()).includes(id))
  t.not(statements(standby.said()).length, 0)
})

t.test('a server that is no replica of the database, or is not there, is not read, and a start goes on', async (t) => {
  const { url: other } = await testDatabase(t)
  for (const DATABASE_READ_URL of [primary.url, other, 'postgres://locanda@127.0.0.1:1/locanda']) {
    const second = await build(t, { ...environ, DATABASE_READ_URL })
    const isAsked = () => DATABASE_READ_URL !== primary.url || primary.said().includes('pg_last_wal_replay_lsn')
    while (!isAsked()) await sleep(50)
    t.equal((await second.call('GET', '/api/v1/prenotazioni')).statusCode, 200)
    t.equal(await isFresh(second), false)
  }
})

t.test('a request whose replica hangs or dies is answered by the primary', async (t) => {
  await untilFresh()
  const lists = () => Promise.all(Array.from({ length: 24 }, async (_, n) =>
    (await call('GET', LISTS[n % LISTS.length]!)).statusCode))
  standby.freeze()
  t.same(new Set(await lists()), new Set([200]), 'it hangs')
  await untilFresh(false)
  standby.wake()
  await untilFresh()
  const answers = lists()
  await standby.crash()
  t.same(new Set(await answers), new Set([200]), 'it dies')
  t.same(new Set(await lists()), new Set([200]), 'it is gone')
  await untilFresh(false)
  t.match(server.logs.filter(({ msg }) => /replica/.test(String(msg))).map(({ level }) => level).at(-1), 40)
})
