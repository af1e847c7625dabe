import t from 'tap'
import type { TlsOptions } from 'node:tls'
import { CALLS, failureOf } from './calls.ts'
import { selfSigned } from './certificate.ts'
import { answer, clientOf, fixture, recorder } from './server.ts'

const SEND = answer(fixture('Send-risposta'))
const own = selfSigned(t.testdir(), 'IP:127.0.0.1')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false
if (skip) t.comment(skip)

t.test('a certificate that nobody vouches for is refused before anything is sent', { skip }, async (t) => {
  const server = await recorder(t, SEND, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), {
    kind: 'tls',
    sent: false,
    reason: 'DEPTH_ZERO_SELF_SIGNED_CERT'
  })
  t.equal(server.bytes, 0)
})

t.test('the same certificate is accepted when it is given as trusted, as text or as bytes', { skip }, async (t) => {
  const server = await recorder(t, SEND, { ...own })
  for (const ca of [own!.cert, Buffer.from(own!.cert)]) {
    const client = clientOf(server, { ca })
    t.match(await CALLS.Send(client), { httpStatus: 200 })
    t.match(await CALLS.Send(client), { httpStatus: 200 }, 'and again by the same client')
  }
})

t.test('a trusted certificate of another name is refused', { skip }, async (t) => {
  const other = selfSigned(t.testdir(), 'DNS:altro.example')
  const server = await recorder(t, SEND, { ...other })
  const call = CALLS.Send(clientOf(server, { ca: other?.cert }))
  t.match(await failureOf(call), { kind: 'tls', sent: false, reason: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  t.equal(server.bytes, 0)
})

t.test('the server is told the name that is asked for', { skip }, async (t) => {
  const named = selfSigned(t.testdir(), 'DNS:localhost')
  const names: string[] = []
  const server = await recorder(t, SEND, { ...named, SNICallback: (name, done) => { names.push(name); done(null) } })
  await CALLS.Send(clientOf({ url: server.url.replace('127.0.0.1', 'localhost') }, { ca: named?.cert }))
  t.same(names, ['localhost'])
})

t.test('verification cannot be turned off from outside', { skip }, async (t) => {
  t.intercept(process, 'emitWarning', { value: () => {} })
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  t.teardown(() => { delete process.env.NODE_TLS_REJECT_UNAUTHORIZED })
  const server = await recorder(t, SEND, { ...own })
  t.match(await failureOf(CALLS.Send(clientOf(server))), { kind: 'tls', sent: false })
})

t.test('TLS older than 1.2 is refused, 1.2 itself is not', { skip }, async (t) => {
  const versions: TlsOptions = { ...own, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' }
  const old = await recorder(t, SEND, { ...versions, maxVersion: 'TLSv1.1' })
  const enough = await recorder(t, SEND, { ...versions, maxVersion: 'TLSv1.2' })
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
  const server = await recorder(t, SEND, { ...own })
  const ca = '-----BEGIN CERTIFICATE-----\nprova\n-----END CERTIFICATE-----\n'
  t.match(await failureOf(CALLS.Send(clientOf(server, { ca }))), { kind: 'tls', sent: false })
})
