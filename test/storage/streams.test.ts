import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import t from 'tap'
import { objects } from '#drizzle/tables/storage.ts'
import { API_KEY, build } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'
import { store } from './samples.ts'

const test = await build(t)
const { app, call, dataDir, token } = test
const port = await listen(app)
const base = `http://127.0.0.1:${port}`
const KEY = { 'x-api-key': API_KEY }
/** More than any buffer on the way holds. */
const LARGE = Buffer.alloc(24 * 1024 * 1024, 7)
await store(test, 'public', 'grande', LARGE, { contentType: 'application/octet-stream' })
await app.inject({
  method: 'POST',
  url: '/storage/v1/bucket',
  headers: { authorization: `Bearer ${await token({ role: 'admin' })}` },
  payload: { name: 'piccolo', file_size_limit: 1000 }
})

/** The files in the folder of the storage, whatever they are. */
const filesOnDisk = () => readdirSync(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).map(({ name }) => name).sort()

t.test('a large file comes whole, and each part of it is the part that it says', async (t) => {
  const answer = await fetch(`${base}/api/storage/public/grande`, { headers: KEY })
  t.equal(LARGE.compare(Buffer.from(await answer.arrayBuffer())), 0)
  const part = await fetch(`${base}/api/storage/public/grande`, { headers: { ...KEY, range: 'bytes=65000-200000' } })
  t.equal(part.status, 206)
  t.equal((await part.arrayBuffer()).byteLength, 135_001)
})

t.test('a caller who does not read is cut, and its file closed', async (t) => {
  const hasty = await build(t, {}, undefined, { stalledReaderMs: 400 })
  await store(hasty, 'public', 'grande', LARGE, { contentType: 'application/octet-stream' })
  const socket = await openSocket(t, await listen(hasty.app), target('GET', '/api/storage/public/grande', KEY))
  // The answer has begun; nothing more is read.
  await once(socket, 'readable')
  const connections = () => new Promise<number>((resolve, reject) => {
    hasty.app.server.getConnections((err, count) => { err ? reject(err) : resolve(count) })
  })
  while (await connections() > 0) await wait(20)
  socket.resume()
  await once(socket, 'close')
  t.ok(socket.bytesRead > 0 && socket.bytesRead < LARGE.length, String(socket.bytesRead))
})

t.test('so many downloads of one caller are under way at a time', async (t) => {
  const sockets: Socket[] = []
  for (let count = 0; count < 16; count++) {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(target('GET', '/api/storage/public/grande', KEY))
    // The answer has begun; its end waits for a reader.
    await once(socket, 'readable')
    sockets.push(socket)
  }
  const refused = await call('GET', '/api/storage/public/grande')
  t.match(refused.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.notOk(refused.headers.etag, 'nothing of the file is in the refusal')
  t.ok(refused.headers['retry-after'])
  t.equal((await call('HEAD', '/api/storage/public/grande')).statusCode, 200)
  for (const socket of sockets) socket.destroy()
  while ((await call('GET', '/api/storage/public/grande', undefined, { range: 'bytes=0-1' })).statusCode === 503) {
    await wait(20)
  }
})

t.test('an upload whose client leaves half-way leaves neither row nor file', async (t) => {
  const before = filesOnDisk()
  const headers = { ...KEY, 'content-type': 'text/plain', 'content-length': String(LARGE.length) }
  const socket = await openSocket(t, port, target('POST', '/storage/v1/object/public/meta', headers))
  socket.write(LARGE.subarray(0, 3_000_000))
  while (filesOnDisk().length === before.length) await wait(20)
  socket.destroy()
  while (filesOnDisk().length > before.length) await wait(20)
  t.same(filesOnDisk(), before)
  t.same(await app.db.select().from(objects).where(eq(objects.name, 'meta')), [])
  const line = () => test.logs.find(({ method, status }) => method === 'POST' && (status === 400 || status === 499))
  while (!line()) await wait(20)
  const ofThis = test.logs.filter(({ reqId }) => reqId === line()!.reqId)
  t.same(ofThis.filter(({ level }) => Number(level) >= 40), [], 'nobody is called for that')
})

t.test('a client hears that its file is too large, also when it does not say how large it is', async (t) => {
  const before = filesOnDisk()
  const send = (body: RequestInit['body'], headers: Record<string, string>) => fetch(
    `${base}/storage/v1/object/piccolo/x`, { method: 'POST', headers: { ...KEY, ...headers }, body, duplex: 'half' })
  const form = new FormData()
  form.append('', new Blob([LARGE.subarray(0, 3_000_000)]), 'x')
  const pieces = () => new ReadableStream({
    start (controller) {
      for (let count = 0; count < 40; count++) controller.enqueue(LARGE.subarray(0, 65_536))
      controller.close()
    }
  })
  for (const [body, headers] of [[pieces(), { 'content-type': 'text/plain' }], [form, {}]] as const) {
    const answer = await send(body, headers as Record<string, string>)
    t.match(await answer.json(), { statusCode: '413', message: 'The object exceeded the maximum allowed size' })
  }
  t.equal((await call('GET', '/api/storage/piccolo/x')).statusCode, 404)
  while (filesOnDisk().length > before.length) await wait(20)
  t.same(filesOnDisk(), before)
})

t.test('a client that hangs up after its file was given up, and before it hears so, ends nothing else', async (t) => {
  const givenUp = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const slow = await build(t, {}, undefined, {
    wrapBackend: (backend) => ({
      ...backend,
      put: (id, content) => backend.put(id, content).catch(async (err: unknown) => {
        givenUp.resolve()
        await goOn.promise
        throw err
      })
    })
  })
  await slow.app.inject({
    method: 'POST',
    url: '/storage/v1/bucket',
    headers: { authorization: `Bearer ${await slow.token({ role: 'admin' })}` },
    payload: { name: 'piccolo', file_size_limit: 10 }
  })
  const headers = { ...KEY, 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }
  const socket = await openSocket(t, await listen(slow.app), target('POST', '/storage/v1/object/piccolo/x', headers))
  socket.write(`14\r\n${'x'.repeat(20)}\r\n`)
  await givenUp.promise
  const left = () => slow.logs.some(({ method, status }) => method === 'POST' && status === 499)
  socket.destroy()
  while (!left()) await wait(20)
  goOn.resolve()
  t.equal((await slow.call('GET', '/api/storage/piccolo/x')).statusCode, 404)
})

t.test('a form that is none, or is broken off, is refused as such', async (t) => {
  const part = '--x\r\nContent-Disposition: form-data; name=""; filename="a"\r\nContent-Type: text/plain\r\n\r\nab'
  for (const [type, payload] of [
    ['multipart/form-data', 'a=1'],
    ['multipart/form-data; boundary=', 'a=1'],
    ['multipart/form-data; boundary=x', 'no form'],
    ['multipart/form-data; boundary=x', part],
    ['multipart/form-data; boundary=x', part.slice(0, 30)]
  ] as const) {
    const headers = { ...KEY, 'content-type': type }
    const answer = await app.inject({ method: 'POST', url: '/storage/v1/object/public/modulo', headers, payload })
    t.equal(answer.statusCode, 400, `${type}: ${payload}`)
    t.match(answer.json(), { statusCode: '400', code: 'InvalidRequest' })
  }
  t.same(test.logs.filter(({ level }) => Number(level) >= 50), [])
})

t.test('metadata that no database holds are refused before the file is written', async (t) => {
  const before = filesOnDisk()
  for (const metadata of ['{"a":"\\u0000"}', '{"a":"\\ud800"}', '{"\\u0000":1}']) {
    const headers = { ...KEY, 'content-type': 'text/plain', 'x-metadata': Buffer.from(metadata).toString('base64') }
    const answer = await app.inject({ method: 'POST', url: '/storage/v1/object/public/dati', headers, payload: 'x' })
    t.match(answer.json(), { statusCode: '400', code: 'InvalidRequest' }, metadata)
  }
  t.same(filesOnDisk(), before)
})
