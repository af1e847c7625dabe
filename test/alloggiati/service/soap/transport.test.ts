import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { FailureKind } from '#src/alloggiati/service/soap/errors.ts'
import { soapClient, type SoapClientOptions } from '#src/alloggiati/service/soap/client.ts'
import { CALLS, failureOf, plainAnswer } from './calls.ts'
import { answer, clientOf, closedPort, fixture, recorder, respond, type Behaviour } from './server.ts'

const HTML = '<!DOCTYPE html><html><body><h1>Servizio non disponibile</h1></body></html>'
const SEND = fixture('Send-risposta')

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
  'HTTP 500 without content': {
    behaviour: respond('500 Internal Server Error', ''),
    kind: 'http-status',
    httpStatus: 500
  },
  'HTTP 401 without content': { behaviour: respond('401 Unauthorized', ''), kind: 'http-status', httpStatus: 401 },
  'HTTP 503 with a text': {
    behaviour: respond('503 Service Unavailable', 'tornare più tardi'),
    kind: 'http-status',
    httpStatus: 503
  },
  'HTTP 404 with the right answer': { behaviour: respond('404 Not Found', SEND), kind: 'http-status', httpStatus: 404 },
  'HTTP 202 with the right answer': { behaviour: respond('202 Accepted', SEND), kind: 'http-status', httpStatus: 202 },
  'HTTP 200 without content': { behaviour: respond('200 OK', ''), kind: 'malformed', httpStatus: 200 },
  'HTTP 200 with an HTML page': {
    behaviour: respond('200 OK', HTML, 'Content-Type: text/html'),
    kind: 'malformed',
    httpStatus: 200
  },
  'a compressed reply that nobody asked for': {
    behaviour: respond('200 OK', SEND, 'Content-Encoding: gzip'),
    kind: 'malformed',
    httpStatus: 200
  },
  'something that is not HTTP': { behaviour: (socket) => socket.end('SSH-2.0-prova\r\n'), kind: 'malformed' },
  'XML that stops in the middle': {
    behaviour: respond('200 OK', SEND.slice(0, SEND.length / 2)),
    kind: 'malformed',
    httpStatus: 200
  },
  'fewer bytes than announced': {
    behaviour: (socket) => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${SEND}`),
    kind: 'reset'
  },
  'chunks without an end': {
    behaviour: (socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${SEND.length.toString(16)}\r\n${SEND}\r\n`),
    kind: 'reset'
  },
  'a reset before the reply': { behaviour: (socket) => socket.resetAndDestroy(), kind: 'reset' },
  'an end before the reply': { behaviour: (socket) => socket.end(), kind: 'reset' },
  'a reset within the reply': {
    behaviour: (socket) =>
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${SEND}`, () =>
        setImmediate(() => socket.resetAndDestroy())
      ),
    kind: 'reset'
  },
  'a reply larger than allowed': {
    behaviour: respond('200 OK', SEND + ' '.repeat(10_000)),
    kind: 'too-large',
    httpStatus: 200,
    options: { maxBytes: 10_000 }
  },
  'a reply without end': {
    behaviour: (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = () => socket.write(' '.repeat(1000), (error) => (error ? undefined : setImmediate(more)))
      more()
    },
    kind: 'too-large',
    httpStatus: 200,
    options: { maxBytes: 100_000 }
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

for (const [name, { behaviour, kind, httpStatus, options }] of Object.entries(MISBEHAVIOURS)) {
  t.test(`${name} is no success, and the request counts as sent`, async (t) => {
    const server = await recorder(t, behaviour)
    t.match(await failureOf(CALLS.Send(clientOf(server, options))), {
      name: 'SoapTransportError',
      kind,
      httpStatus,
      sent: true
    })
    t.equal(server.received.length, 1, 'one request, never repeated')
  })
}

t.test('a redirect is not followed', async (t) => {
  const other = await recorder(t, answer(SEND))
  for (const status of ['301 Moved Permanently', '302 Found', '307 Temporary Redirect', '308 Permanent Redirect']) {
    const server = await recorder(t, respond(status, '', `Location: ${other.url}`))
    t.match(await failureOf(CALLS.Send(clientOf(server))), {
      kind: 'redirect',
      httpStatus: Number(status.slice(0, 3)),
      sent: true
    })
  }
  t.equal(other.connections, 0)
})

t.test('a closed port is a refusal, and nothing was sent', async (t) => {
  const url = await closedPort()
  let asked = false
  const beforeWrite = async () => { asked = true }
  t.match(await failureOf(CALLS.Send(clientOf({ url }), { beforeWrite })), {
    kind: 'refused',
    sent: false,
    reason: 'ECONNREFUSED'
  })
  t.notOk(asked, 'nothing is recorded for a call that found no connection')
})

t.test('a name that does not resolve is known, and nothing was sent', async (t) => {
  // A label over 63 characters cannot be put into a query: the resolver refuses it without asking anybody.
  const client = soapClient({ endpoint: `https://${'a'.repeat(64)}.invalid/` })
  t.match(await failureOf(CALLS.Send(client)), { kind: 'dns', sent: false })
})

t.test('the caller is asked on the open connection, before the first byte', async (t) => {
  const server = await recorder(t, answer(SEND))
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
  const server = await recorder(t, answer(SEND))
  const cause = new Error('commit fallito')
  const beforeWrite = async () => { throw cause }
  t.match(await failureOf(CALLS.Send(clientOf(server), { beforeWrite })), { kind: 'before-write', sent: false, cause })
  t.equal(server.bytes, 0)
})

t.test('when the time is over before the first byte, nothing is sent', async (t) => {
  const server = await recorder(t, answer(SEND))
  const deadline = new AbortController()
  const beforeWrite = async () => deadline.abort(new DOMException('', 'TimeoutError'))
  t.match(await failureOf(CALLS.Send(clientOf(server), { beforeWrite, signal: deadline.signal })), {
    kind: 'timeout',
    sent: false
  })
  t.equal(server.bytes, 0)
})

t.test('a signal that is already aborted opens no connection', async (t) => {
  const server = await recorder(t, answer(SEND))
  t.match(await failureOf(CALLS.Send(clientOf(server), { signal: AbortSignal.abort() })), {
    kind: 'aborted',
    sent: false
  })
  t.equal(server.connections, 0)
})

t.test('a call that is aborted while it waits for the reply counts as sent', async (t) => {
  const caller = new AbortController()
  const server = await recorder(t, () => caller.abort())
  t.match(await failureOf(CALLS.Send(clientOf(server), { signal: caller.signal })), { kind: 'aborted', sent: true })
})

t.test('every call has a connection of its own and asks to close it', async (t) => {
  const server = await recorder(t, answer(SEND))
  const client = clientOf(server)
  for (let call = 0; call < 3; call++) await CALLS.Send(client)
  t.equal(server.connections, 3)
  for (const { head } of server.received) t.match(head, /^connection: close$/im)
})

t.test('characters of several bytes survive any cut between packets', async (t) => {
  const server = await recorder(t, (socket) => {
    const bytes = Buffer.from(SEND.replace('<ErroreDes/>', '<ErroreDes>però €𝄞</ErroreDes>'))
    socket.setNoDelay(true)
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${bytes.length}\r\n\r\n`)
    const drip = (at: number): void => {
      if (at === bytes.length) socket.end()
      else socket.write(bytes.subarray(at, at + 1), () => drip(at + 1))
    }
    drip(0)
  })
  t.match((await CALLS.Send(clientOf(server))).result, { SendResult: { ErroreDes: 'però €𝄞' } })
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
      (socket, received) =>
        wrap(received.body.replace(/<[^>]*>/g, ' '))(socket, received)
  await check(t, echo((text) => respond('500 Internal Server Error', text)))
  await check(t, echo((text) => respond('200 OK', text)))
  await check(t, echo((text) => answer(plainAnswer('Send').replace('true', text))))
  await check(
    t,
    echo((text) => respond('500 Internal Server Error', fixture('fault-soap12').replace('Server was', text)))
  )
})
