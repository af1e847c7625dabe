import type { TlsOptions } from 'node:tls'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import { soapClient, type SoapClientOptions } from '#src/alloggiati/service/soap/client.ts'
import type { FailureKind } from '#src/alloggiati/service/soap/errors.ts'
import { CALLS, failureOf, plainAnswer } from './calls.ts'
import { selfSigned } from './certificate.ts'
import { answer, type Behaviour, clientOf, closedPort, fixture, recorder, respond } from './server.ts'

const HTML = '<!DOCTYPE html><html><body><h1>Servizio non disponibile</h1></body></html>'
const REPLY = fixture('Send-risposta')

interface Case {
  behaviour: Behaviour
  kind: FailureKind
  httpStatus?: number
  options?: Omit<SoapClientOptions, 'endpoint'>
}

/** Whatever comes after the request was written leaves open what the service did with it. */
const MISBEHAVIOURS: Record<string, Case> = {
  'HTTP 500 with an HTML page': {
    behaviour: respond('500 Internal Server Error', HTML, 'Content-Type: text/html'),
    kind: 'http-status',
    httpStatus: 500
  },
  'HTTP 404 with an answer': { behaviour: respond('404 Not Found', REPLY), kind: 'http-status', httpStatus: 404 },
  'HTTP 200 with an HTML page': {
    behaviour: respond('200 OK', HTML, 'Content-Type: text/html'), kind: 'malformed', httpStatus: 200
  },
  'a compressed reply that nobody asked for': {
    behaviour: respond('200 OK', REPLY, 'Content-Encoding: gzip'), kind: 'malformed', httpStatus: 200
  },
  'something that is not HTTP': { behaviour: (socket) => socket.end('SSH-2.0-prova\r\n'), kind: 'malformed' },
  'fewer bytes than announced': {
    behaviour: (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${REPLY}`),
    kind: 'reset'
  },
  'a reset before the reply': { behaviour: (socket) => socket.resetAndDestroy(), kind: 'reset' },
  'a reset within the reply': {
    behaviour: (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${REPLY}`, () =>
        setImmediate(() => socket.resetAndDestroy())
      ),
    kind: 'reset'
  },
  'a reply larger than allowed': {
    behaviour: respond('200 OK', REPLY + ' '.repeat(10_000)),
    kind: 'too-large',
    httpStatus: 200,
    options: { maxBytes: 10_000 }
  },
  'silence beyond the deadline': { behaviour: () => {}, kind: 'timeout', options: { timeoutMs: 3000 } },
  'a trickle beyond the deadline': {
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n')
      const timer = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => clearInterval(timer))
    },
    kind: 'timeout',
    options: { timeoutMs: 3000 }
  }
}

t.test('every failure after the request was written counts as sent, and the request is never repeated', async (t) => {
  for (const [name, { behaviour, kind, httpStatus, options }] of Object.entries(MISBEHAVIOURS)) {
    const server = await recorder(t, behaviour)
    const failure = await failureOf(CALLS.Send(clientOf(server, options)))
    t.match(failure, { name: 'SoapTransportError', kind, httpStatus, sent: true }, name)
    t.equal(server.received.length, 1, name)
  }
})

t.test('a redirect is not followed', async (t) => {
  const other = await recorder(t, answer(REPLY))
  for (const status of ['301 Moved Permanently', '302 Found', '307 Temporary Redirect', '308 Permanent Redirect']) {
    const server = await recorder(t, respond(status, '', `Location: ${other.url}`))
    t.match(await failureOf(CALLS.Send(clientOf(server))), {
      kind: 'redirect', httpStatus: Number(status.slice(0, 3)), sent: true
    })
  }
  t.equal(other.connections, 0)
})

t.test('a closed port is a refusal, and nothing was sent', async (t) => {
  const url = await closedPort()
  let asked = false
  const beforeWrite = async () => { asked = true }
  t.match(await failureOf(CALLS.Send(clientOf({ url }), { beforeWrite })), {
    kind: 'refused', sent: false, reason: 'ECONNREFUSED'
  })
  t.notOk(asked, 'nothing is recorded for a call that found no connection')
})

t.test('a name that does not resolve is known, and nothing was sent', async (t) => {
  // A label over 63 characters cannot be put into a query: the resolver refuses it without asking anybody.
  const client = soapClient({ endpoint: `https://${'a'.repeat(64)}.invalid/` })
  t.match(await failureOf(CALLS.Send(client)), { kind: 'dns', sent: false })
})

t.test('the caller is asked on the open connection, before the first byte', async (t) => {
  const server = await recorder(t, answer(REPLY))
  const beforeWrite = async () => {
    // Long enough for bytes to arrive, were there any.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    t.equal(server.connections, 1)
    t.equal(server.bytes, 0)
  }
  await CALLS.Send(clientOf(server), { beforeWrite })
  t.equal(server.received.length, 1)
})

t.test('when the caller cannot record the call, nothing is sent', async (t) => {
  const server = await recorder(t, answer(REPLY))
  const cause = new Error('commit fallito')
  const beforeWrite = async () => { throw cause }
  t.match(await failureOf(CALLS.Send(clientOf(server), { beforeWrite })), { kind: 'before-write', sent: false, cause })
  t.equal(server.bytes, 0)
})

t.test('when the time is over before the first byte, nothing is sent', async (t) => {
  const server = await recorder(t, answer(REPLY))
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

t.test('every call has a connection of its own and asks to close it', async (t) => {
  const server = await recorder(t, answer(REPLY))
  const client = clientOf(server)
  for (let call = 0; call < 3; call++) await CALLS.Send(client)
  t.equal(server.connections, 3)
  for (const { head } of server.received) t.match(head, /^connection: close$/im)
})

t.test('errors carry nothing of the call: no credentials, no token, no rows, no reply', async (t) => {
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
  await check(t, echo((text) => answer(plainAnswer('Send').replace('true', text))))
  await check(
    t,
    echo((text) => respond('500 Internal Server Error', fixture('fault-soap12').replace('Server was', text)))
  )
})

const ANSWER = answer(fixture('Send-risposta'))
const own = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false
if (skip) t.comment(skip)

t.test('a certificate that nobody vouches for is refused before anything is sent', { skip }, async (t) => {
  const server = await recorder(t, ANSWER, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), {
    kind: 'tls', sent: false, reason: 'DEPTH_ZERO_SELF_SIGNED_CERT'
  })
  t.equal(server.bytes, 0)
})

t.test('the same certificate is accepted when it is given as trusted, as text or as bytes', { skip }, async (t) => {
  const server = await recorder(t, ANSWER, { ...own })
  for (const ca of [own!.cert, Buffer.from(own!.cert)]) {
    const client = clientOf(server, { ca })
    t.match(await CALLS.Send(client), { httpStatus: 200 })
    t.match(await CALLS.Send(client), { httpStatus: 200 }, 'and again by the same client')
  }
})

t.test('a trusted certificate of another name is refused', { skip }, async (t) => {
  const other = selfSigned(t.testdir(), 'DNS:altro.example')
  const server = await recorder(t, ANSWER, { ...other })
  const call = CALLS.Send(clientOf(server, { ca: other?.cert }))
  t.match(await failureOf(call), { kind: 'tls', sent: false, reason: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  t.equal(server.bytes, 0)
})

t.test('the server is told the name that is asked for', { skip }, async (t) => {
  const named = selfSigned(t.testdir(), 'DNS:localhost')
  const names: string[] = []
  const server = await recorder(t, ANSWER, { ...named, SNICallback: (name, done) => { names.push(name); done(null) } })
  await CALLS.Send(clientOf({ url: server.url.replace('127.0.0.1', 'localhost') }, { ca: named?.cert }))
  t.same(names, ['localhost'])
})

t.test('verification cannot be turned off from outside', { skip }, async (t) => {
  t.intercept(process, 'emitWarning', { value: () => {} })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => { delete process.env.NODE_TLS_REJECT_UNAUTHORIZED })
  const server = await recorder(t, ANSWER, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'tls', sent: false })
})

t.test('TLS older than 1.2 is refused, 1.2 itself is not', { skip }, async (t) => {
  const versions: TlsOptions = { ...own, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }
  const old = await recorder(t, ANSWER, { ...versions, maxVersion: 'TLSv1.1' })
  const enough = await recorder(t, ANSWER, { ...versions, maxVersion: 'TLSv1.2' })
  t.match(await failureOf(CALLS.Send(clientOf(old, { ca: own?.cert }))), { kind: 'tls', sent: false })
  t.match(await CALLS.Send(clientOf(enough, { ca: own?.cert })), { httpStatus: 200 })
})

t.test('a server that accepts and never shakes hands is given up, and nothing was sent', async (t) => {
  const server = await recorder(t, () => {})
  const url = server.url.replace('http:', 'https:')
  t.match(await failureOf(CALLS.Send(clientOf({ url }, { connectTimeoutMs: 300 }))), {
    kind: 'connect-timeout',
    sent: false
  })
})

t.test('a certificate that cannot be read stops the call, and nothing was sent', { skip }, async (t) => {
  const server = await recorder(t, ANSWER, { ...own })
  const ca = '-----BEGIN CERTIFICATE-----\nprova\n-----END CERTIFICATE-----\n'
  t.match(await failureOf(CALLS.Send(clientOf(server, { ca }))), { kind: 'tls', sent: false })
})
