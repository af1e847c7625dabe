import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { ADMIN, serverProcess } from '#test/server-process.ts'

const MIB = 1024 ** 2
const VIDEO = randomBytes(40 * MIB)

/** Sends a request on a separate connection, because a refused upload may end its connection. */
function send (method: string, url: string, body?: object): Promise<{ status: number | undefined, answer: unknown }> {
  return new Promise((resolve, reject) => {
    const content = Buffer.isBuffer(body) ? body : Buffer.from(body ? JSON.stringify(body) : '')
    const type = Buffer.isBuffer(body) ? 'video/mp4' : 'application/json'
    const headers = { 'x-api-key': API_KEY, ...body && { 'content-type': type, 'content-length': content.length } }
    request(url, { method, headers, agent: false }, (response) => {
      json(response).then((answer) => { resolve({ status: response.statusCode, answer }) }, reject)
    }).on('error', reject).end(content)
  })
}

t.test('uploads stop at the reserve of the disk, and the server can still start and delete files', async (t) => {
  const DATA_DIR = temporaryFolder(t)
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=600m,mode=700', 'tmpfs', DATA_DIR]).status === 0
  if (!mounted) return t.pass('a reserve', { skip: 'no file system of a bounded size can be mounted here' })
  t.teardown(() => spawnSync('umount', ['-l', DATA_DIR]))
  const room = () => statfsSync(DATA_DIR).bavail * statfsSync(DATA_DIR).bsize / MIB
  const environ = { DATA_DIR, API_KEY, DISK_RESERVE_MIB: '200', RATE_LIMIT_MAX: '1000000', ...ADMIN }
  const first = serverProcess(t, environ)
  const files = `${await first.ready}/storage/v1/object`

  const names: string[] = []
  let last = await send('POST', `${files}/public/video-0`, VIDEO)
  while (last.status === 200 && names.length < 20) {
    names.push(`video-${names.length}`)
    last = await send('POST', `${files}/public/video-${names.length}`, VIDEO)
  }
  t.match(last, { status: 507, answer: { statusCode: '507', code: 'InternalError', error: 'InsufficientStorage' } })
  t.ok(names.length > 0, `${names.length} files`)
  t.ok(room() > 190, `${Math.floor(room())} MiB are free`)
  t.notOk(readdirSync(join(DATA_DIR, 'files'), { recursive: true }).some((name) => String(name).endsWith('.tmp')))
  const filler = join(DATA_DIR, 'filler')
  writeFileSync(filler, Buffer.alloc(Math.max(0, Math.ceil(room() - 190)) * MIB))
  const copy = { bucketId: 'public', sourceKey: names[0], destinationKey: 'copia' }
  t.equal((await send('POST', `${files}/copy`, copy)).status, 507)
  t.match(await send('GET', new URL('/health/ready', files).href), { status: 200, answer: { stato: 'ok' } })
  first.signal('SIGTERM')
  t.equal(await first.exit, 0)

  const next = serverProcess(t, environ)
  const again = `${await next.ready}/storage/v1/object`
  t.match(await send('DELETE', `${again}/public`, { prefixes: names }), { status: 200 })
  rmSync(filler)
  await until(() => room() > 280)
  t.equal((await send('POST', `${again}/public/video-nuovo`, VIDEO)).status, 200)
  next.signal('SIGTERM')
  t.equal(await next.exit, 0)
})
