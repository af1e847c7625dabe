import { request as httpRequest } from 'node:http'
import t, { type Test } from 'tap'
import { create } from '#test/bookings/samples.ts'
import { addDays } from '#src/lib/time.ts'
import { testClock } from '#test/clock.ts'
import { API_KEY, type TestApp } from '#test/helper.ts'
import { listen } from '#test/raw.ts'
import { emptied } from './emptied.ts'
import { administrator, deliveryOver } from './ledger/administrator.ts'
import { response } from './service/soap/server.ts'
import { envelope } from './service/soap/xml.ts'
import { guestNo, held, invio, production, rowsReply, standIn, until } from './stand-in.ts'

/* The caller always gets a response in time, even if the police service hangs. The submission then continues. */

const SEND = '/api/alloggiati/invio'
/** A time limit for tests, instead of 25 seconds. */
const SOON = { times: { policeResponseMs: 200 } }
/** Longer than any test takes on a busy machine. */
const NEVER = { times: { policeResponseMs: 120_000 } }

/** A server that has not logged in to the police yet. */
async function server (t: Test, options: typeof SOON) {
  const police = await standIn(t)
  const app = await production(t, police, {}, options)
  const send = (headers: Record<string, string> = {}, n = 1) => app.call('POST', SEND, invio([guestNo(n)]), headers)
  return { police, server: app, send }
}

/** Shared servers, which each test resets. A test of the first login starts its own server. */
const [soon, never] = [await server(t, SOON), await server(t, NEVER)]

async function reset (one: typeof soon) {
  await emptied(one.server, one.police)
  return one
}

const stateOf = async ({ app }: TestApp) => (await app.sql<{ stato: string }[]>`select stato from invii`)[0]?.stato

t.test('a Send that exceeds the time limit returns 422 INVIO_IN_CORSO with its location, and continues', async (t) => {
  const { police, server: one, send } = await reset(soon)
  const reply = held()
  police.on.Send = reply.behaviour
  const late = await send()
  t.equal(late.statusCode, 422)
  t.match(late.json(), {
    success: false, codice: 'INVIO_IN_CORSO', dettagli: { codice_errore: 'INVIO_IN_CORSO' }, ricevuta: /^AW-/
  })
  t.match(late.headers.location, /^\/api\/v1\/invii\/\d+$/)
  await reply.arrived
  t.match((await one.call('GET', String(late.headers.location))).json().data, {
    ricevuta: late.json().ricevuta,
    stato: 'in_invio'
  })
  reply.release(response(rowsReply('Send', [true])))
  await until(async () => await stateOf(one) === 'acquisito')
})

t.test('a refusal by the Send or the test call after the response to the caller raises an alarm', async (t) => {
  const { police, server: one, send } = await reset(soon)
  const warned = () => one.logs.filter(({ msg }) => /a submission without a waiting caller/.test(String(msg)))
  const reply = held()
  police.on.Send = reply.behaviour
  const late = await send()
  await reply.arrived
  reply.release(response(rowsReply('Send', [false])))
  await until(() => warned().length === 1)
  t.match(warned(), [{ ricevuta: late.json().ricevuta, level: 50 }])
  police.on.Test = response(rowsReply('Test', [false]))
  t.equal((await send({ prefer: 'foo, respond-async;x=1' }, 2)).statusCode, 202)
  await until(() => warned().length === 2)
})

t.test('a request that prefers not to wait gets a 202 at once, and stays ready when the login fails', async (t) => {
  const { police, server: one, send } = await server(t, NEVER)
  const login = held()
  police.on.GenerateToken = login.behaviour
  const accepted = await send({ prefer: 'respond-async, wait=5' })
  t.equal(accepted.statusCode, 202)
  t.equal(accepted.headers['preference-applied'], 'respond-async')
  t.match(accepted.json(), { success: false, status: 202, codice: 'INVIO_IN_CORSO', ricevuta: /^AW-/ })
  t.match(accepted.headers.location, /^\/api\/v1\/invii\/\d+$/)
  await login.arrived
  delete police.on.GenerateToken
  login.release((socket) => socket.destroy())
  await until(async () => await stateOf(one) === 'pronto')
})

t.test('a retry with the same key gets the current state of its submission', async (t) => {
  const { police, server: one, send } = await reset(soon)
  const headers = { 'idempotency-key': 'una', prefer: 'respond-async' }
  const reply = held()
  police.on.Send = reply.behaviour
  const { ricevuta } = (await send(headers)).json()
  t.match((await send(headers)).json(), { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, stato: /^p|in_invio/ })
  await reply.arrived
  t.match((await send(headers)).json(), { status: 409, codice: 'INVIO_IN_CORSO', ricevuta, stato: 'in_invio' })
  delete police.on.Send
  reply.release(response(rowsReply('Send', [true])))
  await until(async () => await stateOf(one) === 'acquisito')
  const restarted = await production(t, police, { DATABASE_URL: one.url, DATA_DIR: one.dataDir })
  const after = await restarted.call('POST', SEND, invio([guestNo(1)]), headers)
  t.equal(after.statusCode, 200)
  t.match(after.headers.location, /^\/api\/v1\/invii\/\d+$/)
  t.match(after.json(), {
    success: true,
    message: '1 schedina acquisita',
    ricevuta,
    dettagli: { schedine_inviate: 1, metodo: 'Send', prenotazione_id: null }
  })
  const again = await restarted.call('POST', SEND, invio([guestNo(1)]), headers)
  t.equal(again.body, after.body)
  t.equal(again.headers.location, after.headers.location, 'a stored answer keeps its headers')
  t.equal(again.headers['idempotency-replayed'], 'true')
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a retry with the same key gets the reason why its submission failed', async (t) => {
  const { police, server: one, send } = await reset(soon)
  const headers = { 'idempotency-key': 'una' }
  const reply = held()
  police.on.Send = reply.behaviour
  const { ricevuta } = (await send(headers)).json()
  await reply.arrived
  reply.release(response(rowsReply('Send', [false])))
  await until(async () => await stateOf(one) === 'rifiutato')
  t.match((await send(headers)).json(), {
    status: 422, codice: 'SCHEDINE_RIFIUTATE', ricevuta, schedine: [{ esito: 'rifiutata', codice_errore: '12' }]
  })
})

t.test('after an unknown outcome, the same key returns the later decision and sends no guest', async (t) => {
  const { police, server: one, send } = await reset(never)
  const { decide } = administrator(one)
  const { id: booking } = await create(one.call, { check_in: testClock().today(), numero_ospiti: 1 })
  await one.call('POST', '/api/saveOspiti', { prenotazione_id: booking, dati: [guestNo(4)] })
  const ofBooking: typeof send = (headers) => one.call('POST', `/api/v1/prenotazioni/${booking}/invio`, {}, headers)
  const cases = [
    ['acquisito', send, { success: true, message: '1 schedina acquisita' }],
    ['depositato', send, { success: true, message: '1 schedina comunicata per altra via' }],
    ['annulla', send, { success: false, status: 422, codice: 'INVIO_ANNULLATO' }],
    ['acquisito', ofBooking, { success: true, message: '1 schedina acquisita' }]
  ] as const
  for (const [n, [decision, post, expected]] of cases.entries()) {
    const ask = () => post({ 'idempotency-key': `chiave-${n}` }, n + 1)
    police.on.Send = (socket) => socket.resetAndDestroy()
    const lost = await ask()
    delete police.on.Send
    const { ricevuta, requestId } = lost.json()
    const open = { status: 422, codice: 'ESITO_SCONOSCIUTO', ricevuta: /^AW-/ }
    t.match(lost.json(), open)
    const again = await ask()
    t.match(again.json(), { ...open, ricevuta })
    t.not(again.json().requestId, requestId, 'the response is not the stored one')
    await deliveryOver(one)
    const id = Number(String(lost.headers.location).split('/').at(-1))
    t.equal((await decide(id, decision)).statusCode, 200)
    const decided = await ask()
    t.match(decided.json(), { ...expected, ricevuta }, decision)
    t.equal((await ask()).body, decided.body)
    t.equal(police.callsOf('Send').length, n + 1)
  }
})

t.test('after a client disconnect, a submission that cannot be sent stays ready', async (t) => {
  const { police, server: one } = await server(t, NEVER)
  const port = await listen(one.app)
  const testCall = held()
  police.on.Test = testCall.behaviour
  const body = JSON.stringify(invio([guestNo(1)]))
  const client = httpRequest({
    host: '127.0.0.1',
    port,
    path: SEND,
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }
  })
  client.on('error', () => {})
  client.end(body)
  await testCall.arrived
  client.destroy()
  await until(async () =>
    await new Promise<number>((resolve) => one.app.server.getConnections((_err, n) => resolve(n))) === 0
  )
  testCall.release((socket) => socket.destroy())
  await until(async () => await stateOf(one) === 'pronto')
  t.same(await one.app.sql`select esito from invii_schedine`, [{ esito: 'in_corso' }])
})

t.test('check, dry run, apartments and receipts respond in time when the police hangs', async (t) => {
  for (const hanging of ['GenerateToken', 'rest']) {
    const { police, server: { call }, send } = await server(t, SOON)
    const operations = hanging === 'rest' ? ['Authentication_Test', 'Test', 'Tabella', 'Ricevuta'] : [hanging]
    for (const operation of operations) police.on[operation] = () => {}
    t.match((await call('GET', '/api/alloggiati/check')).json(), {
      connected: false, status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE'
    })
    t.match((await call('POST', SEND, invio([guestNo(1)], { testMode: true }))).json(), {
      status: 422,
      codice: 'SERVIZIO_NON_RAGGIUNGIBILE'
    })
    const unreachable = { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' }
    t.match((await call('GET', '/api/v1/appartamenti')).json(), unreachable)
    const yesterday = addDays(testClock().today(), -1)
    t.match((await call('GET', `/api/alloggiati/ricevute?data=${yesterday}`)).json(), unreachable)
    t.match((await send()).json(), { status: 422, codice: 'INVIO_IN_CORSO' })
  }
})

t.test('a decision to send again is refused while the earlier attempt may still arrive',
  async (t) => {
    const { police, server: one, send } = await reset(never)
    police.on.Send = (socket) => socket.resetAndDestroy()
    await send()
    delete police.on.Send
    const { decide } = administrator(one)
    const [{ end } = { end: '' }] = await one.app.sql<{ end: string }[]>`
      select to_char(date_trunc('minute', consegna_entro + interval '59.999 seconds') at time zone 'Europe/Rome',
        'HH24:MI') as end from invii_tentativi`
    const refused = await decide(1, 'reinvia')
    t.match(refused.json(), { status: 409, codice: 'DECISIONE_NON_POSSIBILE' })
    t.match(refused.json().error, `dalle ${end}`)
    t.equal(police.callsOf('Send').length, 1)
    await deliveryOver(one)
    t.equal((await decide(1, 'reinvia')).statusCode, 200)
    t.equal(police.callsOf('Send').length, 2)
  }
)

/* Submissions while the service refuses the login. `misbehaviours/` covers wrong replies. */

t.test('after refused credentials no guest is sent, and no retry follows that could lock the account', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  police.on.GenerateToken = response(
    envelope(
      '<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>false</esito>' +
        '<ErroreCod>100</ErroreCod><ErroreDes>AUTENTICAZIONE_FALLITA parola-di-prova</ErroreDes>' +
        '</result></GenerateTokenResponse>'
    )
  )
  for (const time of ['first', 'second']) {
    const refused = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    t.match(
      refused.json(),
      {
        success: false,
        status: 422,
        codice: 'CREDENZIALI_RIFIUTATE',
        dettagli: { messaggio_soap: /AUTENTICAZIONE_FALLITA/ }
      },
      time
    )
    t.notMatch(refused.body, 'parola-di-prova', 'the password is not repeated')
  }
  t.same(police.calls.map(({ operation }) => operation), ['GenerateToken'])
})
