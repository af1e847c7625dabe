import t from 'tap'
import { detail, INVII, ledgerServer, unknown } from '#test/alloggiati/ledger/administrator.ts'
import { guestNo, invio, production, until } from '#test/alloggiati/stand-in.ts'

const MAINTENANCE = '/api/settings/maintenance'
const INVIO = '/api/alloggiati/invio'

const { police, server, admin, decide } = await ledgerServer(t)

/** Guests that no other test has sent. */
let guests = 0
const anybody = () => guestNo(++guests)
/** The calls of an operation from now on. */
function calls (operation: string) {
  const before = police.callsOf(operation).length
  return () => police.callsOf(operation).length - before
}
const count = async () => (await server.app.sql<{ n: number }[]>`select count(*)::int as n from invii`)[0]!.n

t.beforeEach((t) => {
  t.teardown(() => admin('POST', MAINTENANCE, { enabled: false }))
})

t.test('during a maintenance nothing new is sent to the police, not by an administrator either', async (t) => {
  const [guest, begun, before] = [anybody(), police.begun.length, await count()]
  await admin('POST', MAINTENANCE, { enabled: true })
  const refused = await admin('POST', INVIO, invio([guest]))
  t.match([refused.statusCode, refused.json()], [503, { codice: 'MANUTENZIONE', error: /^Durante la manutenzione/ }])
  t.ok(refused.headers['retry-after'])
  t.equal((await server.call('POST', INVIO, invio([guest]))).statusCode, 503)
  t.same([police.begun.length, await count()], [begun, before])
  await admin('POST', MAINTENANCE, { enabled: false })
  t.equal((await admin('POST', INVIO, invio([guest]))).statusCode, 200, 'the guest has stayed free')
})

t.test('what is allowed by name is sent by administrators, until it is not allowed any more', async (t) => {
  const [guest, sends] = [anybody(), calls('Send')]
  await admin('POST', MAINTENANCE, { enabled: true, allow: ['invii'] })
  t.equal((await admin('POST', INVIO, invio([anybody()]))).statusCode, 200)
  t.equal((await server.call('POST', INVIO, invio([guest]))).statusCode, 503, 'others do not get in')
  await admin('POST', MAINTENANCE, { enabled: true })
  t.equal((await admin('POST', INVIO, invio([guest]))).statusCode, 503)
  t.equal(sends(), 1)
})

t.test('a rehearsal, which registers nothing, is possible during a maintenance', async (t) => {
  const sends = calls('Send')
  await admin('POST', MAINTENANCE, { enabled: true })
  t.equal((await admin('POST', INVIO, invio([anybody()], { testMode: true }))).statusCode, 200)
  t.equal(sends(), 0)
})

t.test('a decision to send again is refused during a maintenance, one that sends nothing is not', async (t) => {
  const sends = calls('Send')
  const { versione, data_arrivo, id } = await detail(server, await unknown(police, server, [anybody()]))
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
  t.equal(sends(), 1)
})

t.test('a submission under way when a maintenance begins goes on to its end', async (t) => {
  const sends = calls('Send')
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>()
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  t.teardown(() => { delete police.firstByte })
  police.firstByte = async (operation) => {
    if (operation !== 'Test') return
    arrive()
    await gate
  }
  const sending = server.call('POST', INVIO, invio([anybody()]))
  await reached
  t.match((await admin('POST', MAINTENANCE, { enabled: true })).json(), { enabled: true })
  open()
  t.equal((await sending).statusCode, 200)
  t.equal(sends(), 1)
})

t.test('a submission that waits when a maintenance begins is sent by the sweep', async (t) => {
  const id = await unknown(police, server, [anybody()])
  police.on.Test = (socket) => socket.resetAndDestroy()
  await decide(id, 'reinvia')
  delete police.on.Test
  t.equal((await detail(server, id)).stato, 'pronto')
  await admin('POST', MAINTENANCE, { enabled: true })
  await server.app.sql`update invii set lease_fino_al = now() - interval '1 second' where id = ${id}`
  await production(t, police, { DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  await until(async () => (await admin('GET', `${INVII}/${id}`)).json().data.stato === 'acquisito')
})

t.test('when the beginning of a maintenance is answered, nothing becomes ready any more', async (t) => {
  for (let round = 0; round < 5; round++) {
    const sending = Array.from({ length: 6 }, () => admin('POST', INVIO, invio([anybody()])))
    await Promise.race(sending)
    t.equal((await admin('POST', MAINTENANCE, { enabled: true })).statusCode, 200)
    const ready = await count()
    const late = await admin('POST', INVIO, invio([anybody()]))
    t.equal(late.statusCode, 503)
    const statuses = (await Promise.all(sending)).map(({ statusCode }) => statusCode)
    t.same(statuses.filter((status) => status !== 200 && status !== 503 && status !== 422), [])
    t.equal(await count(), ready)
    await admin('POST', MAINTENANCE, { enabled: false })
  }
})
