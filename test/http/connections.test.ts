import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build, extraRoutes } from '#test/helper.ts'
import { exchange, listen, openSocket, target } from '#test/raw.ts'
import { runRawCorpus } from './raw-sockets.ts'

const KEEP = { connection: 'keep-alive' }
const PUBLIC = { config: { access: 'public' as const }, schema: { response: { 200: Closed({}) } } }

/** Number of started requests to `/prova/attesa` on the shared server. */
let handled = 0
const { app, call, logs } = await build(t, {}, extraRoutes((app) => {
  // Never responds, so that all later requests of the connection wait.
  app.get('/prova/attesa', PUBLIC, () => { handled++; return new Promise(() => {}) })
}))
const port = await listen(app)

t.test('a connection that pipelines more than 8 unanswered requests is destroyed', async (t) => {
  for (const path of ['/prova/attesa', '/%']) {
    handled = 0
    const first = target('GET', '/prova/attesa', KEEP)
    const socket = await openSocket(t, port, first + target('GET', path, KEEP).repeat(98))
    await once(socket.resume(), 'close')
    t.ok(handled <= 8, `${handled} of 99`)
  }
})

t.test('a connection may send many requests in sequence, and up to 8 concurrently', async (t) => {
  const socket = await openSocket(t, port)
  socket.setEncoding('utf8')
  for (let round = 0; round < 4; round++) {
    socket.write(target('GET', '/health/live', KEEP).repeat(8))
    let responses = ''
    while (responses.split('{"stato":"ok"}').length <= 8) responses += String((await once(socket, 'data'))[0])
  }
  t.notOk(socket.destroyed)
})

t.test('a trusted proxy may exceed the connection limit of one client, even over IPv6', async (t) => {
  // 32 connections in total, 8 for one client.
  const { app } = await build(t, { TRUST_PROXY: '::1' }, undefined, { descriptors: 64 })
  await app.listen({ host: '::1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  for (let n = 0; n < 16; n++) {
    const socket = connect(port, '::1').on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.setEncoding('utf8').write(target('GET', '/health/live', KEEP))
    const [answer] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    t.match(String(answer), 'HTTP/1.1 200', `connection ${n}`)
  }
})

t.test('a client that disconnects before its request is read causes no error in the log', async (t) => {
  const before = logs.length
  for (let n = 0; n < 50; n++) {
    const socket = await openSocket(t, port, target('GET', '/health/live', KEEP))
    socket.resetAndDestroy()
  }
  t.equal((await exchange(port, target('GET', '/health/live'))).status, 200)
  t.same(logs.slice(before).filter(({ level }) => Number(level) >= 50), [])
})

t.test(
  'during shutdown a new request on an open connection gets a 503 while the last requests finish',
  async (t) => {
    const held = Promise.withResolvers<void>()
    const begun = new PassThrough()
    const { app } = await build(
      t,
      {},
      extraRoutes((app) => {
        app.get('/prova/attesa', PUBLIC, async () => {
          await held.promise
          return {}
        })
        app.get('/prova/corso', PUBLIC, async (_request, reply) => reply.type('text/plain').send(begun))
      })
    )
    const port = await listen(app)
    const waiting = await openSocket(t, port, target('GET', '/prova/attesa', KEEP))
    const open = await openSocket(t, port, target('GET', '/prova/corso', KEEP))
    const read = async (part: string) => {
      for (let seen = ''; !seen.includes(part);) seen += String(((await once(open, 'data')) as [Buffer])[0])
    }
    begun.write('inizio')
    await read('inizio')

    const closed = app.close()
    begun.end('fine')
    await read('0\r\n\r\n')
    open.write(target('GET', '/health/live', KEEP))
    const [answer] = (await once(open, 'data')) as [Buffer]
    const [head = '', body = ''] = answer.toString().split('\r\n\r\n')
    t.match(head, /^HTTP\/1\.1 503 /)
    t.match(head, /^connection: close$/im)
    t.match(head, /^retry-after: 5$/im)
    t.match(JSON.parse(body), { status: 503, codice: 'SERVIZIO_OCCUPATO', error: /\S/, requestId: /\S/ })

    held.resolve()
    const [last] = (await once(waiting, 'data')) as [Buffer]
    t.match(last.toString(), /^HTTP\/1\.1 200 /, 'the request in progress gets its response')
    await closed
  }
)

const endless = () => new Readable({ read () { this.push(Buffer.alloc(65_536, 32)) } })

t.test('a client that does not read does not delay shutdown, with a buffer or a stream', async (t) => {
  const { app } = await build(t, {}, answering({
    '/prova/intera': () => Buffer.alloc(20_000_000, 32),
    '/prova/pezzi': endless
  }))
  const port = await listen(app)
  for (const url of ['/prova/intera', '/prova/pezzi']) {
    await once(await openSocket(t, port, target('GET', url)), 'readable')
  }
  await app.close()
  t.notOk(app.server.listening)
})

t.test('shutdown cuts an endless response', async (t) => {
  // Slow enough to use little CPU, because it runs for seconds.
  const slow = () => Readable.from((async function * () {
    for (;;) yield await sleep(20, Buffer.alloc(65_536, 32))
  })(), { objectMode: false })
  const { app } = await build(t, {}, answering({ '/prova/pezzi': slow }))
  const reader = await openSocket(t, await listen(app), target('GET', '/prova/pezzi'))
  reader.resume()
  await once(reader, 'data')
  await app.close()
  t.notOk(app.server.listening)
})

function answering (responses: Record<string, () => Buffer | Readable>) {
  return extraRoutes((app) => {
    for (const [url, answer] of Object.entries(responses)) {
      app.get(url, PUBLIC, async (_request, reply) => reply.type('text/plain').send(answer()))
    }
  })
}

/** Sends a request over a socket and returns the response. */
async function ask (socket: Socket, path = '/health/live'): Promise<string> {
  socket.write(target('GET', path, KEEP))
  return String((await once(socket, 'data') as [Buffer])[0])
}

t.test('during the shutdown delay the server works as usual, but is not ready', async (t) => {
  const { app } = await build(t, { DRAIN_SECONDS: '300' })
  const port = await listen(app)
  const open = await openSocket(t, port)
  t.match(await ask(open, '/health/ready'), /^HTTP\/1\.1 200 /)
  const shutdown = app.beginShutdown()
  for (const socket of [open, await openSocket(t, port)]) {
    t.match(await ask(socket), /^HTTP\/1\.1 200 [^]*connection: KEEP-alive/i)
  }
  const ready = await ask(open, '/health/ready')
  t.match(ready, /^HTTP\/1\.1 503 /)
  t.match(ready, /SERVIZIO_OCCUPATO/)
  app.endShutdown()
  await shutdown
  t.pass('endShutdown ends the delay at once')
})

t.test('after the delay, open connections close with their next response, and new ones are refused', async (t) => {
  const { app } = await build(t, { DRAIN_SECONDS: '1' })
  const port = await listen(app)
  const [used, unused] = [await openSocket(t, port), await openSocket(t, port)]
  for (const socket of [used, unused]) await ask(socket)
  const shutdown = app.beginShutdown()
  await until(() => !app.server.listening)
  await t.rejects(openSocket(t, port), { code: 'ECONNREFUSED' })
  const ended = once(used, 'end')
  t.match(await ask(used), /^HTTP\/1\.1 200 [^]*connection: close/i)
  await ended
  t.equal(await Promise.race([shutdown, 'open']), 'open', 'an idle connection stays open')
  const [end] = await Promise.all([once(unused, 'end'), shutdown.then(async () => await app.close())])
  t.same(end, [], 'the connection closes after a second delay')
})

const TEXT = 'x'.repeat(40 * 1024)
const address = `http://127.0.0.1:${port}`

t.test('a public route rejects a body over 32 KiB', async (t) => {
  const payload = { email: 'ada@example.org', password: TEXT }
  const answer = await app.inject({ method: 'POST', url: '/auth/v1/token?grant_type=password', payload })
  t.equal(answer.statusCode, 413)
})

t.test('a caller may have 16 unfinished large bodies, and a disconnect frees its slot', async (t) => {
  const held: Socket[] = []
  t.teardown(() => { for (const socket of held) socket.destroy() })
  const hold = async () => {
    const socket = connect(port, '127.0.0.1')
    held.push(socket)
    await once(socket, 'connect')
    socket.write(`POST /api/saveOspiti HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${API_KEY}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${TEXT.length}\r\n\r\n{"`)
  }
  const send = (body: string) => fetch(`${address}/api/saveOspiti`, {
    method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }, body
  })
  for (let n = 0; n < 16; n++) await hold()
  const large = JSON.stringify({ testo: TEXT })
  const waiting = send(large)
  t.equal((await send('{}')).status, 400, 'a small body is not limited')
  held[0]!.destroy()
  t.equal((await waiting).status, 400, 'a body that waits is read when a slot is free')
})

t.test('bodies kept until the response are limited to 64 MiB per caller', async (t) => {
  const held: Socket[] = []
  t.teardown(() => { for (const socket of held) socket.destroy() })
  const begin = async (bytes: number) => {
    const socket = connect(port, '127.0.0.1')
    held.push(socket)
    await once(socket, 'connect')
    const arrived = once(app.server, 'request')
    socket.write(`POST /api/documents/upload HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${API_KEY}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n{"`)
    // Otherwise a later body could arrive first and use the memory of this one.
    await arrived
  }
  for (let n = 0; n < 4; n++) await begin(15 * 1024 * 1024)
  const send = (url: string) => fetch(address + url, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ testo: 'x'.repeat(5 * 1024 * 1024) })
  }).then(({ status }) => status, () => 503)
  const waiting = send('/api/documents/upload')
  t.equal((await fetch(`${address}/api/saveOspiti`, {
    method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }, body: `{"testo":"${TEXT}"}`
  })).status, 400, 'other bodies are not counted with them')
  held[0]!.destroy()
  t.equal(await waiting, 400, 'a body that waits is read when there is room')
})

t.test('a body frees its slot when the response is sent before the body ends', async (t) => {
  const headers = { 'content-type': 'application/json', connection: 'keep-alive' }
  const send = async (extra: Record<string, string>) => {
    const request = target('POST', '/auth/v1/token?grant_type=password', { ...headers, ...extra })
    const socket = await openSocket(t, port, `${request}{"`)
    const [answer] = await once(socket, 'data') as [Buffer]
    socket.destroy()
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(answer))?.[1])
  }
  for (let n = 0; n < 20; n++) await send({ 'content-length': String(TEXT.length) })
  // A busy server notices the last disconnects late.
  await until(async () => await send({ 'content-length': String(TEXT.length) }) === 413)
})

t.test('unfinished bodies of callers without credentials do not block callers with credentials', async (t) => {
  const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  const hold = async (localAddress: string) => {
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write(`${target('POST', '/auth/v1/token?grant_type=password', headers)}2\r\n{"\r\n`)
    return socket
  }
  for (let n = 0; n < 64; n++) await hold(`127.0.0.${2 + Math.floor(n / 16)}`)
  const credentials = { 'x-api-key': API_KEY }
  const answer = await app.inject({
    method: 'POST', url: '/api/saveOspiti', headers: credentials, payload: { testo: TEXT }
  })
  t.equal(answer.statusCode, 400)
})

t.test('a client that sends almost no bytes of a large body is disconnected', async (t) => {
  const { app } = await build(t, {}, undefined, { times: { stalledBodyMs: 400 } })
  const port = await listen(app)
  const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json', 'content-length': String(TEXT.length) }
  const slow = await openSocket(t, port, `${target('POST', '/api/saveOspiti', headers)}{"`)
  await once(slow.resume(), 'close')
  const answer = await app.inject({
    method: 'POST', url: '/api/saveOspiti', headers: { 'x-api-key': API_KEY }, payload: { testo: TEXT }
  })
  t.equal(answer.statusCode, 400, 'a body that arrives is read')
})

t.test('a body with a file may have few fields, not counting separators inside its strings', async (t) => {
  const upload = { booking_id: 1, guest_idx: 0, side: 'front', ext: 'jpg', base64Image: ',:"\\'.repeat(1000) }
  const fields = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`campo${n}`, n]))
  const many = await call('POST', '/api/documents/upload', { ...upload, ...fields })
  t.match(many.json(), { status: 400, dettagli: [{ campo: '', messaggio: 'ha troppi campi' }] })
  const list = await call('POST', '/api/documents/upload', { ...upload, ext: Array(200).fill(0) })
  t.match(list.json(), { status: 400, dettagli: [{ campo: '', messaggio: 'ha troppi campi' }] })
  const texts = await call('POST', '/api/documents/upload', upload)
  t.not(texts.json().dettagli?.[0].messaggio, 'ha troppi campi')
})

t.test('malformed or unusual HTTP bytes get an expected response, and cannot smuggle a request', async (t) => {
  const { cases, faults } = await runRawCorpus(port)
  t.same(faults, [])
  t.ok(cases > 50)
})
