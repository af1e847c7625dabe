import t from 'tap'
import { answer, respond, type Behaviour } from '#test/alloggiati/service/soap/server.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { guestNo, invio, production, refusalReply, standIn } from './stand-in.ts'

/* What a service that is down, or lets nobody in, does to a submission. What wrong replies do is in misbehaviours/. */

t.test('after a refused token the next Send begins with a fresh login', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  police.on.Send = answer(refusalReply('Send', 'TOKEN_NON_VALIDO'))
  await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  delete police.on.Send
  await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
  t.same(police.calls.map(({ operation }) => operation), [
    'GenerateToken', 'Test', 'Send', 'GenerateToken', 'Test', 'Send', 'Test', 'Send'
  ])
})

t.test('a dry run whose token is refused logs in afresh once, and so does the next one', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  const dryRun = () => call('POST', '/api/alloggiati/invio', invio([guestNo(1)], { testMode: true }))
  police.on.Test = answer(refusalReply('Test', 'TOKEN_NON_VALIDO'))
  t.match((await dryRun()).json(), { status: 422, codice: 'RIFIUTATO_DAL_SERVIZIO' })
  delete police.on.Test
  t.equal((await dryRun()).statusCode, 200)
  t.same(police.calls.map(({ operation }) => operation), [
    'GenerateToken', 'Test', 'GenerateToken', 'Test', 'GenerateToken', 'Test'
  ])
})

t.test('a service that is down sends nothing, and the same guest goes out once it is back', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  await police.stop()
  const down = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  t.equal(down.statusCode, 422)
  t.match(down.json(), {
    success: false,
    codice: 'SERVIZIO_NON_RAGGIUNGIBILE',
    dettagli: { codice_errore: 'SERVIZIO_NON_RAGGIUNGIBILE' }
  })
  t.equal(police.calls.length, 0)
  await police.start()
  t.equal((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('a service that goes down between login and Send sends nothing', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  await call('GET', '/api/alloggiati/check')
  await police.stop()
  const down = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  t.match(down.json(), { status: 422, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' })
  await police.start()
  t.equal((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
})

t.test('a login that fails sends nothing, for every kind of failure', async (t) => {
  const replies: Record<string, Behaviour> = {
    reset: (socket) => socket.resetAndDestroy(),
    html: respond('500 Internal Server Error', '<html/>'),
    'no token': answer(
      envelope(
        '<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>true</esito></result></GenerateTokenResponse>'
      )
    ),
    malformed: answer('<Envelope>')
  }
  const police = await standIn(t)
  const { call } = await production(t, police)
  for (const [name, behaviour] of Object.entries(replies)) {
    police.on.GenerateToken = behaviour
    const failed = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    t.match(failed.json(), { status: 422, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' }, name)
  }
  delete police.on.GenerateToken
  t.equal((await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('refused credentials send nothing, and are not tried again at once: that could lock the account', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  police.on.GenerateToken = answer(
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

t.test('a dry run without a usable answer leaves nothing in doubt and nothing behind', async (t) => {
  const police = await standIn(t)
  const { app, call } = await production(t, police)
  police.on.Test = (socket) => socket.resetAndDestroy()
  const failed = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)], { testMode: true }))
  t.match(failed.json(), { success: false, status: 422, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' })
  t.notOk('ricevuta' in failed.json())
  t.same(await app.sql`select id from invii`, [])
})
