import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ACQUIRED_STATES, type State, UNDER_WAY_STATES } from '#schemas/submission.ts'
import { connect } from '#src/database/connect.ts'
import { twice } from '#test/alloggiati/oracle.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import {
  type Call, successReply, guestNo, held, invio, production, productionEnviron, standIn, until
} from '#test/alloggiati/stand-in.ts'
import { testDatabase } from '#test/database.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { brokenLinks } from './chain.ts'

/* Two server processes on one database, each with its own folder. */

const INVIO = '/api/alloggiati/invio'
/** Long enough that the test would notice a second concurrent call. */
const REPLY_MS = 30

/** Shared servers. Each test uses its own guests, and checks only its own Sends. */
const { police, inFlight, post, sql } = await twoServers(t)

t.test('one of 20 identical requests to two processes is sent, and the others get its reference', async (t) => {
  const acquired = reset()
  const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n, invio([guestNo(1)]))))
  const winners = responses.filter(({ status }) => status === 200)
  t.equal(winners.length, 1)
  t.ok(responses.every(({ status, ricevuta }) => (status === 200 || status === 409) &&
    ricevuta === winners[0]!.ricevuta))
  t.equal(police.callsOf('Send').length, 1)
  t.equal(police.callsOf('Test').length, 1)
  t.equal(acquired().length, 1)
  t.equal(inFlight.max, 1)
})

t.test('20 concurrent guests through two processes are acquired once each, with one Send at a time', async (t) => {
  const acquired = reset()
  const [{ before } = { before: 0 }] = await sql<{ before: number }[]>`
    select coalesce(max(id), 0)::int as before from invii`
  const responses = await Promise.all(Array.from({ length: 20 }, (_, n) => post(n, invio([guestNo(100 + n)]))))
  t.same(responses.map(({ status }) => status), responses.map(() => 200))
  t.equal(new Set(responses.map(({ ricevuta }) => ricevuta)).size, 20)
  t.equal(acquired().length, 20)
  t.same(twice(acquired()), [])
  t.equal(inFlight.max, 1, 'never two Sends in flight')
  t.same(await sql`select stato, nota from invii where stato <> 'acquisito'`, [])
  const claims = await sql<{ process: string }[]>`
    select distinct split_part(proprietario, '/', 2) as process from invii where id > ${before}`
  t.equal(claims.length, 2, 'both processes sent guests')
  t.same(await brokenLinks(sql), [])
})

t.test('20 overlapping lists through two processes send every guest at most once, and no partial list', async (t) => {
  const acquired = reset()
  const lists = Array.from({ length: 20 }, (_, n) =>
    [...new Set([n % 7, (n * 3 + 1) % 7])].map((each) => guestNo(200 + each))
  )
  const responses = await Promise.all(lists.map((guests, n) => post(n, invio(n % 2 ? guests : guests.toReversed()))))
  t.ok(responses.every(({ status }) => status === 200 || status === 409))
  t.same(twice(acquired()), [])
  const confirmed = responses.flatMap(({ status }, at) => status === 200 ? lists[at]! : [])
  t.equal(acquired().length, confirmed.length)
  t.equal(inFlight.max, 1)
})

/** Resets the calls of the police. Returns a function that reads the rows acquired since. */
function reset (): () => string[] {
  police.calls.length = 0
  inFlight.max = 0
  const before = police.acquired().length
  return () => police.acquired().slice(before)
}

/** Starts two servers on one database, and a slow police service that counts concurrent Sends. */
async function twoServers (t: Test) {
  const police = await standIn(t)
  const inFlight = { now: 0, max: 0 }
  police.firstByte = async (operation) => {
    if (operation === 'Send') inFlight.max = Math.max(inFlight.max, ++inFlight.now)
  }
  police.on.Send = (socket, received) => {
    const call = received as Call
    police.acquire(call.rows)
    sleep(REPLY_MS).then(() => {
      inFlight.now--
      response(successReply(call))(socket, call)
    }, t.fail)
  }
  const { url, sql } = await testDatabase(t)
  const master = randomBytes(32)
  const environ = {
    ...productionEnviron(police), DATABASE_URL: url, MASTER_KEY: master.toString('base64'), RATE_LIMIT_MAX: '1000'
  }
  const servers = await Promise.all([1, 2].map(() => startServer({ ...environ, DATA_DIR: temporaryFolder(t) })))
  for (const server of servers) t.teardown(server.kill)
  const post = async (n: number, body: object, tries = 30): Promise<{ status: number, ricevuta: string }> => {
    const { address, post: send } = servers[n % 2]!
    const response = await send(INVIO, body)
    const { ricevuta, codice } = await response.json() as { ricevuta: string, codice?: string }
    // On a slow machine a request may get a 503 and is retried. If the last request times out, its submission continues
    // and is polled until it ends.
    if (response.status === 503 && tries > 1) {
      await sleep(1000)
      return post(n, body, tries - 1)
    }
    if (codice !== 'INVIO_IN_CORSO' || response.status !== 422) return { status: response.status, ricevuta }
    const where = new URL(response.headers.get('location')!, address)
    for (;; await sleep(1000)) {
      const found = await fetch(where, { headers: { 'x-api-key': API_KEY } })
      const { data: { stato } } = await found.json() as { data: { stato: State } }
      const isAny = (states: readonly State[]) => states.includes(stato)
      if (!isAny(UNDER_WAY_STATES)) return { status: isAny(ACQUIRED_STATES) ? 200 : 422, ricevuta }
    }
  }
  return { police, inFlight, post, sql }
}

/* The ledger commits an attempt before the first byte is sent, so the attempt remains when the process is killed. */

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

t.test('a Send of a killed server is unknown after the lease expires, and is not repeated', async (t) => {
  const { police, environ, server, sql } = await realServer(t)
  const reply = held()
  police.on.Send = reply.behaviour
  server.post('/api/alloggiati/invio', invio([guestNo(1)])).catch(() => {})
  await reply.arrived
  await server.kill()
  t.same(await sql`select stato from invii`, [{ stato: 'in_invio' }])

  const early = await production(t, police, environ)
  t.same(await sql`select stato from invii`, [{ stato: 'in_invio' }], 'not before the lease has expired')
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

/** A stand-in, a database, and the server as a separate process. */
async function realServer (t: Test) {
  const police = await standIn(t)
  const { url } = await testDatabase(t)
  const master = randomBytes(32)
  const environ = { DATABASE_URL: url, DATA_DIR: temporaryFolder(t), MASTER_KEY: master.toString('base64') }
  const { sql, close } = connect(url, 2)
  t.teardown(close)
  const server = await startServer({ ...productionEnviron(police), ...environ })
  t.teardown(server.kill)
  return { police, environ, sql, server }
}
