import t from 'tap'
import { detail, INVII, ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo, invio, production, until } from '#test/alloggiati/stand-in.ts'

const MAINTENANCE = '/api/settings/maintenance'
const INVIO = '/api/alloggiati/invio'

t.test('during a maintenance nothing new is sent to the police, not by an administrator either', async (t) => {
  const { police, server, admin } = await ledgerServer(t)
  await admin('POST', MAINTENANCE, { enabled: true })
  const refused = await admin('POST', INVIO, invio([guestNo(1)]))
  t.match([refused.statusCode, refused.json()], [503, { codice: 'MANUTENZIONE', error: /^Durante la manutenzione/ }])
  t.ok(refused.headers['retry-after'])
  t.equal((await server.call('POST', INVIO, invio([guestNo(1)]))).statusCode, 503)
  t.same([police.begun, await server.app.sql`select from invii`], [[], []])
  await admin('POST', MAINTENANCE, { enabled: false })
  t.equal((await admin('POST', INVIO, invio([guestNo(1)]))).statusCode, 200, 'the guest has stayed free')
})

t.test('what is allowed by name is sent by administrators, until it is not allowed any more', async (t) => {
  const { police, server, admin } = await ledgerServer(t)
  await admin('POST', MAINTENANCE, { enabled: true, allow: ['invii'] })
  t.equal((await admin('POST', INVIO, invio([guestNo(1)]))).statusCode, 200)
  t.equal((await server.call('POST', INVIO, invio([guestNo(2)]))).statusCode, 503, 'others do not get in')
  await admin('POST', MAINTENANCE, { enabled: true })
  t.equal((await admin('POST', INVIO, invio([guestNo(2)]))).statusCode, 503)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a rehearsal, which registers nothing, is possible during a maintenance', async (t) => {
  const { police, admin } = await ledgerServer(t)
  await admin('POST', MAINTENANCE, { enabled: true })
  t.equal((await admin('POST', INVIO, invio([guestNo(1)], { testMode: true }))).statusCode, 200)
  t.equal(police.callsOf('Send').length, 0)
})

t.test('a decision to send again is refused during a maintenance, one that sends nothing is not', async (t) => {
  const { police, server, admin } = await ledgerServer(t)
  const { versione, data_arrivo, id } = await detail(server, await unknown(police, server))
  const decide = (decisione: string) => admin('POST', `${INVII}/${id}/decisione`, {
    decisione,
    motivo: 'Guardato sul portale',
    versione,
    conferma: `1 ospite ${data_arrivo}`
  })
  await admin('POST', MAINTENANCE, { enabled: true })
  t.match((await decide('reinvia')).json(), { status: 503, codice: 'MANUTENZIONE' })
  t.match((await admin('GET', `${INVII}/${id}`)).json(), { data: { stato: 'sconosciuto', decisioni: [] } })
  t.equal((await decide('acquisito')).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a submission under way when a maintenance begins goes on to its end', async (t) => {
  const { police, server, admin } = await ledgerServer(t)
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  police.firstByte = async (operation) => {
    if (operation !== 'Test') return
    arrive()
    await gate
  }
  const sending = server.call('POST', INVIO, invio([guestNo(1)]))
  await reached
  t.match((await admin('POST', MAINTENANCE, { enabled: true })).json(), { enabled: true })
  open()
  t.equal((await sending).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a submission that waits when a maintenance begins is sent by the sweep', async (t) => {
  const { police, server, admin, decide } = await ledgerServer(t)
  const id = await unknown(police, server)
  police.on.Test = (socket) => socket.resetAndDestroy()
  await decide(id, 'reinvia')
  delete police.on.Test
  t.equal((await detail(server, id)).stato, 'pronto')
  await admin('POST', MAINTENANCE, { enabled: true })
  await server.app.sql`update invii set lease_fino_al = now() - interval '1 second'`
  await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  await until(async () => (await admin('GET', `${INVII}/${id}`)).json().data.stato === 'acquisito')
})

t.test('when the beginning of a maintenance is answered, nothing becomes ready any more', async (t) => {
  const { server, admin } = await ledgerServer(t)
  const count = async () => (await server.app.sql<{ n: number }[]>`select count(*)::int as n from invii`)[0]!.n
  for (let round = 0; round < 5; round++) {
    const sending = Array.from({ length: 6 }, (_, n) => admin('POST', INVIO, invio([guestNo(round * 10 + n)])))
    await Promise.race(sending)
    t.equal((await admin('POST', MAINTENANCE, { enabled: true })).statusCode, 200)
    const ready = await count()
    const late = await admin('POST', INVIO, invio([guestNo(1000 + round)]))
    t.equal(late.statusCode, 503)
    const statuses = (await Promise.all(sending)).map(({ statusCode }) => statusCode)
    t.same(statuses.filter((status) => status !== 200 && status !== 503 && status !== 422), [])
    t.equal(await count(), ready)
    await admin('POST', MAINTENANCE, { enabled: false })
  }
})
