import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { sealSettings } from '#src/alloggiati/index.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { connect } from '#src/plugins/database/connect.ts'
import { testDatabase } from '#test/database.ts'
import { temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { answer } from './service/soap/server.ts'
import {
  guestNo,
  held,
  invio,
  loginReply,
  production,
  productionEnviron,
  rowsReply,
  standIn,
  until
} from './stand-in.ts'

/* What is written before the first byte leaves, and what that is worth when a process dies or sleeps. */

t.test('when the first byte of a Send arrives, the dispatch is already committed', async (t) => {
  const police = await standIn(t)
  const { url, call } = await production(t, police)
  const outside = connect(url, 1)
  t.teardown(outside.close)
  let seen: unknown
  police.firstByte = async (operation) => {
    if (operation !== 'Send') return
    seen = await outside.sql`
      select i.stato, s.esito as riga, a.numero, e.esito as tentativo from invii i
      join invii_schedine s on s.invio_id = i.id
      join invii_tentativi a on a.invio_id = i.id
      left join invii_esiti e on e.invio_id = i.id`
  }
  t.equal((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  t.same(seen, [{ stato: 'in_invio', riga: 'in_corso', numero: 1, tentativo: null }])
})

t.test('while the commit of the dispatch is held up, not one byte of a Send leaves', async (t) => {
  const police = await standIn(t)
  const { url, call } = await production(t, police)
  const outside = connect(url, 2)
  t.teardown(outside.close)
  const rehearsal = held()
  police.on.Test = rehearsal.behaviour
  const sending = call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await rehearsal.arrived
  await outside.sql.begin(async (sql) => {
    await sql`lock table invii_tentativi in share mode`
    rehearsal.release(answer(rowsReply('Test', [true])))
    const waiting = () => outside.sql`
      select from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%invii_tentativi%'`
    await until(async () => (await waiting()).length > 0)
    t.notOk(police.begun.includes('Send'))
  })
  t.equal((await sending).statusCode, 200)
  t.ok(police.begun.includes('Send'))
})

t.test('a server that dies while the police holds the reply: unknown after the lease, never sent again', async (t) => {
  const { police, environ, server, sql } = await realServer(t)
  const reply = held()
  police.on.Send = reply.behaviour
  server.post('/api/alloggiati/invio', invio([guestNo(1)])).catch(() => {})
  await reply.arrived
  await server.kill()
  t.same(await sql`select stato from invii`, [{ stato: 'in_invio' }])

  const early = await production(t, police, environ)
  t.same(await sql`select stato from invii`, [{ stato: 'in_invio' }], 'not before the lease has run out')
  t.equal((await early.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
  await early.app.close()
  await sql`update invii set lease_fino_al = now() - interval '1 second'`

  delete police.on.Send
  const { call, logs } = await production(t, police, environ)
  const [{ ricevuta } = {}] = await sql`select ricevuta from invii`
  await until(() => logs.some((line) => line.level === 50 && line.ricevuta === ricevuta))
  t.same(await sql`select i.stato, s.esito from invii i join invii_schedine s on s.invio_id = i.id`, [
    { stato: 'sconosciuto', esito: 'sconosciuta' }
  ])
  t.match((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).json(), { status: 409, ricevuta })
  t.equal(police.callsOf('Send').length, 1)
})

t.test(
  'the submission of a server that died before the dispatch is sent once by the next server, after the lease',
  async (t) => {
    const { police, environ, server, sql } = await realServer(t)
    const login = held()
    police.on.GenerateToken = login.behaviour
    server.post('/api/alloggiati/invio', invio([guestNo(1)])).catch(() => {})
    await login.arrived
    await server.kill()
    t.same(await sql`select stato from invii`, [{ stato: 'preso' }])
    t.same(await sql`select from invii_tentativi`, [])
    await sql`update invii set lease_fino_al = now() - interval '1 second'`

    delete police.on.GenerateToken
    const { call } = await production(t, police, environ)
    await until(async () => (await sql`select from invii where stato = 'acquisito'`).length === 1)
    t.equal((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 409)
    t.equal(police.callsOf('Send').length, 1)
    t.equal(police.acquired().length, 1)
  }
)

t.test('a server that slept through its lease does not send what another server has sent meanwhile', async (t) => {
  const police = await standIn(t)
  const sleeper = await production(t, police)
  const login = held()
  police.on.GenerateToken = login.behaviour
  const late = sleeper.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await login.arrived
  // A process that sleeps does not look for submissions that wait, either.
  await sleeper.app.stopJobs()
  await sleeper.app.sql`update invii set lease_fino_al = now() - interval '1 second'`

  delete police.on.GenerateToken
  const other = await production(t, police, { DATABASE_URL: sleeper.url, DATA_DIR: sleeper.dataDir })
  await until(async () => (await other.app.sql`select from invii where stato = 'acquisito'`).length === 1)
  const [{ ricevuta } = {}] = await other.app.sql`select ricevuta from invii`
  login.release(answer(loginReply()))
  t.match((await late).json(), { success: true, ricevuta }, 'it is told what the other one brought about')
  t.equal(police.callsOf('Test').length, 1, 'it does not even rehearse')
  t.equal(police.begun.filter((operation) => operation === 'Send').length, 1, 'not even a byte of another')
  t.match((await other.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).json(), { status: 409, ricevuta })
})

t.test('a reply still counts when it comes after its submission became unknown', async (t) => {
  const police = await standIn(t)
  const slow = await production(t, police)
  const reply = held()
  police.on.Send = reply.behaviour
  const late = slow.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await reply.arrived
  await slow.app.sql`update invii set lease_fino_al = now() - interval '1 second'`
  await production(t, police, { DATABASE_URL: slow.url, DATA_DIR: slow.dataDir })
  await until(async () => (await slow.app.sql`select from invii where stato = 'sconosciuto'`).length === 1)
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await late).statusCode, 200)
  t.same(await slow.app.sql`select i.stato, s.esito from invii i join invii_schedine s on s.invio_id = i.id`, [
    { stato: 'acquisito', esito: 'acquisita' }
  ])
})

/** A stand-in, a database, and the server as a process of its own between them. */
async function realServer (t: Test) {
  const police = await standIn(t)
  const { url } = await testDatabase(t)
  const master = randomBytes(32)
  const environ = { DATABASE_URL: url, DATA_DIR: temporaryFolder(t), MASTER_KEY: master.toString('base64') }
  // With the server's key: without it nothing of its submissions can be changed.
  const { sql, close } = connect(url, 2, sealSettings(createKeys(master)))
  t.teardown(close)
  const server = await startServer({ ...productionEnviron(police), ...environ })
  t.teardown(server.kill)
  return { police, environ, sql, server }
}
