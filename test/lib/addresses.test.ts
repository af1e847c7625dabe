import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { soapClient } from '#src/alloggiati/service/soap/client.ts'
import { safeAddress, UnsafeAddress } from '#src/lib/addresses.ts'

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
