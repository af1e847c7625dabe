import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TlsOptions } from 'node:tls'
import { inspect } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { soapClient } from '#src/alloggiati/service/soap/soap-client.ts'
import type { Operation, RichiestaSchedine } from '#src/alloggiati/service/soap/contract.ts'
import { AlloggiatiCredentialsError } from '#src/alloggiati/service/soap/errors.ts'
import { tokenSource } from '#src/alloggiati/service/soap/token.ts'
import type { Clock } from '#src/lib/time.ts'
import { CALLS, failureOf, plainResponse } from './calls.ts'
import { selfSigned } from './certificate.ts'
import { response, type Behaviour, clientOf, closedPort, fixture, type Received, recorder, respond } from './server.ts'
import { envelope, find, type Node, parse, rowsOf } from './xml.ts'

const OPERATIONS = Object.keys(CALLS) as Operation[]
const access = { Utente: 'RM000001', token: 'gettone' }

t.test('every operation is sent with its own name and gets its response', async (t) => {
  t.equal(OPERATIONS.length, 10)
  for (const operation of OPERATIONS) {
    const server = await recorder(t, response(plainResponse(operation)))
    const reply = await CALLS[operation](clientOf(server))
    t.match(reply, { httpStatus: 200, raw: plainResponse(operation) })
    t.match(Object.values(reply.result), [{}], operation)
    t.ok(find(parse(server.received[0]!.body), `{AlloggiatiService}${operation}`), operation)
  }
})

t.test('requests equal the samples', async (t) => {
  for (const [operation, file] of [
    ['GenerateToken', 'GenerateToken-richiesta'],
    ['Send', 'Send-richiesta'],
    ['Ricevuta', 'Ricevuta-richiesta'],
    ['Tabella', 'Tabella-richiesta'],
    ['GestioneAppartamenti_AggiungiAppartamento', 'GestioneAppartamenti_AggiungiAppartamento-richiesta']
  ] as const) {
    const server = await recorder(t, response(plainResponse(operation)))
    await CALLS[operation](clientOf(server))
    t.same(parse(server.received[0]!.body), parse(fixture(file)), file)
  }
})

t.test('the media type names the action', async (t) => {
  const server = await recorder(t, response(plainResponse('GenerateToken')))
  await CALLS.GenerateToken(clientOf(server))
  const [{ head }] = server.received as [Received]
  t.match(head, /^POST \/service\.asmx HTTP\/1\.1\r\n/)
  t.match(head, /^content-type: application\/soap\+xml; charset=utf-8; action="AlloggiatiService\/GenerateToken"$/im)
  t.notMatch(head, /^soapaction/im)
})

const MANUAL_ORDER = [
  'GenerateToken', 'Authentication_Test', 'Test', 'Send', 'GestioneAppartamenti_Test', 'GestioneAppartamenti_Send',
  'GestioneAppartamenti_FileUnico_Test', 'GestioneAppartamenti_FileUnico_Send',
  'GestioneAppartamenti_AggiungiAppartamento', 'GestioneAppartamenti_DisabilitaAppartamento', 'Ricevuta', 'Tabella'
] as const
const manual = new URL('../../../../../shared/data/alloggiati/envelopes/', import.meta.url)
const withoutManual = existsSync(manual)
  ? false
  : 'the samples of the official manual are not distributed: only our own samples are tested'
if (withoutManual) t.comment(withoutManual)

t.test('requests have the elements of the samples in the official manual', { skip: withoutManual }, async (t) => {
  for (const [index, operation] of MANUAL_ORDER.entries()) {
    if (operation === 'GestioneAppartamenti_Test' || operation === 'GestioneAppartamenti_Send') continue
    const read = (suffix: string) =>
      readFileSync(new URL(`${String(index + 1).padStart(2, '0')}_${operation}_${suffix}.xml`, manual), 'utf8')
    const server = await recorder(t, response(read(operation === 'Test' ? 'res_mixed' : 'res')))
    const { result } = await CALLS[operation](clientOf(server))
    t.match(Object.values(result).find((value) => 'esito' in Object(value)), { esito: true, ErroreCod: '' }, operation)
    t.same(outline(server.received[0]!.body), outline(read('req')), operation)
  }
})

/** The names of all elements in order. Repeated ones count once, because the samples have another number of rows. */
function outline (xml: string): string[] {
  const names = (node: Node): string[] => [node.name, ...node.children.flatMap(names)]
  return names(parse(xml)).filter((name, index, all) => name !== all[index - 1])
}

t.test('any row is sent byte for byte', async (t) => {
  const server = await recorder(t, response(fixture('Send-risposta')))
  const client = clientOf(server)
  const piece = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom(
      '   ', '&', '<', '>', '"', "'", '&amp;', '&#65;', '<![CDATA[', ']]>', '<!--', '<?xml version="1.0"?>', '\t',
      '\n', '\r', '$xml'
    )
  )
  const row = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''))
    .filter((text) => !/[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u.test(text))
  await fc.assert(fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 5 }), async (rows) => {
    server.received.length = 0
    await client.Send({ ...access, ElencoSchedine: { string: rows } })
    t.same(rowsOf(server.received[0]!.body), rows)
  }), { numRuns: 60 })
})

t.test('a value that XML or the contract cannot contain is refused before connecting, and not quoted', async (t) => {
  const server = await recorder(t, response(fixture('Send-risposta')))
  const client = clientOf(server)
  const rows = (row: string): RichiestaSchedine => ({ ...access, ElencoSchedine: { string: ['riga', row] } })
  for (const character of ['\0', '\x01', '\x0B', '\x1F', '\uFFFE', '\uFFFF', '\uD800', '\uDC00', '\uDC00\uD800']) {
    const error = await failureOf(client.Send(rows(`ROSSI${character}`)))
    t.match(error, { kind: 'invalid-request', sent: false, reason: 'ElencoSchedine' })
    t.notMatch(String(error), 'ROSSI')
  }
  for (const IdAppartamento of [-1, 1.5, NaN, Infinity, 2 ** 31]) {
    t.match(await failureOf(client.GestioneAppartamenti_DisabilitaAppartamento({ ...access, IdAppartamento })), {
      kind: 'invalid-request', sent: false, reason: 'IdAppartamento'
    })
  }
  for (const Data of ['2026-02-30', '2026-3-1', '2026-03-01T00:00:00', '']) {
    t.match(await failureOf(client.Ricevuta({ ...access, Data })), {
      kind: 'invalid-request', sent: false, reason: 'Data'
    })
  }
  t.equal(server.connections, 0)
})

t.test('the day of a receipt is midnight without zone, even on a day when clocks change', async (t) => {
  const server = await recorder(t, response(fixture('Ricevuta-risposta')))
  for (const Data of ['2026-03-29', '2026-10-25', '2026-07-01']) await clientOf(server).Ricevuta({ ...access, Data })
  t.same(server.received.map(({ body }) => find(parse(body), '{AlloggiatiService}Data')?.text), [
    '2026-03-29T00:00:00', '2026-10-25T00:00:00', '2026-07-01T00:00:00'
  ])
})

t.test('responses have the types of the contract', async (t) => {
  const client = async (file: string) => clientOf(await recorder(t, response(fixture(file))))
  const good = { esito: true, ErroreCod: '', ErroreDes: '', ErroreDettaglio: '' }
  const rejected = {
    esito: false,
    ErroreCod: '12',
    ErroreDes: 'SCHEDINA_CAMPO_NON_CORRETTO',
    ErroreDettaglio: 'Data di Arrivo Errata'
  }

  const token = await (await client('GenerateToken-risposta')).GenerateToken({ Utente: '', Password: '', WsKey: '' })
  t.strictSame(token.result, {
    GenerateTokenResult: {
      issued: new Date('2026-03-29T00:30:00.123Z'), expires: new Date('2026-03-29T01:30:00.123Z'), token: 'gettone'
    },
    result: good
  })
  const refused = await (await client('GenerateToken-rifiuto')).GenerateToken({ Utente: '', Password: '', WsKey: '' })
  t.match(refused.result, { GenerateTokenResult: { token: '' }, result: { esito: false, ErroreCod: '100' } })

  const rows = { ...access, ElencoSchedine: { string: ['a', 'b'] } }
  const test = await (await client('Test-risposta-mista')).Test(rows)
  t.strictSame(test.result, { TestResult: good, result: { SchedineValide: 1, Dettaglio: [good, rejected] } })
  const single = await (await client('Send-risposta')).Send(rows)
  t.strictSame(
    single.result,
    { SendResult: good, result: { SchedineValide: 1, Dettaglio: [good] } },
    'a single row is a list as well'
  )

  const table = await (await client('Tabella-risposta')).Tabella({ ...access, tipo: 'ListaAppartamenti' })
  t.match(table.result.CSV.split('\n'), [
    'IDAPP;Descrizione;COMUNE;PROV;Indirizzo;Proprietario',
    "0;CASA & BOTTEGA;ROMA;RM;VIA DELL'ESEMPIO 1;PROVA",
    /^7;/
  ])
  const receipt = await (await client('Ricevuta-risposta')).Ricevuta({ ...access, Data: '2026-03-29' })
  t.strictSame(receipt.result, { RicevutaResult: good, PDF: Buffer.from('%PDF-1.7\n%ä\n') })
  t.strictSame((await (await client('Authentication_Test-risposta')).Authentication_Test(access)).result, {
    Authentication_TestResult: good
  })
})

t.test('empty or missing elements become an empty text, an empty list or undefined', async (t) => {
  const server = await recorder(t, response(plainResponse('Send')))
  const client = clientOf(server)
  const rows = { ...access, ElencoSchedine: { string: ['a'] } }
  const withResult = (inner: string) => plainResponse('Send').replace('</SendResponse>', `${inner}</SendResponse>`)
  t.equal((await client.Send(rows)).result.result, undefined)
  for (const list of ['', '<Dettaglio/>', '<Dettaglio></Dettaglio>']) {
    server.behaviour = response(withResult(`<result><SchedineValide>0</SchedineValide>${list}</result>`))
    t.strictSame((await client.Send(rows)).result.result, { SchedineValide: 0, Dettaglio: [] })
  }
  server.behaviour = response(plainResponse('Tabella'))
  t.equal((await client.Tabella({ ...access, tipo: 'Luoghi' })).result.CSV, '')
  for (const pdf of ['', '<PDF/>']) {
    server.behaviour = response(plainResponse('Ricevuta').replace('</RicevutaResponse>', `${pdf}</RicevutaResponse>`))
    t.equal((await client.Ricevuta({ ...access, Data: '2026-03-29' })).result.PDF, undefined)
  }
  server.behaviour = response(
    plainResponse('Ricevuta').replace('</RicevutaResponse>', '<PDF>non è base64</PDF></RicevutaResponse>')
  )
  t.match(await failureOf(client.Ricevuta({ ...access, Data: '2026-03-29' })), { kind: 'malformed', reason: 'PDF' })
})

const SEND = fixture('Send-risposta')

t.test('a SOAP fault is recognised in both versions and with any HTTP status', async (t) => {
  for (const status of ['200 OK', '400 Bad Request', '500 Internal Server Error']) {
    const httpStatus = Number(status.slice(0, 3))
    for (const file of ['fault-soap11', 'fault-soap12']) {
      const server = await recorder(t, respond(status, fixture(file)))
      const expected = { kind: 'fault', sent: true, httpStatus, raw: fixture(file) }
      t.match(await failureOf(CALLS.Send(clientOf(server))), expected)
    }
  }
})

t.test('the error of a failed call contains the reply as evidence, hidden from loggers', async (t) => {
  const page = '<html>però</html>'
  const server = await recorder(t, respond('500 Internal Server Error', page))
  const error = await failureOf(CALLS.Send(clientOf(server)))
  t.match(error, { raw: page })
  t.notMatch(JSON.stringify(error), 'html')
})

t.test('only the expected element in the expected namespaces is a valid response', async (t) => {
  const send = /<SendResponse.*<\/SendResponse>/.exec(SEND)?.[0] ?? ''
  const wrong: Record<string, string> = {
    'the answer of another operation': fixture('Test-risposta-mista'),
    'no namespace': SEND.replace(' xmlns="AlloggiatiService"', ''),
    'another namespace': SEND.replace('"AlloggiatiService"', '"http://servizio.example/"'),
    'a Body of another namespace': SEND.replace('<soap:Body>', '<Body xmlns="http://servizio.example/">').replace(
      '</soap:Body>',
      '</Body>'
    ),
    'an empty Body': envelope(''),
    'two answers in the Body': envelope(send + send),
    'another element after the answer': envelope(`${send}<a/>`),
    'a document type': SEND.replace('?>', '?><!DOCTYPE a [<!ENTITY b "c">]>'),
    'something after the end': `${SEND}<a/>`
  }
  for (const [name, body] of Object.entries(wrong)) {
    t.not(body, SEND)
    const server = await recorder(t, response(body))
    t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'malformed', sent: true, httpStatus: 200 }, name)
  }
})

t.test('a response is malformed when an element is missing, repeated or of another type', async (t) => {
  const wrong: Record<string, [from: string, to: string]> = {
    'no outcome of the call': ['SendResult', 'AltroResult'],
    'no esito': ['<esito>true</esito>', ''],
    'an esito that is neither true nor false': ['<esito>true</esito>', '<esito>forse</esito>'],
    'no count': ['<SchedineValide>1</SchedineValide>', ''],
    'a count in words': ['<SchedineValide>1<', '<SchedineValide>una<'],
    'a nil row': ['<Dettaglio>', '<Dettaglio><EsitoOperazioneServizio xsi:nil="true"/>'],
    'a text with elements in it': ['<ErroreDes/>', '<ErroreDes><a/></ErroreDes>']
  }
  for (const [name, [from, to]] of Object.entries(wrong)) {
    const body = SEND.replaceAll(from, to)
    t.not(body, SEND)
    const server = await recorder(t, response(body))
    t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'malformed', sent: true }, name)
  }
})

const CREDENTIALS = { utente: 'RM000001', password: 'segreta', wskey: 'chiave' }
const MINUTE = 60_000
const START = Date.parse('2026-05-01T10:00:00Z')

interface Login { issued?: Date, expires: Date, token: string }

function login ({ issued = new Date(START), expires, token }: Login): Behaviour {
  return response(
    envelope(
      '<GenerateTokenResponse xmlns="AlloggiatiService"><GenerateTokenResult>' +
        `<issued>${issued.toISOString()}</issued><expires>${expires.toISOString()}</expires>` +
        `<token>${token}</token></GenerateTokenResult>` +
        '<result><esito>true</esito></result></GenerateTokenResponse>'
    )
  )
}

function refusal (description = 'AUTENTICAZIONE_FALLITA'): Behaviour {
  return response(fixture('GenerateToken-rifiuto').replace('AUTENTICAZIONE_FALLITA', description))
}

async function setUp (t: Test, behaviour: Behaviour) {
  let now = START
  const clock: Clock = { now: () => new Date(now), today: () => '2026-05-01' }
  const server = await recorder(t, behaviour)
  const tokens = tokenSource(clientOf(server), CREDENTIALS, clock)
  return { server, tokens, moveTo: (minutes: number) => { now = START + minutes * MINUTE } }
}

const after = (minutes: number) => new Date(START + minutes * MINUTE)

t.test('a token is cached until five minutes before it expires', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  t.equal(await tokens.get(), 'primo')
  server.behaviour = login({ issued: after(55), expires: after(115), token: 'secondo' })
  moveTo(54)
  t.equal(await tokens.get(), 'primo')
  moveTo(55)
  t.equal(await tokens.get(), 'secondo')
  t.equal(server.received.length, 2)
})

t.test('parallel callers share one login', async (t) => {
  const { server, tokens } = await setUp(t, login({ expires: after(60), token: 'unico' }))
  t.same(await Promise.all([tokens.get(), tokens.get(), tokens.get()]), ['unico', 'unico', 'unico'])
  t.equal(server.received.length, 1)
})

t.test('a refused token is removed from the cache, unless a newer one replaced it', async (t) => {
  const { server, tokens } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  await tokens.get()
  server.behaviour = login({ expires: after(60), token: 'secondo' })
  tokens.invalidate('primo')
  t.equal(await tokens.get(), 'secondo')
  tokens.invalidate('primo')
  t.equal(await tokens.get(), 'secondo')
  t.equal(server.received.length, 2)
})

t.test('refused credentials are not retried for fifteen minutes', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, refusal())
  const first = await failureOf(tokens.get())
  t.ok(first instanceof AlloggiatiCredentialsError)
  t.match(first, { message: /rifiutate \(100\)$/, userText: /\(100\): AUTENTICAZIONE_FALLITA/ })
  server.behaviour = login({ expires: after(60), token: 'buono' })
  for (const minutes of [0, 5, 14.9]) {
    moveTo(minutes)
    t.match(await failureOf(tokens.get()), { name: 'AlloggiatiCredentialsError', message: /\(100\)/ })
    tokens.invalidate('un altro gettone')
  }
  t.equal(server.received.length, 1)
  moveTo(15)
  t.equal(await tokens.get(), 'buono')
})

t.test('when an old token is refused meanwhile, refused credentials are not retried', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, login({ expires: after(60), token: 'primo' }))
  await tokens.get()
  server.behaviour = refusal()
  moveTo(56)
  await failureOf(tokens.get())
  tokens.invalidate('primo')
  t.match(await failureOf(tokens.get()), { name: 'AlloggiatiCredentialsError' })
  t.equal(server.received.length, 2)
})

t.test('refused credentials are not repeated for 15 minutes, even if a person runs checks', async (t) => {
  const { server, tokens, moveTo } = await setUp(t, refusal())
  const checks = async () => {
    tokens.invalidate()
    return failureOf(tokens.get())
  }
  const refused = { name: 'AlloggiatiCredentialsError' }
  for (const error of await Promise.all([checks(), checks(), checks()])) t.match(error, refused)
  await checks()
  t.equal(server.received.length, 1)
  server.behaviour = login({ expires: after(60), token: 'buono' })
  moveTo(16)
  t.equal(await tokens.get(), 'buono')
})

t.test('credentials that the service repeats are not in the error', async (t) => {
  const { tokens } = await setUp(t, refusal('RM000001 segreta chiave'))
  const error = await failureOf(tokens.get())
  t.notMatch(String(error) + JSON.stringify(error), /RM000001|segreta|chiave/)
})

const REPLY = fixture('Send-risposta')

t.test('a redirect is not followed', async (t) => {
  const other = await recorder(t, response(REPLY))
  for (const status of ['301 Moved Permanently', '302 Found', '307 Temporary Redirect', '308 Permanent Redirect']) {
    const server = await recorder(t, respond(status, '', `Location: ${other.url}`))
    t.match(await failureOf(CALLS.Send(clientOf(server))), {
      kind: 'redirect', httpStatus: Number(status.slice(0, 3)), sent: true
    })
  }
  t.equal(other.connections, 0)
})

t.test('a closed port is a refused connection, and nothing was sent', async (t) => {
  const url = await closedPort()
  let asked = false
  const beforeWrite = async () => { asked = true }
  t.match(await failureOf(CALLS.Send(clientOf({ url }), { beforeWrite })), {
    kind: 'refused', sent: false, reason: 'ECONNREFUSED'
  })
  t.notOk(asked, 'a call without a connection is not recorded')
})

t.test('a name that does not resolve is reported, and nothing was sent', async (t) => {
  // The resolver refuses a label over 63 characters without a DNS query.
  const client = soapClient({ endpoint: `https://${'a'.repeat(64)}.invalid/` })
  t.match(await failureOf(CALLS.Send(client)), { kind: 'dns', sent: false })
})

t.test('the caller\'s hook runs when the connection is open, before the first byte', async (t) => {
  const server = await recorder(t, response(REPLY))
  const beforeWrite = async () => {
    // Long enough that any bytes would arrive.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    t.equal(server.connections, 1)
    t.equal(server.bytes, 0)
  }
  await CALLS.Send(clientOf(server), { beforeWrite })
  t.equal(server.received.length, 1)
})

t.test('when the caller cannot record the call, nothing is sent', async (t) => {
  const server = await recorder(t, response(REPLY))
  const cause = new Error('commit fallito')
  const beforeWrite = async () => { throw cause }
  t.match(await failureOf(CALLS.Send(clientOf(server), { beforeWrite })), { kind: 'before-write', sent: false, cause })
  t.equal(server.bytes, 0)
})

t.test('when the call times out before the first byte, nothing is sent', async (t) => {
  const server = await recorder(t, response(REPLY))
  const deadline = new AbortController()
  const beforeWrite = async () => deadline.abort(new DOMException('', 'TimeoutError'))
  t.match(await failureOf(CALLS.Send(clientOf(server), { beforeWrite, signal: deadline.signal })), {
    kind: 'timeout',
    sent: false
  })
  t.equal(server.bytes, 0)
})

t.test('a call that is aborted while it waits for the reply counts as sent', async (t) => {
  const caller = new AbortController()
  const server = await recorder(t, () => caller.abort())
  t.match(await failureOf(CALLS.Send(clientOf(server), { signal: caller.signal })), { kind: 'aborted', sent: true })
})

t.test('a reply that arrives before the request is sent ends the call, and nothing is sent', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  const opened = once(server, 'connection') as Promise<[Socket]>
  await once(server, 'listening')
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/service.asmx`
  const beforeWrite = async () => {
    const [socket] = await opened
    socket.on('error', () => {}).write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nno')
    await sleep(100)
  }
  t.match(await failureOf(CALLS.Send(clientOf({ url }), { beforeWrite })), { kind: 'reset', sent: false })
  const [socket] = await opened
  t.equal(socket.bytesRead, 0)
})

t.test('a reply that would change the protocol ends the call, which counts as sent', async (t) => {
  const server = await recorder(t, (socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n')
  })
  t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'reset', sent: true })
})

t.test('every call uses a new connection and asks to close it', async (t) => {
  const server = await recorder(t, response(REPLY))
  const client = clientOf(server)
  for (let call = 0; call < 3; call++) await CALLS.Send(client)
  t.equal(server.connections, 3)
  for (const { head } of server.received) t.match(head, /^connection: close$/im)
})

t.test('errors contain nothing of the call: no credentials, token, rows or reply', async (t) => {
  const secrets = /segreta|chiave|gettone|prima riga|RM000001/
  const check = async (t: Test, behaviour: Behaviour) => {
    const server = await recorder(t, behaviour)
    for (const call of [CALLS.GenerateToken, CALLS.Send]) {
      const error = await failureOf(call(clientOf(server)))
      t.notMatch(JSON.stringify(error) + String(error), secrets)
      t.notMatch(inspect(error, { depth: 9, showHidden: true }), secrets)
    }
  }
  const echo =
    (wrap: (text: string) => Behaviour): Behaviour =>
      (socket, received) => wrap(received.body.replace(/<[^>]*>/g, ' '))(socket, received)
  await check(t, echo((text) => respond('500 Internal Server Error', text)))
  await check(t, echo((text) => respond('200 OK', text)))
  await check(t, echo((text) => response(plainResponse('Send').replace('true', text))))
  await check(
    t,
    echo((text) => respond('500 Internal Server Error', fixture('fault-soap12').replace('Server was', text)))
  )
})

const RESPONSE = response(fixture('Send-risposta'))
const own = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false
if (skip) t.comment(skip)

t.test('an untrusted certificate is refused before anything is sent', { skip }, async (t) => {
  const server = await recorder(t, RESPONSE, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), {
    kind: 'tls', sent: false, reason: 'DEPTH_ZERO_SELF_SIGNED_CERT'
  })
  t.equal(server.bytes, 0)
})

t.test('a certificate that is configured as trusted is accepted, as text or as bytes', { skip }, async (t) => {
  const server = await recorder(t, RESPONSE, { ...own })
  for (const ca of [own!.cert, Buffer.from(own!.cert)]) {
    const client = clientOf(server, { ca })
    t.match(await CALLS.Send(client), { httpStatus: 200 })
    t.match(await CALLS.Send(client), { httpStatus: 200 }, 'the same client can call again')
  }
})

t.test('a trusted certificate for another name is refused', { skip }, async (t) => {
  const other = selfSigned(t.testdir(), 'DNS:altro.example')
  const server = await recorder(t, RESPONSE, { ...other })
  const call = CALLS.Send(clientOf(server, { ca: other?.cert }))
  t.match(await failureOf(call), { kind: 'tls', sent: false, reason: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  t.equal(server.bytes, 0)
})

t.test('the environment cannot turn off verification', { skip }, async (t) => {
  t.intercept(process, 'emitWarning', { value: () => {} })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => { delete process.env.NODE_TLS_REJECT_UNAUTHORIZED })
  const server = await recorder(t, RESPONSE, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'tls', sent: false })
})

t.test('TLS older than 1.2 is refused, and 1.2 is accepted', { skip }, async (t) => {
  const versions: TlsOptions = { ...own, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }
  const old = await recorder(t, RESPONSE, { ...versions, maxVersion: 'TLSv1.1' })
  const enough = await recorder(t, RESPONSE, { ...versions, maxVersion: 'TLSv1.2' })
  t.match(await failureOf(CALLS.Send(clientOf(old, { ca: own?.cert }))), { kind: 'tls', sent: false })
  t.match(await CALLS.Send(clientOf(enough, { ca: own?.cert })), { httpStatus: 200 })
})

t.test('a server that never completes the TLS handshake times out, and nothing was sent', async (t) => {
  const server = await recorder(t, () => {})
  const url = server.url.replace('http:', 'https:')
  t.match(await failureOf(CALLS.Send(clientOf({ url }, { connectTimeoutMs: 300 }))), {
    kind: 'connect-timeout',
    sent: false
  })
})
