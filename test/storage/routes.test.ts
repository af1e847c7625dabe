import t from 'tap'
import { build, signIn } from '#test/helper.ts'
import { discard, JPEG, store } from './samples.ts'

const test = await build(t, { PUBLIC_URL: 'https://locanda.example' })
const { app, call, logs, token } = test
const NAME = '12/0/front.jpg'
const link = async (bucket: string, file: string, headers: Record<string, string> = {}) =>
  await call('GET', `/api/storage/signed-url?bucket=${bucket}&file=${encodeURIComponent(file)}`, undefined, headers)
const pathOf = (url: string) => url.slice('https://locanda.example'.length)

t.test('the proxy serves a file with headers that let a browser show it, and do nothing with it', async (t) => {
  const { id } = await store(test, 'documents', NAME)
  const answer = await call('GET', `/api/storage/documents/${NAME}`)
  t.equal(answer.statusCode, 200)
  t.same(answer.rawPayload, JPEG)
  t.match(answer.headers, {
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

t.test('a part is sent when a part is asked for, a 304 to who has it', async (t) => {
  const { id, updated_at: changed } = await store(test, 'documents', NAME)
  const get = (headers: Record<string, string>) => call('GET', `/api/storage/documents/${NAME}`, undefined, headers)
  const part = await get({ range: 'bytes=2-5' })
  t.equal(part.statusCode, 206)
  t.same(part.rawPayload, JPEG.subarray(2, 6))
  t.equal(part.headers['content-range'], `bytes 2-5/${JPEG.length}`)
  t.same((await get({ range: 'bytes=-2' })).rawPayload, JPEG.subarray(-2))
  t.same((await get({ range: 'bytes=0-1,3-4' })).rawPayload, JPEG, 'several at once are the whole')
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

t.test('what a browser would run is saved, not shown', async (t) => {
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

t.test('an unknown bucket and an unknown file are answered alike, and so is a report of somebody else', async (t) => {
  const [anna, bruno] = [await signIn(app, 'anna', 'operator'), await signIn(app, 'bruno', 'operator')]
  const bearer = ({ access_token: token }: typeof anna) => ({ authorization: `Bearer ${token}` })
  await store(test, 'reports', 'q1.pdf', 'pdf', { owner: `user:${anna.user.id}`, contentType: 'application/pdf' })
  const get = (url: string, who: typeof anna) => app.inject({ url, headers: bearer(who) })
  t.equal((await get('/api/storage/reports/q1.pdf', anna)).statusCode, 200)
  const answers = [
    await get('/api/storage/reports/q1.pdf', bruno),
    await get('/api/storage/reports/q2.pdf', bruno),
    await get('/api/storage/nessuno/q1.pdf', bruno),
    await get('/api/storage/signed-url?bucket=reports&file=q1.pdf', bruno)
  ].map((answer) => {
    const { requestId, ...body } = answer.json() as Record<string, unknown>
    t.type(requestId, 'string')
    return body
  })
  for (const body of answers) t.same(body, { error: 'File non trovato', status: 404, codice: 'FILE_NON_TROVATO' })
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

t.test('a signed link is good for sixty seconds, without credentials', async (t) => {
  await store(test, 'documents', NAME)
  const before = Date.now()
  const answer = await link('documents', NAME)
  const { signedUrl, expires_at: end } = answer.json() as { signedUrl: string, expires_at: string }
  t.ok(Date.parse(end) <= Date.now() + 60_000 && Date.parse(end) > before + 58_000)
  t.equal(answer.headers['cache-control'], 'no-store')
  t.match(signedUrl, /^https:\/\/locanda\.example\/storage\/v1\/object\/sign\/documents\/12\/0\/front\.jpg\?token=/)
  const read = await app.inject(pathOf(signedUrl))
  t.same(read.rawPayload, JPEG)
  t.match(read.headers, { 'cache-control': 'no-store', 'cross-origin-resource-policy': 'cross-origin' })
  t.equal((await app.inject({ method: 'HEAD', url: pathOf(signedUrl) })).statusCode, 200)
  t.equal((await link('documents', '12/0/back.jpg')).statusCode, 404)
})

t.test('a link to a file that was replaced, deleted or purged is dead', async (t) => {
  await store(test, 'documents', NAME)
  const url = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  const second = await store(test, 'documents', NAME, 'altro')
  t.match((await app.inject(url)).json(), { code: 'NoSuchKey' })
  const next = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  t.equal((await app.inject(next)).body, 'altro')
  await discard(test, second)
  t.match((await app.inject(next)).json(), { code: 'NoSuchKey' })
})

t.test('the token of a link is no credential, and no credential is the token of a link', async (t) => {
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

t.test('neither a log line nor an answer repeats the token of a link', async (t) => {
  await store(test, 'documents', NAME)
  const url = pathOf(((await link('documents', NAME)).json() as { signedUrl: string }).signedUrl)
  const [, secret = ''] = url.split('?token=')
  const signature = secret.split('.')[2]!
  const answers = await Promise.all([
    app.inject(url),
    app.inject(url.replace('front', 'back')),
    app.inject(url.replace('/0/', '/%zz/')),
    app.inject({ method: 'PUT', url: url.replace('/object/sign', '/object/upload/sign') }),
    app.inject({ method: 'PATCH', url }),
    app.inject(`/storage/v1/niente?token=${secret}`),
    app.inject(`${url}&token=${secret}`)
  ])
  for (const { body, headers } of answers) t.notOk((body + JSON.stringify(headers)).includes(signature))
  t.notOk(JSON.stringify(logs).includes(signature))
  t.notOk((await call('GET', '/metrics')).body.includes(signature))
})
