import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { isPublicAddress } from '#src/lib/public-addresses.ts'
import { receivers } from '#src/operations/webhooks/receivers.ts'
import { retryAfterMs } from '#src/operations/webhooks/retry-after.ts'
import { sender } from '#src/operations/webhooks/send.ts'
import { selfSigned } from '#test/alloggiati/service/soap/certificate.ts'
import { startReceiver } from './receiver.ts'

const NEVER = new AbortController().signal
const message = (url: string) => ({ url, headers: { 'content-type': 'application/json' }, body: '{}' })
const port = (url: string) => new URL(url).port

t.test('an address is public or not, in every spelling', async (t) => {
  for (const address of [
    '8.8.8.8', '151.1.1.1', '2a00:1450:4002:809::200e', '::ffff:8.8.8.8', '172.15.0.1', '172.32.0.1'
  ]) t.ok(isPublicAddress(address), address)
  for (const address of [
    '0.0.0.0', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '169.254.169.254', '172.16.0.1',
    '172.31.255.255', '192.0.0.192', '192.168.1.1', '198.18.0.1', '203.0.113.7', '224.0.0.1',
    '255.255.255.255', '168.63.129.16',
    '::', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '::7f00:1', '64:ff9b::7f00:1',
    'fc00::1', 'fd00:ec2::254', 'fe80::1', 'fec0::1', 'ff02::1', '2001::1', '2001:db8::1', '2002:7f00:1::',
    '3fff::1', '5f00::1', 'eventi.example', ''
  ]) t.notOk(isPublicAddress(address), address)
})

t.test('no IPv4 address becomes public by being written as IPv6', async () => {
  fc.assert(fc.property(fc.ipV4(), (address) => {
    const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
    const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
    return isPublicAddress(`::ffff:${hex}`) === isPublicAddress(address) && !isPublicAddress(`::${hex}`) &&
      !isPublicAddress(`64:ff9b::${hex}`) && !isPublicAddress(`2002:${hex}::1`)
  }), { numRuns: 200 })
})

t.test('what can be seen to be no receiver is refused when it is given, with the reason', async (t) => {
  const { faultOf } = receivers(false)
  t.equal(faultOf('https://eventi.example.org/a?b=c'), undefined)
  for (const [url, fault] of [
    ['eventi.example.org', /completo/],
    ['http://eventi.example.org/', /https/],
    ['https://io:segreto@eventi.example.org/', /credenziali/],
    ['https://eventi.example.org/#a', /frammento/],
    ['https://eventi.example.org:0/', /porta 0/],
    ['https://10.0.0.1/', /pubblico/],
    ['https://gestionale/', /pubblico/],
    ['https://gestionale.local/', /pubblico/]
  ] as const) t.match(faultOf(url), fault, url)
})

t.test('a name is asked for once, and nothing is sent where one of its addresses is not public', async (t) => {
  const receiver = await startReceiver(t)
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '127.0.0.1'], ['::ffff:127.0.0.1'], []]) {
    let asked = 0
    const send = sender(receivers(false, async () => { asked++; return addresses }), 5000)
    t.same(await send(message(`https://eventi.example:${port(receiver.url)}/`), NEVER), {
      stato_http: null, errore: 'INDIRIZZO_VIETATO'
    })
    t.equal(asked, 1)
  }
  for (const url of [receiver.url, receiver.url.replace('127.0.0.1', 'localhost')]) {
    const { errore } = await sender(receivers(false), 5000)(message(url), NEVER)
    t.equal(errore, 'INDIRIZZO_VIETATO', 'an address that was saved when it was allowed')
  }
  t.equal(receiver.received.length, 0)
})

t.test('a name that cannot be resolved is told by its code', async (t) => {
  const fault = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })
  const send = sender(receivers(false, async () => { throw fault }), 5000)
  t.match(await send(message('https://eventi.example/'), NEVER), { errore: 'ENOTFOUND' })
})

t.test('a name server that is silent takes no longer than an attempt may', async (t) => {
  // The limit keeps no process alive: a server has its sockets.
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => { clearInterval(alive) })
  const send = sender(receivers(false, () => new Promise(() => {})), 50)
  t.same(await send(message('https://eventi.example/'), NEVER), { stato_http: null, errore: 'TEMPO_SCADUTO' })
})

t.test('Retry-After is seconds or a date, and anything else is passed over', async (t) => {
  const now = Date.parse('2026-11-21T10:00:00Z')
  for (const [header, expected] of [
    ['0', 0], ['120', 120_000], ['Sat, 21 Nov 2026 10:00:30 GMT', 30_000], ['Sat, 21 Nov 2026 09:00:00 GMT', 0],
    ['soon', undefined], ['', undefined], [undefined, undefined],
    ['99999999999999', 99_999_999_999_999_000]
  ] as const) t.equal(retryAfterMs(header, now), expected, String(header))
})

const own = selfSigned(t.testdir(), 'DNS:eventi.example')
const skip = own === undefined ? 'openssl is not installed: no certificate to test with' : false

t.test('certificates are verified, and the connection goes to the address that was checked', { skip }, async (t) => {
  const receiver = await startReceiver(t, own)
  let asked = 0
  const resolve = async () => asked++ === 0 ? ['127.0.0.1'] : ['10.0.0.1']
  const url = `https://eventi.example:${port(receiver.url)}/`
  const refused = await sender(receivers(true, async () => ['127.0.0.1']), 5000)(message(url), NEVER)
  t.match(refused, { stato_http: null, errore: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  t.equal(receiver.received.length, 0)
  trust(t, own!.cert)
  const wrongName = await sender(receivers(true, resolve), 5000)(message(url.replace('eventi.', 'altri.')), NEVER)
  t.match(wrongName, { stato_http: null, errore: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  asked = 0
  t.same(await sender(receivers(true, resolve), 5000)(message(url), NEVER), { stato_http: 204, errore: null })
  t.equal(asked, 1)
  t.match(receiver.received, [{ headers: { host: `eventi.example:${port(receiver.url)}`, connection: 'close' } }])
})

/** The process trusts this certificate, too, no longer than the test lasts. */
function trust (t: Test, certificate: string): void {
  const before = getCACertificates('default')
  t.teardown(() => setDefaultCACertificates(before))
  setDefaultCACertificates([...before, certificate])
}
