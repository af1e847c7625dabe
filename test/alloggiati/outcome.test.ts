import t from 'tap'
import { answer, respond, type Behaviour } from '#test/alloggiati/soap/server.ts'
import { envelope } from '#test/alloggiati/soap/calls.ts'
import { guestNo, invio, production, refusalReply, rowsReply, standIn } from './stand-in.ts'

/* What each kind of reply to a Send does: to the answer, to the ledger, and to a second try. */

const html = respond.bind(null, '200 OK', '<html><body>Manutenzione</body></html>', 'Content-Type: text/html')
const fault = (code: string) => envelope(`<soap:Fault><soap:Code><soap:Value>soap:${code}</soap:Value></soap:Code>` +
  '<soap:Reason><soap:Text xml:lang="it">non riuscito</soap:Text></soap:Reason></soap:Fault>')
const truncated = (body: string): Behaviour => (socket) => {
  socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/soap+xml\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -100)}`)
}

/** Replies after which nobody can tell whether the rows were acquired. */
const UNKNOWN: Record<string, Behaviour> = {
  'a connection reset after the request was read': (socket) => socket.resetAndDestroy(),
  'a connection closed without a word': (socket) => socket.end(),
  'a reply that is cut off': truncated(rowsReply('Send', [true])),
  'a headline without the rest': (socket) => { socket.end('HTTP/1.1 200 OK\r\nContent-Le') },
  'bytes that are not HTTP': (socket) => { socket.end('220 mail.example.com ESMTP\r\n\r\n') },
  'a page of HTML with status 200': html(),
  'a page of HTML with status 500': respond('500 Internal Server Error', '<html/>', 'Content-Type: text/html'),
  'an empty 502': respond('502 Bad Gateway', ''),
  'a 503 of a proxy': respond('503 Service Unavailable', 'sovraccarico', 'Retry-After: 1'),
  'a 408': respond('408 Request Timeout', ''),
  'a 429': respond('429 Too Many Requests', ''),
  'a 400': respond('400 Bad Request', ''),
  'a redirect': respond('307 Temporary Redirect', '', 'Location: http://127.0.0.1:9/'),
  'malformed XML': answer(rowsReply('Send', [true]).replace('</SendResponse>', '')),
  'the element of another operation': answer(rowsReply('Test', [true])),
  'a fault of the server': respond('500 Internal Server Error', fault('Receiver'), 'Content-Type: application/soap+xml; charset=utf-8'),
  'a fault of the client': respond('500 Internal Server Error', fault('Sender'), 'Content-Type: application/soap+xml; charset=utf-8'),
  'a fault with a status that never reaches the service': respond('404 Not Found', fault('Receiver'), 'Content-Type: application/soap+xml; charset=utf-8'),
  'a count that the rows do not bear out': answer(rowsReply('Send', [true], 0)),
  'fewer outcomes than rows': answer(rowsReply('Send', [])),
  'more outcomes than rows': answer(rowsReply('Send', [true, true])),
  'a success without outcomes': answer(rowsReply('Send', [true]).replace(/<result>.*<\/result>/, '')),
  'a refusal of an unknown kind': answer(refusalReply('Send', 'ERRORE_GENERICO')),
  'a refusal for a token, with outcomes of rows beside it': answer(
    rowsReply('Send', [true]).replace('<SendResult><esito>true</esito><ErroreCod/><ErroreDes/>', '<SendResult><esito>false</esito><ErroreCod/><ErroreDes>TOKEN</ErroreDes>'))
}

/** Replies that prove that nothing was acquired, with what the caller is told. */
const NOT_SENT: Record<string, [Behaviour, string]> = {
  'a 404 of a web server': [respond('404 Not Found', '<html/>', 'Content-Type: text/html'), 'SERVIZIO_NON_RAGGIUNGIBILE'],
  'a 405 of a web server': [respond('405 Method Not Allowed', ''), 'SERVIZIO_NON_RAGGIUNGIBILE'],
  'a 413 of a web server': [respond('413 Content Too Large', ''), 'SERVIZIO_NON_RAGGIUNGIBILE'],
  'a 415 of a web server': [respond('415 Unsupported Media Type', ''), 'SERVIZIO_NON_RAGGIUNGIBILE'],
  'a refused token': [answer(refusalReply('Send', 'TOKEN_NON_VALIDO')), 'RIFIUTATO_DAL_SERVIZIO'],
  'a refused account': [answer(refusalReply('Send', 'AUTENTICAZIONE_FALLITA')), 'RIFIUTATO_DAL_SERVIZIO'],
  'a refused parameter': [answer(refusalReply('Send', 'ERRORE_PARAMETRO_ERRATO')), 'RIFIUTATO_DAL_SERVIZIO']
}

t.test('what proves nothing is of unknown outcome: recorded, alarmed, and never sent again', async (t) => {
  const police = await standIn(t)
  const { app, call, logs } = await production(t, police)
  for (const [at, [name, behaviour]] of Object.entries(UNKNOWN).entries()) {
    await t.test(name, async (t) => {
      police.on.Send = behaviour
      const body = invio([guestNo(at)])
      const answered = await call('POST', '/api/alloggiati/invio', body)
      t.equal(answered.statusCode, 422)
      const { ricevuta } = answered.json()
      t.match(answered.json(), { success: false, status: 422, codice: 'ESITO_SCONOSCIUTO', dettagli: { codice_errore: 'ESITO_SCONOSCIUTO' }, ricevuta: /^AW-\d{8}-\d+$/ })

      const [row] = await app.sql`
        select i.stato, s.esito as riga, a.esito as tentativo, a.concluso_il is not null as concluso
        from invii i join invii_schedine s on s.invio_id = i.id join invii_tentativi a on a.invio_id = i.id where i.ricevuta = ${ricevuta}`
      t.same(row, { stato: 'sconosciuto', riga: 'sconosciuta', tentativo: '?', concluso: true })
      t.ok(logs.some((line) => line.level === 50 && line.ricevuta === ricevuta), 'an error in the log names the submission')

      delete police.on.Send
      const again = await call('POST', '/api/alloggiati/invio', body)
      t.match(again.json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE', ricevuta, ospiti: [0] })
      t.equal(police.callsOf('Send').length, at + 1, 'one call for each guest, ever')
    })
  }
})

t.test('what proves that nothing was acquired leaves the guest free to be sent again', async (t) => {
  const police = await standIn(t)
  const { app, call } = await production(t, police)
  for (const [at, [name, [behaviour, cause]]] of Object.entries(NOT_SENT).entries()) {
    await t.test(name, async (t) => {
      police.on.Send = behaviour
      const body = invio([guestNo(at)])
      const refused = await call('POST', '/api/alloggiati/invio', body)
      t.match(refused.json(), { success: false, status: 422, codice: cause, dettagli: { codice_errore: cause } })
      const [row] = await app.sql`select stato from invii where ricevuta = ${refused.json().ricevuta}`
      t.same(row, { stato: 'non_inviato' })

      delete police.on.Send
      const again = await call('POST', '/api/alloggiati/invio', body)
      t.equal(again.statusCode, 200)
      t.not(again.json().ricevuta, refused.json().ricevuta)
    })
  }
})

t.test('after a refused token the next Send begins with a fresh login', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  police.on.Send = answer(refusalReply('Send', 'TOKEN_NON_VALIDO'))
  await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  delete police.on.Send
  await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await call('POST', '/api/alloggiati/invio', invio([guestNo(2)]))
  t.same(police.calls.map(({ operation }) => operation), ['GenerateToken', 'Send', 'GenerateToken', 'Send', 'Send'])
})

t.test('a service that is down sends nothing, and the same guest goes out once it is back', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  await police.stop()
  const down = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  t.equal(down.statusCode, 422)
  t.match(down.json(), { success: false, codice: 'SERVIZIO_NON_RAGGIUNGIBILE', dettagli: { codice_errore: 'SERVIZIO_NON_RAGGIUNGIBILE' } })
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

t.test('whatever the login answers, a login that fails sends nothing', async (t) => {
  const replies: Record<string, Behaviour> = {
    reset: (socket) => socket.resetAndDestroy(),
    html: respond('500 Internal Server Error', '<html/>'),
    'no token': answer(envelope('<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>true</esito></result></GenerateTokenResponse>')),
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
  police.on.GenerateToken = answer(envelope('<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>false</esito>' +
    '<ErroreCod>100</ErroreCod><ErroreDes>AUTENTICAZIONE_FALLITA parola-di-prova</ErroreDes></result></GenerateTokenResponse>'))
  for (const time of ['first', 'second']) {
    const refused = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    t.match(refused.json(), { success: false, status: 422, codice: 'CREDENZIALI_RIFIUTATE', dettagli: { messaggio_soap: /AUTENTICAZIONE_FALLITA/ } }, time)
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
