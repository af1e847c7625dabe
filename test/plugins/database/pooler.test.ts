import t from 'tap'
import { soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { createSockets } from '#src/plugins/database/sockets.ts'
import { BOOKINGS, CALENDAR, create, list } from '#test/bookings/samples.ts'
import { testDatabase } from '#test/database.ts'
import { build } from '#test/helper.ts'
import { noPgbouncer, pgbouncer } from '#test/pgbouncer.ts'
import { plainServer } from '#test/standby.ts'

const DROPPED = [
  'statement_timeout', 'idle_in_transaction_session_timeout', 'tcp_keepalives_idle', 'tcp_keepalives_interval',
  'tcp_keepalives_count', 'locanda.sigillo_i', 'locanda.sigillo_o', 'bytea_output'
]

t.test('through a pooler of transactions', { skip: noPgbouncer }, async (t) => {
  const server = await plainServer(t)
  const strict = await pgbouncer(t, server.port)
  const lenient = await pgbouncer(t, server.port, DROPPED)

  await t.test('a server that was not told of it does not start, and says what to set', async (t) => {
    for (const DATABASE_URL of [strict, lenient]) {
      await t.rejects(build(t, { DATABASE_URL }), { message: /^DATABASE_URL: .*pooler.*DATABASE_DIRECT_URL/ })
    }
    await t.rejects(build(t, { DATABASE_URL: strict, DATABASE_DIRECT_URL: lenient }), {
      message: /^DATABASE_DIRECT_URL: .*pooler/
    })
    const { url: DATABASE_DIRECT_URL } = await testDatabase(t)
    await t.rejects(build(t, { DATABASE_URL: strict, DATABASE_DIRECT_URL }), {
      message: 'DATABASE_DIRECT_URL: non porta allo stesso database di DATABASE_URL'
    })
  })

  await t.test('many queries at once, with parameters and without, each have their own answer', async (t) => {
    const { sql, close } = connect(strict, 2, {}, createSockets(), true)
    t.teardown(close)
    await sql`create table pooled (n int)`
    const ask = [
      (n: number) => sql.unsafe(`select ${n} as n`),
      (n: number) => sql`select ${n}::int as n`,
      (n: number) => sql`insert into pooled values (${n}) returning n`,
      (n: number) => sql.unsafe(`insert into pooled values (${n}) returning n`),
      (n: number) => sql.begin((tx) => tx`select ${n}::int as n`)
    ]
    const answers = await Promise.all(Array.from({ length: 400 }, (_, n) => ask[n % ask.length]!(n)))
    t.same(answers.map(([row]) => row!.n as number), answers.map((_, n) => n))
    t.equal((await sql`select count(*)::int from pooled`)[0]!.count, 160)
    await sql`drop table pooled`
  })

  await t.test('two servers do all their work: bookings, guests, sending, what each keeps in memory', async (t) => {
    const environ = { DATABASE_URL: strict, DATABASE_DIRECT_URL: server.url, TODAY: today }
    const one = await build(t, environ)
    const two = await build(t, environ)
    t.equal(one.logs.filter(({ msg }) => /^through the pooler/.test(String(msg))).length, 1)
    const made = await Promise.all(Array.from({ length: 24 }, (_, n) =>
      create((n % 2 === 0 ? one : two).call, { ...soggiorno, nome_cognome: `Prova ${n}`, numero_ospiti: 1 })))
    t.equal((await list(two.call)).length, 24)
    t.equal((await list(two.call, '?q=Prova%201&limit=50')).length, 11)
    t.equal((await one.call('GET', CALENDAR)).json<unknown[]>().length, 24)

    const sent = await Promise.all(made.slice(0, 6).map(async ({ id }, n) => {
      const { call } = n % 2 === 0 ? one : two
      const saved = await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [guestNo(n + 1)] })
      if (saved.statusCode !== 200) throw new Error(saved.body)
      return await call('POST', `${BOOKINGS}/${id}/invio`, {})
    }))
    for (const answer of sent) t.match(answer.json(), { success: true }, answer.body)
    const admin = { authorization: `Bearer ${await one.token({ name: 'capo', role: 'admin' })}` }
    const verified = await two.app.inject({ url: '/api/v1/invii/verifica', headers: admin })
    t.match(verified.json(), { integra: true }, verified.body)

    const url = '/api/settings/features'
    const flag = { key: 'prova', enabled: true }
    t.notMatch((await two.call('GET', url)).json(), [flag])
    const told = await one.app.inject({ method: 'POST', url, headers: admin, payload: flag })
    t.equal(told.statusCode, 200, told.body)
    t.match((await two.call('GET', url)).json(), [flag], 'the other server has heard it')
  })
})
