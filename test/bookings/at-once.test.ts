import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { testDatabase } from '#test/database.ts'
import { BOOKINGS, create } from './samples.ts'

/* Concurrent requests share connections to PostgreSQL. No request may get the response of another one. */

const BOOKED = 20
const ROUNDS = 24
/** Disturbances of the connections that the requests of a round share. */
const TROUBLES =
  ['none', 'a query fails in the midst of its rows', 'statements are deallocated', 'connections end'] as const

t.test('concurrent requests each get their own booking, even when shared connections fail', async (t) => {
  const { url, sql: other } = await testDatabase(t)
  const { app, call } = await build(t, { DATABASE_URL: url })
  for (let n = 1; n <= BOOKED; n++) await create(call, { nome_cognome: `Ospite ${n}`, numero_ospiti: n })

  async function cause (trouble: typeof TROUBLES[number]): Promise<unknown> {
    switch (trouble) {
      case 'none':
        return
      case 'a query fails in the midst of its rows':
        return await app.sql`select 10 / (3 - n) from generate_series(1, 3) n`.catch(() => {})
      case 'statements are deallocated':
        return await Promise.all([1, 2, 3, 4].map(() => app.sql.unsafe('deallocate all').catch(() => {})))
      case 'connections end':
        return await other`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and application_name = 'locanda'
            and query not like 'listen%'`
    }
  }

  const isAnswered = async (id: number) => (await call('GET', `${BOOKINGS}/${id}`)).statusCode !== 503
  const wrong: string[] = []
  const change = async (id: number, trouble: typeof TROUBLES[number]) => {
    const { statusCode, body } = await call('PUT', `${BOOKINGS}/${id}`, { telefono: `+39 02 ${id}` })
    if (statusCode === 503 && trouble === 'connections end') return
    const isOwn = statusCode === 200 && (JSON.parse(body) as { data: { id: number } }).data.id === id
    if (!isOwn) wrong.push(`${trouble}: change of ${id} ${statusCode} ${body}`)
  }
  const seen = { found: 0, missing: 0, unavailable: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const trouble = TROUBLES[round % TROUBLES.length]!
    const ask = async (id: number) => {
      const { statusCode, body } = await call('GET', `${BOOKINGS}/${id}`)
      if (statusCode === 503 && trouble === 'connections end') return seen.unavailable++
      if (id > BOOKED) {
        seen.missing++
        if (statusCode !== 404) wrong.push(`${trouble}: ${id} ${statusCode} ${body}`)
        return
      }
      seen.found++
      const { data } = JSON.parse(body) as { data?: { id: number, nome_cognome: string, numero_ospiti: number } }
      const isRight = data?.id === id && data.nome_cognome === `Ospite ${id}` && data.numero_ospiti === id
      if (statusCode !== 200 || !isRight) wrong.push(`${trouble}: ${id} ${statusCode} ${body}`)
    }
    const ids = Array.from({ length: 24 }, (_, n) => 1 + (n * 7 + round * 5) % (BOOKED + 4))
    await Promise.all([
      ...ids.slice(0, 8).map(ask),
      cause(trouble),
      change(1 + round % BOOKED, trouble),
      ...ids.slice(8).map(ask),
      call('GET', `${BOOKINGS}?limit=5`)
    ])
    // The server notices a lost connection late, and then opens as many new ones as it needs.
    if (trouble === 'connections end') await until(async () => (await Promise.all(ids.map(isAnswered))).every(Boolean))
  }
  t.same(wrong, [])
  t.ok(seen.found > ROUNDS && seen.missing > ROUNDS, JSON.stringify(seen))
})
