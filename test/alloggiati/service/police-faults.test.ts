import t from 'tap'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { respond, response, type Behaviour } from '#test/alloggiati/service/soap/server.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import {
  CREDENTIALS, guestNo, invio, production, refusalReply, standIn, type StandIn
} from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'

const ADD = 'GestioneAppartamenti_AggiungiAppartamento'
const DISABLE = 'GestioneAppartamenti_DisabilitaAppartamento'
const SEND = '/api/alloggiati/invio'
const APARTMENTS = '/api/v1/appartamenti'
const APARTMENT = {
  descrizione: 'Casa al lago', comune_codice: '412058091', indirizzo: 'Via dei Prati, 8', proprietario: 'Ada Provetti'
}
const receiptDay = addDays(testClock().today(), -2)

/** Requests that call the service without a Send, and the operation that each calls after the login. */
const REQUESTS = {
  ricevute: ['Ricevuta', 'GET', `/api/alloggiati/ricevute?data=${receiptDay}`, undefined],
  elenco: ['Tabella', 'GET', APARTMENTS, undefined],
  aggiunta: [ADD, 'POST', APARTMENTS, APARTMENT],
  disabilita: [DISABLE, 'DELETE', `${APARTMENTS}/0`, undefined],
  prova: ['Test', 'POST', SEND, invio([guestNo(1)], { testMode: true })],
  check: ['Authentication_Test', 'GET', '/api/alloggiati/check', undefined]
} as const
type Name = keyof typeof REQUESTS
type Wanted = readonly [status: number, codice: string | undefined]

const REFUSED: Wanted = [503, 'CREDENZIALI_RIFIUTATE']
const DOWN: Wanted = [503, 'SERVIZIO_NON_RAGGIUNGIBILE']
const UNKNOWN: Wanted = [422, 'ESITO_SCONOSCIUTO']
const all = (wanted: Wanted, more: Partial<Record<Name, Wanted>> = {}): Record<Name, Wanted> => ({
  ricevute: wanted,
  elenco: wanted,
  aggiunta: wanted,
  disabilita: wanted,
  prova: [422, wanted[1]],
  check: wanted,
  ...more
})
/** Without a reply it is unknown whether the change was made. */
const withoutReply = all(DOWN, { aggiunta: UNKNOWN, disabilita: UNKNOWN })

const login = (code: string, reason: string): Behaviour => response(envelope(
  `<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>false</esito><ErroreCod>${code}</ErroreCod>` +
    `<ErroreDes>${reason}</ErroreDes></result></GenerateTokenResponse>`))
/** Sets a behaviour for each operation after the login. */
const afterLogin = (behaviour: (operation: string) => Behaviour) => (police: StandIn) => {
  for (const [operation] of Object.values(REQUESTS)) police.on[operation] = behaviour(operation)
}
const refusing = (reason: string) => afterLogin((operation) => response(refusalReply(operation, reason)))
const asRefused = (reason: string) => [refusing(reason), all(REFUSED)] as const
const FAULT = respond('500 Internal Server Error', envelope(
  '<s:Fault><s:Code><s:Value>s:Receiver</s:Value></s:Code><s:Reason><s:Text>parola-di-prova</s:Text></s:Reason>' +
    '</s:Fault>'
), 'Content-Type: application/soap+xml')

const ECHO = `SEGRETO ${CREDENTIALS.ALLOGGIATI_PASSWORD} ${CREDENTIALS.ALLOGGIATI_WSKEY}`
const CASES: Readonly<Record<string, readonly [(police: StandIn) => unknown, Record<Name, Wanted>]>> = {
  'a wrong WSKEY': [({ on }) => { on.GenerateToken = login('102', `WSKEY_ERRATA ${ECHO}`) }, all(REFUSED)],
  'an expired password': [({ on }) => { on.GenerateToken = login('101', `PASSWORD_SCADUTA ${ECHO}`) }, all(REFUSED)],
  'a disabled user': [({ on }) => { on.GenerateToken = login('103', `UTENTE_DISABILITATO ${ECHO}`) }, all(REFUSED)],
  'a login refused without a reason': [({ on }) => { on.GenerateToken = login('', '') }, all(REFUSED)],
  'a login refused with a very long reason': [
    ({ on }) => { on.GenerateToken = login('9'.repeat(9000), ' A'.repeat(300_000)) }, all(REFUSED)
  ],
  'a refused token': asRefused('TOKEN_NON_VALIDO SEGRETO'),
  'a failed authentication': asRefused('AUTENTICAZIONE_FALLITA SEGRETO'),
  'refused credentials after the login': asRefused('CREDENZIALI_NON_VALIDE SEGRETO'),
  'a WSKEY that a password change revoked': asRefused('WsKey non valida'),
  'an expired password after the login': asRefused('Password scaduta'),
  'a request that is refused': [refusing(`ERRORE_PARAMETRO_ERRATO gettone ${ECHO}`), {
    ricevute: [404, 'RICEVUTA_NON_TROVATA'],
    elenco: [200, undefined],
    aggiunta: [422, 'APPARTAMENTO_RIFIUTATO'],
    disabilita: [422, 'APPARTAMENTO_RIFIUTATO'],
    prova: [422, 'RIFIUTATO_DAL_SERVIZIO'],
    check: REFUSED
  }],
  'a SOAP fault': [afterLogin(() => FAULT), withoutReply],
  'an error of the web server': [afterLogin(() => respond('503 Service Unavailable', '<html/>')), withoutReply],
  'a page in place of a reply': [afterLogin(() => response('<html><body>Manutenzione</body></html>')), withoutReply],
  'a connection that is reset': [afterLogin(() => (socket) => { socket.resetAndDestroy() }), withoutReply],
  'an empty reply': [afterLogin(() => response('')), withoutReply],
  'a login whose connection is reset': [
    ({ on }) => { on.GenerateToken = (socket) => { socket.resetAndDestroy() } }, all(DOWN)
  ],
  'a fault at the login': [({ on }) => { on.GenerateToken = FAULT }, all(DOWN)],
  'a service that is down': [(police) => police.stop(), all(DOWN)]
}

const police = await standIn(t)
/** Milliseconds by which the server's clock is ahead of the tests' clock. */
let ahead = 0
const noon = testClock()
const clock = { now: () => new Date(noon.now().getTime() + ahead), today: noon.today }
const server = await production(t, police, {}, { clock })
const { admin } = administrator(server)

/** Empties the server, drops its token, and lets the record of a refused login expire. */
async function reset (): Promise<void> {
  ahead += 16 * 60_000
  await emptied(server, police)
  await server.call('GET', '/api/alloggiati/check')
  police.on.Tabella = response(refusalReply('Tabella', 'TOKEN_NON_VALIDO'))
  await server.call('GET', APARTMENTS)
  police.forget()
  server.logs.length = 0
}

for (const [name, [misbehave, wanted]] of Object.entries(CASES)) {
  t.test(`every request maps ${name} to its expected response`, async (t) => {
    await reset()
    await misbehave(police)
    for (const [request, [, method, url, body]] of Object.entries(REQUESTS)) {
      const { statusCode, ...answer } = await admin(method, url, body)
      const { codice, error } = answer.json()
      t.same([statusCode, codice], wanted[request as Name], request)
      if (codice === 'CREDENZIALI_RIFIUTATE') t.match(error, /rifiutato le credenziali.*password.*nuova chiave WSKEY/)
      if (codice === 'SERVIZIO_NON_RAGGIUNGIBILE') t.notMatch(error, /credenziali|WSKEY/, request)
      if (codice === 'ESITO_SCONOSCIUTO') t.match(error, /Guardare l’elenco prima/)
      t.notMatch(answer.body, /gettone|parola-di-prova|chiave-di-prova/, request)
    }
    if (police.on.GenerateToken !== undefined && wanted.ricevute === REFUSED) {
      t.equal(police.callsOf('GenerateToken').length, 1, 'a refused login is not retried, even by the check')
    }
    t.notMatch(JSON.stringify(server.logs), /SEGRETO|parola-di-prova|WSKEY_ERRATA|A A A/, 'no text of the service')
    if (name === 'a service that is down') await police.start()
  })
}

t.test('messaggio_soap gives the reason in Italian', async (t) => {
  await reset()
  const reasonOf = async (method: 'POST', url: string, body: object) =>
    (await admin(method, url, body)).json().dettagli.messaggio_soap
  police.on.Send = (socket) => { socket.resetAndDestroy() }
  t.equal(await reasonOf('POST', SEND, invio([guestNo(2)])), 'connessione interrotta')
  police.on[ADD] = response('<html/>')
  t.equal(await reasonOf('POST', APARTMENTS, APARTMENT), 'risposta non riconosciuta')
  police.on.Test = respond('500 Internal Server Error', '')
  t.equal(await reasonOf('POST', SEND, invio([guestNo(3)], { testMode: true })), 'risposta HTTP inattesa')
  await police.stop()
  t.equal(await reasonOf('POST', SEND, invio([guestNo(4)], { testMode: true })), 'connessione rifiutata')
  await police.start()
})

t.test('when the service refuses a job, the log contains no text of the service', async (t) => {
  await reset()
  police.on.Tabella = response(refusalReply('Tabella', `ERRORE ${ECHO}`))
  police.on.Send = response(refusalReply('Send', `ERRORE ${ECHO}`))
  await admin('POST', '/api/v1/jobs/code-tables/avvia')
  t.match((await admin('POST', SEND, invio([guestNo(5)]))).json(), { status: 422, codice: 'ESITO_SCONOSCIUTO' })
  await server.app.stopJobs()
  t.match(server.logs.filter(({ level }) => level === 50).map(({ msg }) => msg), [/job|outcome/, /job|outcome/])
  t.notMatch(JSON.stringify(server.logs), /SEGRETO/)
})
