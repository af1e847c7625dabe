import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eq } from 'drizzle-orm'
import fc from 'fast-check'
import t from 'tap'
import { objects } from '#drizzle/tables/storage.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createLinks } from '#src/storage/links.ts'
import { API_KEY, build, signIn } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'
import { discard, JPEG, store } from './samples.ts'

const test = await build(t, { PUBLIC_URL: 'https://locanda.example' })
const { app, call, dataDir, logs, token } = test
const NAME = '12/0/front.jpg'
const link = async (bucket: string, file: string, headers: Record<string, string> = {}) =>
  await call('GET', `/api/storage/signed-url?bucket=${bucket}&file=${encodeURIComponent(file)}`, undefined, headers)
const pathOf = (url: string) => url.slice('https://locanda.example'.length)

const keys = createKeys(Buffer.alloc(32, 7))
const links = createLinks(keys)
const FILE = { bucket: 'documents', name: '12/0/front.jpg', id: '0d9b7b1e-2f5c-4a55-9c7e-8a3f0c1d2e3f' }
const NOW = Date.parse('2026-11-21T09:30:00Z')

const port = await listen(app)
const base = `http://127.0.0.1:${port}`
const KEY = { 'x-api-key': API_KEY }
/** Larger than any buffer between server and client. */
const LARGE = Buffer.alloc(24 * 1024 * 1024, 7)
await store(test, 'public', 'grande', LARGE, { contentType: 'application/octet-stream' })
await app.inject({
  method: 'POST',
  url: '/storage/v1/bucket',
  headers: { authorization: `Bearer ${await token({ role: 'admin' })}` },
  payload: { name: 'piccolo', file_size_limit: 1000 }
})

/** All files in the folder of the storage. */
const filesOnDisk = () => readdirSync(join(dataDir, 'files'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile()).map(({ name }) => name).sort()

t.test('the proxy serves a file with headers that let a browser show it, and not run it', async (t) => {
  const { id } = await store(test, 'documents', NAME)
  const response = await call('GET', `/api/storage/documents/${NAME}`)
  t.equal(response.statusCode, 200)
  t.same(response.rawPayload, JPEG)
  t.match(response.headers, {
    'content-type': 'image/jpeg',
    'content-length': String(JPEG.length),
    'content-disposition': 'inline; filename="front.jpg"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /sandbox/,
    'cross-origin-resource-policy': 'same-origin',
    'accept-ranges': 'bytes',
    etag: `"${id}"`
  })
  const head = await call('HEAD', `/api/storage/documents/${NAME}`)
  t.match(head, { statusCode: 200, rawPayload: Buffer.alloc(0) })
  t.match(head.headers, { 'content-length': String(JPEG.length), etag: `"${id}"` })
})

t.test('a range request gets exactly that range, and a conditional request of a cached file gets a 304', async (t) => {
  const { id, updated_at: changed } = await store(test, 'documents', NAME)
  const get = (headers: Record<string, string>) => call('GET', `/api/storage/documents/${NAME}`, undefined, headers)
  const part = await get({ range: 'bytes=2-5' })
  t.equal(part.statusCode, 206)
  t.same(part.rawPayload, JPEG.subarray(2, 6))
  t.equal(part.headers['content-range'], `bytes 2-5/${JPEG.length}`)
  t.same((await get({ range: 'bytes=-2' })).rawPayload, JPEG.subarray(-2))
  t.same((await get({ range: 'bytes=0-1,3-4' })).rawPayload, JPEG, 'several ranges get the whole file')
  const beyond = await get({ range: 'bytes=999-' })
  t.match(beyond.json(), { status: 416, codice: 'INTERVALLO_NON_VALIDO' })
  t.equal(beyond.headers['content-range'], `bytes */${JPEG.length}`)
  t.equal((await get({ range: 'bytes=2-5', 'if-range': '"altro"' })).statusCode, 200)
  t.equal((await get({ range: 'bytes=2-5', 'if-range': `"${id}"` })).statusCode, 206)
  const known = await get({ 'if-none-match': `"altro", W/"${id}"` })
  t.match(known, { statusCode: 304, body: '' })
  t.equal(known.headers['cache-control'], 'no-store')
  t.equal((await get({ 'if-modified-since': changed.toUTCString() })).statusCode, 304)
  t.equal((await get({ 'if-modified-since': new Date(0).toUTCString() })).statusCode, 200)
  t.equal((await get({ 'if-none-match': '"altro"', 'if-modified-since': changed.toUTCString() })).statusCode, 200)
})

t.test('files that a browser would execute are downloaded, not shown', async (t) => {
  const types = {
    'image/svg+xml': 'attachment',
    'text/html': 'attachment',
    'text/javascript': 'attachment',
    'image/png': 'inline',
    'image/svg+xml;charset=utf-8': 'attachment',
    'application/xhtml+xml': 'attachment',
    'application/pdf': 'inline',
    'text/plain': 'attachment',
    'IMAGE/SVG+XML': 'attachment',
    'image/jpeg;a=svg': 'inline'
  }
  for (const [contentType, kind] of Object.entries(types)) {
    await store(test, 'public', 'pagina', '<svg onload="alert(1)"/>', { contentType })
    const addresses = ['/api/storage/public/pagina', '/storage/v1/object/public/pagina']
    for (const address of addresses) {
      const { headers, statusCode } = await call('GET', address)
      t.equal(statusCode, 200)
      t.equal(headers['content-disposition'], `${kind}; filename="pagina"`, `${contentType} ${address}`)
      t.equal(headers['x-content-type-options'], 'nosniff')
    }
  }
})

t.test('an unknown bucket, an unknown file and another person\'s report get the same response', async (t) => {
  const [anna, bruno] = [await signIn(app, 'anna', 'operator'), await signIn(app, 'bruno', 'operator')]
  const bearer = ({ access_token: token }: typeof anna) => ({ authorization: `Bearer ${token}` })
  await store(test, 'reports', 'q1.pdf', 'pdf', { owner: `user:${anna.user.id}`, contentType: 'application/pdf' })
  const get = (url: string, who: typeof anna) => app.inject({ url, headers: bearer(who) })
  t.equal((await get('/api/storage/reports/q1.pdf', anna)).statusCode, 200)
  const responses = [
    await get('/api/storage/reports/q1.pdf', bruno), await get('/api/storage/reports/q2.pdf', bruno),
    await get('/api/storage/nessuno/q1.pdf', bruno),
    await get('/api/storage/signed-url?bucket=reports&file=q1.pdf', bruno)
  ].map((response) => {
    const { requestId, ...body } = response.json() as Record<string, unknown>
    t.type(requestId, 'string')
    return body
  })
  for (const body of responses) t.same(body, { error: 'File non trovato', status: 404, codice: 'FILE_NON_TROVATO' })
  const list = await app.inject({
    method: 'POST',
    url: '/storage/v1/object/list/reports',
    headers: bearer(bruno),
    payload: { prefix: '' }
  })
  t.same(list.json(), [])
  const admin = { authorization: `Bearer ${await token({ name: 'capo', role: 'admin' })}` }
  t.equal((await app.inject({ url: '/api/storage/reports/q1.pdf', headers: admin })).statusCode, 200)
  t.equal((await call('GET', '/api/storage/reports/q1.pdf')).statusCode, 200, 'the server key')
})

t.test('a signed link is valid for sixty seconds, without credentials', async (t) => {
  await store(test, 'documents', NAME)
  const before = Date.now()
  const response = await link('documents', NAME)
  const { signedUrl, expires_at: end } = response.json() as { signedUrl: string, expires_at: string }
  t.ok(Date.parse(end) <= Date.now() + 60_000 && Date.parse(end) > before + 58_000)
  t.equal(response.headers['cache-control'], 'no-store')
  t.match(signedUrl, /^https:\/\/locanda\.example\/storage\/v1\/object\/sign\/documents\/12\/0\/front\.jpg\?token=/)
  const read = await app.inject(pathOf(signedUrl))
  t.same(read.rawPayload, JPEG)
  t.match(read.headers, { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'cross-origin' })
  t.equal((await app.inject({ method: 'HEAD', url: pathOf(signedUrl) })).statusCode, 200)
  t.equal((await link('documents', '12/0/back.jpg')).statusCode, 404)
})

t.test('a link to a file that was replaced or discarded is void', async (t) => {
  await store(test, 'documents', NAME)
  const url = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  const second = await store(test, 'documents', NAME, 'altro')
  t.match((await app.inject(url)).json(), { code: 'NoSuchKey' })
  const next = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  t.equal((await app.inject(next)).body, 'altro')
  await discard(test, second)
  t.match((await app.inject(next)).json(), { code: 'NoSuchKey' })
})

t.test('a link\'s token is not a credential, and no credential is a link\'s token', async (t) => {
  await store(test, 'documents', NAME)
  const url = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  const [path, storageToken = ''] = url.split('?token=')
  for (const headers of [{ authorization: `Bearer ${storageToken}` }, { 'x-api-key': storageToken }]) {
    t.equal((await app.inject({ url: `/api/storage/documents/${NAME}`, headers })).statusCode, 401)
    t.equal((await app.inject({ url: '/auth/v1/user', headers })).statusCode, 'x-api-key' in headers ? 401 : 403)
  }
  const { backendKey } = app.identity.directory.clientConfig
  for (const bearer of [await token(), await token({ service: true }), backendKey]) {
    t.match((await app.inject(`${path}?token=${bearer}`)).json(), { code: 'InvalidJWT' })
  }
})

t.test('neither a log line nor a response repeats the token of a link', async (t) => {
  await store(test, 'documents', NAME)
  const url = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  const [, secret = ''] = url.split('?token=')
  const signature = secret.split('.')[2]!
  const responses = await Promise.all([
    app.inject(url),
    app.inject(url.replace('front', 'back')),
    app.inject(url.replace('/0/', '/%zz/')),
    app.inject({ method: 'PUT', url: url.replace('/object/sign', '/object/upload/sign') }),
    app.inject({ method: 'PATCH', url }),
    app.inject(`/storage/v1/niente?token=${secret}`),
    app.inject(`${url}&token=${secret}`)
  ])
  for (const { body, headers } of responses) t.notOk((body + JSON.stringify(headers)).includes(signature))
  t.notOk(JSON.stringify(logs).includes(signature))
  t.notOk((await call('GET', '/metrics')).body.includes(signature))
})

t.test('a link is valid for its file until the second of its expiry', async (t) => {
  const { token, expiresAt } = links.signDownload(FILE, 60, NOW)
  t.equal(expiresAt.toISOString(), '2026-11-21T09:31:00.000Z')
  t.match(links.readDownload(token, FILE, NOW), { object: FILE.id })
  t.match(links.readDownload(token, FILE, NOW + 59_999), { object: FILE.id })
  t.equal(links.readDownload(token, FILE, NOW + 60_000), 'expired')
})

t.test('a link reads no other file and no other bucket, and allows no upload', async (t) => {
  const { token } = links.signDownload(FILE, 60, NOW)
  t.equal(links.readDownload(token, { ...FILE, name: '12/0/back.jpg' }, NOW), 'other')
  t.equal(links.readDownload(token, { ...FILE, bucket: 'letters' }, NOW), 'other')
  t.equal(links.readUpload(token, FILE, NOW), 'other')
  const upload = links.signUpload(FILE, { owner: 'user:1', upsert: true }, 60, NOW).token
  t.equal(links.readDownload(upload, FILE, NOW), 'other')
  t.match(links.readUpload(upload, FILE, NOW), { owner: 'user:1', upsert: true })
})

t.test('a link with any changed character, or signed by another installation, is invalid', async (t) => {
  const { token } = links.signDownload(FILE, 60, NOW)
  const foreign = createLinks(createKeys(Buffer.alloc(32, 8))).signDownload(FILE, 60, NOW).token
  t.equal(links.readDownload(foreign, FILE, NOW), 'invalid')
  fc.assert(fc.property(fc.nat(token.length - 1), fc.stringMatching(/^[\w.-]$/), (at, other) => {
    const changed = token.slice(0, at) + other + token.slice(at + 1)
    if (changed === token) return true
    const read = links.readDownload(changed, FILE, NOW)
    // The last character of a signature has two unused bits.
    return read === 'invalid' || (at === token.length - 1 && typeof read === 'object')
  }))
  fc.assert(fc.property(fc.string(), (text) => links.readDownload(text, FILE, NOW) === 'invalid'))
  const [, claims = ''] = token.split('.')
  const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  t.equal(links.readDownload(`${none}.${claims}.`, FILE, NOW), 'invalid')
})

t.test('a large file is sent complete, and a range has its length', async (t) => {
  const response = await fetch(`${base}/api/storage/public/grande`, { headers: KEY })
  t.equal(LARGE.compare(Buffer.from(await response.arrayBuffer())), 0)
  const part = await fetch(`${base}/api/storage/public/grande`, { headers: { ...KEY, range: 'bytes=65000-200000' } })
  t.equal(part.status, 206)
  t.equal((await part.arrayBuffer()).byteLength, 135_001)
})

t.test('a client that does not read is disconnected', async (t) => {
  const hasty = await build(t, {}, undefined, { times: { stalledReaderMs: 400 } })
  await store(hasty, 'public', 'grande', LARGE, { contentType: 'application/octet-stream' })
  const socket = await openSocket(t, await listen(hasty.app), target('GET', '/api/storage/public/grande', KEY))
  // The response has begun, and the rest is not read.
  await once(socket, 'readable')
  const connections = () => new Promise<number>((resolve, reject) => {
    hasty.app.server.getConnections((err, count) => { err ? reject(err) : resolve(count) })
  })
  while (await connections() > 0) await sleep(20)
  socket.resume()
  await once(socket, 'close')
  t.ok(socket.bytesRead > 0 && socket.bytesRead < LARGE.length, String(socket.bytesRead))
})

t.test('concurrent downloads of one caller are limited', async (t) => {
  const sockets: Socket[] = []
  for (let count = 0; count < 16; count++) {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    socket.write(target('GET', '/api/storage/public/grande', KEY))
    // The response has begun, and its end waits for a reader.
    await once(socket, 'readable')
    sockets.push(socket)
  }
  const refused = await call('GET', '/api/storage/public/grande')
  t.match(refused.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
  t.notOk(refused.headers.etag, 'the refusal contains nothing of the file')
  t.ok(refused.headers['retry-after'])
  t.equal((await call('HEAD', '/api/storage/public/grande')).statusCode, 200)
  const waiting = call('GET', '/api/storage/public/grande', undefined, { range: 'bytes=0-1' })
  for (const socket of sockets) socket.destroy()
  t.equal((await waiting).statusCode, 206, 'a request that waits gets the slot that becomes free')
})

t.test('an upload whose client disconnects leaves neither row nor file', async (t) => {
  const before = filesOnDisk()
  const headers = { ...KEY, 'content-type': 'text/plain', 'content-length': String(LARGE.length) }
  const socket = await openSocket(t, port, target('POST', '/storage/v1/object/public/meta', headers))
  socket.write(LARGE.subarray(0, 3_000_000))
  while (filesOnDisk().length === before.length) await sleep(20)
  socket.destroy()
  while (filesOnDisk().length > before.length) await sleep(20)
  t.same(filesOnDisk(), before)
  t.same(await app.db.select().from(objects).where(eq(objects.name, 'meta')), [])
  const line = () => test.logs.find(({ method, status }) => method === 'POST' && (status === 400 || status === 499))
  while (!line()) await sleep(20)
  const ofThis = test.logs.filter(({ reqId }) => reqId === line()!.reqId)
  t.same(ofThis.filter(({ level }) => Number(level) >= 40), [], 'no error is logged for that')
})

t.test('a client gets the error that its file is too large, even without Content-Length', async (t) => {
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
    const response = await send(body, headers as Record<string, string>)
    t.match(await response.json(), { statusCode: '413', message: 'The object exceeded the maximum allowed size' })
  }
  t.equal((await call('GET', '/api/storage/piccolo/x')).statusCode, 404)
  while (filesOnDisk().length > before.length) await sleep(20)
  t.same(filesOnDisk(), before)
})

t.test('a client that disconnects after its file was rejected, before the response, crashes nothing', async (t) => {
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
  const hasLeft = () => slow.logs.some(({ method, status }) => method === 'POST' && status === 499)
  socket.destroy()
  while (!hasLeft()) await sleep(20)
  goOn.resolve()
  t.equal((await slow.call('GET', '/api/storage/piccolo/x')).statusCode, 404)
})

t.test('an invalid or incomplete form is refused with its own error', async (t) => {
  const part = '--x\r\nContent-Disposition: form-data; name=""; filename="a"\r\nContent-Type: text/plain\r\n\r\nab'
  for (const [type, payload] of [
    ['multipart/form-data', 'a=1'],
    ['multipart/form-data; boundary=', 'a=1'],
    [`multipart/form-data; boundary=${'x'.repeat(300)}`, 'no form'],
    ['multipart/form-data; boundary=x', 'no form'],
    ['multipart/form-data; boundary=x', part],
    ['multipart/form-data; boundary=x', part.slice(0, 30)]
  ] as const) {
    const headers = { ...KEY, 'content-type': type }
    const response = await app.inject({ method: 'POST', url: '/storage/v1/object/public/modulo', headers, payload })
    t.equal(response.statusCode, 400, `${type}: ${payload}`)
    t.match(response.json(), { statusCode: '400', code: 'InvalidRequest' })
  }
  t.same(test.logs.filter(({ level }) => Number(level) >= 50), [])
})
