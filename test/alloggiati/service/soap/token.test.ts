import t, { type Test } from 'tap'
import { AlloggiatiCredentialsError, SoapTransportError } from '#src/alloggiati/service/soap/errors.ts'
import { tokenSource } from '#src/alloggiati/service/soap/token.ts'
import type { Clock } from '#src/lib/time.ts'
import { failureOf } from './calls.ts'
import { answer, clientOf, fixture, recorder, respond, type Behaviour } from './server.ts'
import { envelope } from './xml.ts'

const CREDENTIALS = { utente: 'RM000001', password: 'segreta', wskey: 'chiave' }
const MINUTE = 60_000
const START = Date.parse('2026-05-01T10:00:00Z')

interface Login { issued?: Date, expires: Date, token: string }

function login ({ issued = new Date(START), expires, token }: Login): Behaviour {
  return answer(
    envelope(
      '<GenerateTokenResponse xmlns="AlloggiatiService"><GenerateTokenResult>' +
        `<issued>${issued.toISOString()}</issued><expires>${expires.toISOString()}</expires>` +
        `<token>${token}</token></GenerateTokenResult>` +
        '<result><esito>true</esito></result></GenerateTokenResponse>'
    )
  )
}

function refusal (description = 'AUTENTICAZIONE_FALLITA'): Behaviour {
  return answer(fixture('GenerateToken-rifiuto').replace('AUTENTICAZIONE_FALLITA', description))
}

async function setUp (t: Test, behaviour: Behaviour) {
  let now = START
  const clock: Clock = { now: () => new Date(now), today: () => '2026-05-01' }
  const server = await recorder(t, behaviour)
  const tokens = tokenSource(clientOf(server), CREDENTIALS, clock)
  return { server, tokens, moveTo: (minutes: number) => { now = START + minutes * MINUTE } }
}

const after = (minutes: number) => new Date(START + minutes * MINUTE)

t.test('a token of an hour is kept until five minutes before its end', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  t.equal(await tokens.get(), 'primo')
  server.behaviour = login({ issued: after(55), expires: after(115), token: 'secondo' })
  moveTo(54)
  t.equal(await tokens.get(), 'primo')
  moveTo(55)
  t.equal(await tokens.get(), 'secondo')
  t.equal(server.received.length, 2)
})

t.test('a token of ten minutes is kept until a tenth of its life is left', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ expires: after(10), token: 'primo' }))
  await tokens.get()
  server.behaviour = login({ issued: after(9), expires: after(19), token: 'secondo' })
  moveTo(8.9)
  t.equal(await tokens.get(), 'primo')
  moveTo(9)
  t.equal(await tokens.get(), 'secondo')
})

t.test('a service whose clock is ahead does not make a token last longer', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ issued: after(600), expires: after(660), token: 'primo' }))
  await tokens.get()
  server.behaviour = login({ expires: after(120), token: 'secondo' })
  moveTo(55)
  t.equal(await tokens.get(), 'secondo')
})

t.test('parallel callers share one login', async (t) => {
  const { server, tokens } = await setUp(t, login({ expires: after(60), token: 'unico' }))
  t.same(await Promise.all([tokens.get(), tokens.get(), tokens.get()]), ['unico', 'unico', 'unico'])
  t.equal(server.received.length, 1)
})

t.test('a token that the service refused is forgotten, a newer one is not', async (t) => {
  const { server, tokens } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  await tokens.get()
  server.behaviour = login({ expires: after(60), token: 'secondo' })
  tokens.invalidate('primo')
  t.equal(await tokens.get(), 'secondo')
  tokens.invalidate('primo')
  t.equal(await tokens.get(), 'secondo')
  t.equal(server.received.length, 2)
})

t.test('a login that was under way when everything was forgotten is not kept', async (t) => {
  let reply: () => void = () => {}
  let arrive: () => void = () => {}
  const arrived = new Promise<void>((resolve) => { arrive = resolve })
  const { server, tokens } = await setUp(t, (socket, received) => {
    reply = () => login({ expires: after(60), token: 'vecchio' })(socket, received)
    arrive()
  })
  const old = tokens.get()
  await arrived
  tokens.invalidate()
  server.behaviour = login({ expires: after(60), token: 'nuovo' })
  t.equal(await tokens.get(), 'nuovo')
  reply()
  t.equal(await old, 'vecchio')
  t.equal(await tokens.get(), 'nuovo')
})

t.test('refused credentials are not tried again for fifteen minutes', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, refusal())
  const first = await failureOf(tokens.get())
  t.ok(first instanceof AlloggiatiCredentialsError)
  t.match(first, { codice: '100', descrizione: 'AUTENTICAZIONE_FALLITA' })
  server.behaviour = login({ expires: after(60), token: 'buono' })
  for (const minutes of [0, 5, 14.9]) {
    moveTo(minutes)
    t.match(await failureOf(tokens.get()), { name: 'AlloggiatiCredentialsError', codice: '100' })
    tokens.invalidate('un altro gettone')
  }
  t.equal(server.received.length, 1)
  moveTo(15)
  t.equal(await tokens.get(), 'buono')
})

t.test('an old token that fails meanwhile does not have refused credentials tried again', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  await tokens.get()
  server.behaviour = refusal()
  moveTo(56)
  await failureOf(tokens.get())
  tokens.invalidate('primo')
  t.match(await failureOf(tokens.get()), { name: 'AlloggiatiCredentialsError' })
  t.equal(server.received.length, 2)
})

t.test('a person can have refused credentials tried again at once', async (t) => {
  const { server, tokens } = await setUp(t, refusal())
  await failureOf(tokens.get())
  server.behaviour = login({ expires: after(60), token: 'buono' })
  tokens.invalidate()
  t.equal(await tokens.get(), 'buono')
})

t.test('parallel callers of a refused login make one attempt', async (t) => {
  const { server, tokens } = await setUp(t, refusal())
  const outcomes = await Promise.all([tokens.get(), tokens.get(), tokens.get()].map(failureOf))
  t.ok(outcomes.every((outcome) => outcome instanceof AlloggiatiCredentialsError))
  t.equal(server.received.length, 1)
})

t.test('a service that does not answer is no refusal and may be asked again', async (t) => {
  const { server, tokens } = await setUp(t, respond('503 Service Unavailable', ''))
  t.ok(await failureOf(tokens.get()) instanceof SoapTransportError)
  server.behaviour = login({ expires: after(60), token: 'buono' })
  t.equal(await tokens.get(), 'buono')
})

t.test('a login without a token is malformed', async (t) => {
  const { tokens } = await setUp(t, login({ expires: after(60), token: '' }))
  t.match(await failureOf(tokens.get()), { kind: 'malformed', reason: 'token' })
})

t.test('credentials that the service repeats are not in the error', async (t) => {
  const { tokens } = await setUp(t, refusal('RM000001 segreta chiave'))
  const error = await failureOf(tokens.get())
  t.notMatch(String(error) + JSON.stringify(error), /RM000001|segreta|chiave/)
})
