import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { soapClient } from '#src/alloggiati/service/soap/client.ts'
import { addressMatcher, canonicalAddress, network, safeAddress, UnsafeAddress } from '#src/lib/addresses.ts'

const ALLOWED = [
  'https://servizio.example/service.asmx',
  'http://127.0.0.1:8080/',
  'http://127.9.8.7/',
  'http://localhost:1/',
  'http://[::1]:1/'
]
const REFUSED = [
  'http://servizio.example/',
  'http://127.0.0.1.servizio.example/',
  'http://localhost.servizio.example/',
  'http://10.0.0.1/',
  'http://[::2]/',
  'http://0.0.0.0/',
  'ftp://127.0.0.1/',
  'file:///etc/hosts',
  'https://utente:segreta@servizio.example/',
  'servizio.example',
  ''
]

t.test('https goes anywhere and http to loopback only', async (t) => {
  for (const url of ALLOWED) t.equal(safeAddress(url).href, new URL(url).href)
  for (const url of REFUSED) t.throws(() => safeAddress(url), UnsafeAddress, url)
})

t.test('a client for a forbidden address cannot be made', async (t) => {
  for (const endpoint of REFUSED) t.throws(() => soapClient({ endpoint }), UnsafeAddress, endpoint)
})

t.test('a refused address is not repeated in the error', async (t) => {
  t.throws(() => safeAddress('http://utente:segreta@servizio.example/'), { message: /^(?!.*(?:segreta|example))/ })
})

t.test('the address of the real service is in the WSDL and in no code', async (t) => {
  const folder = new URL('../../src/alloggiati/service/soap/', import.meta.url)
  const sources = readdirSync(folder).filter((name) => name.endsWith('.ts'))
  t.ok(sources.length > 0)
  for (const name of sources) t.notMatch(readFileSync(new URL(name, folder), 'utf8'), /poliziadistato/i, name)
})

const byte = fc.integer({ min: 0, max: 255 })
const ipv4 = fc.tuple(byte, byte, byte, byte).map((bytes) => bytes.join('.'))
/** Groups of which many are zero, as they are in addresses. */
const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), { minLength: 8, maxLength: 8 })

/** An IPv6 address in a way that is allowed: zeros before a group, capitals, a run of zeros left out. */
function spelled (values: readonly number[], [zeros, capitals, from, to]: readonly [boolean, boolean, number, number]) {
  const texts = values.map((value) => value.toString(16).padStart(zeros ? 4 : 1, '0'))
  const isLeftOut = from < to && values.slice(from, to).every((value) => value === 0)
  const text = isLeftOut ? `${texts.slice(0, from).join(':')}::${texts.slice(to).join(':')}` : texts.join(':')
  return capitals ? text.toUpperCase() : text
}
const way = fc.tuple(fc.boolean(), fc.boolean(), fc.nat(7), fc.nat(8))
const dressed = fc.constantFrom(
  (text: string) => text,
  (text: string) => ` ${text} `,
  (text: string) => (text.includes(':') ? `[${text}]` : text),
  (text: string) => (text.includes(':') ? `[${text}]:443` : `${text}:65535`),
  (text: string) => (text.includes(':') ? `${text}%eth0` : text)
)

t.test('all spellings of an address are one', async () => {
  fc.assert(fc.property(groups, way, way, dressed, (values, one, other, dress) => {
    const address = canonicalAddress(spelled(values, one))
    return (
      address !== undefined &&
      address === canonicalAddress(dress(spelled(values, other))) &&
      address === canonicalAddress(address) &&
      network(address) === values.slice(0, 4).map((value) => value.toString(16)).join(':')
    )
  }))
  fc.assert(fc.property(ipv4, dressed, fc.boolean(), fc.boolean(), (address, dress, asHex, capitals) => {
    const [a, b, c, d] = address.split('.').map(Number) as [number, number, number, number]
    const low = asHex ? `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}` : address
    const mapped = capitals ? `0:0:0:0:0:FFFF:${low}` : `::ffff:${low}`
    return canonicalAddress(dress(address)) === address && canonicalAddress(dress(mapped)) === address
  }))
})

t.test('what is no address has no spelling', async (t) => {
  for (const text of ['', 'unknown', '1.2.3', '1.2.3.4.5', '01.2.3.4', '1.2.3.4:a', '[1::2', '::1:', 'g::1', '[]:80']) {
    t.equal(canonicalAddress(text), undefined, text)
  }
  fc.assert(fc.property(fc.string(), (text) => canonicalAddress(text) === undefined || /[.:]/.test(text)))
})

t.test('a network holds its addresses in every spelling', async (t) => {
  const isProxy = addressMatcher(['10.0.0.0/8', '2001:db8::/32', '::1', '::ffff:192.0.2.0/120'])
  for (const inside of ['10.1.2.3', '::ffff:10.1.2.3', '[2001:DB8:0::1]:80', '0:0:0:0:0:0:0:1', '192.0.2.9:1']) {
    t.equal(isProxy(inside), true, inside)
  }
  for (const outside of ['11.1.2.3', '2001:db9::1', '::2', 'unknown', undefined]) t.equal(isProxy(outside), false)
})
