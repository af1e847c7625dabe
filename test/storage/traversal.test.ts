import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import fc from 'fast-check'
import t from 'tap'
import { testDatabase } from '#test/database.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { exchange, target } from '#test/raw.ts'
import { startServer } from '#test/running-server.ts'
import { noStrace, watchFiles } from './watched-files.ts'

const CANARY = 'segreto-che-nessuno-deve-leggere'
const CASES = 400
const STORED = /^[\da-f]{2}(?:\/[\da-f-]{36}(?:\.tmp)?)?$/

/** Steps out of a folder, and targets outside. */
const fragment = fc.constantFrom(
  '..', '.', '...', '....//', '/', '//', '\\', '..\\', 'etc', 'passwd', '/etc/passwd', 'master.key', 'segreto.txt',
  'postgres', 'files', 'public', 'documents', '\0', ' ', '~', 'file:', 'C:', '%', ';', '?x', '..;', '.git',
  'proc/self/environ', '12/0/front.jpg'
)
/** The encodings of a fragment in a URL. */
const encodings: Record<string, (text: string) => string> = {
  asItIs: (text) => text.replaceAll('\0', '%00').replaceAll(' ', '%20'),
  once: encodeEach((byte) => `%${byte}`),
  twice: encodeEach((byte) => `%25${byte}`),
  threeTimes: encodeEach((byte) => `%2525${byte}`),
  overlong: encodeEach((byte) => `%c0%${(0x80 + Number.parseInt(byte, 16) % 64).toString(16)}`),
  wide: encodeEach((byte) => `%u00${byte}`),
  fullWidth: (text) => encodeURIComponent(text.replaceAll('.', '\uff0e').replaceAll('/', '\uff0f'))
}
const piece = fc.tuple(fragment, fc.constantFrom(...Object.keys(encodings)))
  .map(([text, encoding]) => encodings[encoding]!(text))
const path = fc.tuple(
  fc.array(piece, { minLength: 1, maxLength: 6 }), fc.constantFrom('/', '%2f', '%5c', '%252f', '\\', '')
).map(([pieces, separator]) => pieces.join(separator))

/** A JSON body contains a name without any encoding. */
const name = fc.array(fragment, { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join('/'))
const way = fc.oneof(
  fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'PUT', 'POST', 'DELETE'),
    address: fc.constantFrom(
      '/api/storage/public/', '/api/storage/documents/', '/api/storage/', '/api/storage/signed-url?bucket=public&file=',
      '/storage/v1/object/public/', '/storage/v1/object/authenticated/public/', '/storage/v1/object/info/public/',
      '/storage/v1/object/sign/public/', '/storage/v1/object/upload/sign/public/', '/storage/v1/object/',
      '/storage/v1/bucket/', '/storage/v1/'
    ),
    path
  }).map(({ method, address, path }) => target(method, address + path, { 'x-api-key': API_KEY })),
  fc.record({
    address: fc.constantFrom(
      '/storage/v1/object/list/public', '/storage/v1/object/list-v2/public', '/storage/v1/object/move',
      '/storage/v1/object/copy', '/storage/v1/object/sign/public'
    ),
    name
  }).map(({ address, name }) => {
    const body = JSON.stringify({
      prefix: name,
      search: name,
      bucketId: 'public',
      sourceKey: name,
      destinationKey: name,
      expiresIn: 60,
      paths: [name]
    })
    const headers = {
      'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body))
    }
    return target('POST', address, headers) + body
  })
)

t.test('no URL, in any encoding, names a file outside the storage', { skip: noStrace }, async (t) => {
  const folder = temporaryFolder(t)
  const { PATH = '', HOME = '' } = process.env
  const { url } = await testDatabase(t)
  const server = await startServer({ PATH, HOME, DATA_DIR: folder, DATABASE_URL: url, RATE_LIMIT_MAX: '1000000' })
  t.teardown(() => server.kill())
  const port = Number(new URL(server.address).port)
  writeFileSync(join(folder, 'segreto.txt'), CANARY)
  mkdirSync(join(folder, 'public'))
  writeFileSync(join(folder, 'public', 'segreto.txt'), CANARY)
  const { root, get, put } = await prepare(server.address, folder)

  // A link in place of a file must not be followed.
  const id = await put('collegato')
  const linked = join(root, id.slice(0, 2), id)
  rmSync(linked)
  symlinkSync(join(folder, 'segreto.txt'), linked)

  const end = await watchFiles(server.pid, join(folder, 'calls'))
  await get('collegato').then((response) => t.notMatch(response, CANARY), () => {})
  let responses = 0
  await fc.assert(fc.asyncProperty(way, async (request) => {
    const { status, body, head } = await exchange(port, request)
    responses++
    return status >= 200 && status < 600 && !(head + body).includes(CANARY) && !body.includes('root:')
  }), { numRuns: CASES })
  t.match(await get('saluto'), 'ciao', 'the server keeps running')

  // Ignores the check of free disk space by one job, and the directory listing by which another job searches for
  // leftover chain heads.
  const calls = (await end()).filter(({ text, paths }) =>
    !text.includes(' statfs(') && !(paths.every((path) => path === folder) && text.includes('O_DIRECTORY')))
  const named = calls.flatMap(({ paths, text, succeeded }) => paths.map((path) => ({ path, text, succeeded })))
  t.ok(named.some(({ path }) => path.startsWith(root)), 'the trace shows reads of stored files')
  t.same(named.filter(({ path }) => !isAllowed(path, root, folder)).map(({ text }) => text), [])
  t.same(
    named.filter(({ path, succeeded }) => path === linked && succeeded).map(({ text }) => text), [],
    'the link is not followed'
  )
  t.comment(`traversal: ${responses} requests, ${calls.length} calls that name files, none outside the storage`)
})

/** The other files that a running server names: the heads of its chains. */
const HEADS = ['audit-chain.json', 'ledger-chain.json']
/** Files that glibc's malloc reads by itself: the number of CPUs, and the overcommit mode. */
const OF_THE_C_LIBRARY = ['/sys/devices/system/cpu/online', '/proc/sys/vm/overcommit_memory']

function isAllowed (path: string, root: string, folder: string): boolean {
  if (path === root || (path.startsWith(`${root}/`) && STORED.test(path.slice(root.length + 1)))) return true
  // Without a name the call is about an open file.
  if (path === '' || OF_THE_C_LIBRARY.includes(path)) return true
  return HEADS.some((head) => path.startsWith(join(folder, head)))
}

/** Sends a few requests, so that modules are loaded. */
async function prepare (address: string, folder: string) {
  const headers = { 'x-api-key': API_KEY }
  const object = (name: string) => `${address}/storage/v1/object/authenticated/public/${name}`
  const get = async (name: string) => await (await fetch(object(name), { headers })).text()
  const put = async (name: string) => {
    const response = await fetch(`${address}/storage/v1/object/public/${name}`, {
      method: 'PUT', headers: { ...headers, 'content-type': 'text/plain' }, body: 'ciao'
    })
    return (await response.json() as { Id: string }).Id
  }
  await put('saluto')
  await get('saluto')
  await get('manca')
  return { root: join(folder, 'files'), get, put }
}

function encodeEach (write: (byte: string) => string): (text: string) => string {
  return (text) => [...Buffer.from(text)].map((byte) => write(byte.toString(16).padStart(2, '0'))).join('')
}
