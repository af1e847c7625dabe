import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { API_KEY, build } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'

const TEXT = 'x'.repeat(40 * 1024)

t.test('a stranger sends no body over 32 KiB', async (t) => {
  const { app } = await build(t)
  const payload = { email: 'ada@example.org', password: TEXT }
  const answer = await app.inject({ method: 'POST', url: '/auth/v1/token?grant_type=password', payload })
  t.equal(answer.statusCode, 413)
})

t.test('a caller holds back the ends of 16 large bodies, no more; a closed one frees its place', async (t) => {
  const { app } = await build(t)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const port = Number(new URL(address).port)
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
  let refused = await send(large)
  // The held ones may reach the server after it.
  while (refused.status !== 503) refused = await send(large)
  t.match(await refused.json(), { codice: 'SERVIZIO_OCCUPATO' })
  t.ok(refused.headers.get('retry-after'))
  t.equal((await send('{}')).status, 400, 'a small one')
  held[0]!.destroy()
  let next = await send(large)
  while (next.status === 503) next = await send(large)
  t.equal(next.status, 400)
})

t.test('bodies that are held until the answer take 64 MiB of one caller, no more', async (t) => {
  const { app } = await build(t)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const port = Number(new URL(address).port)
  const held: Socket[] = []
  t.teardown(() => { for (const socket of held) socket.destroy() })
  const begin = async (bytes: number) => {
    const socket = connect(port, '127.0.0.1')
    held.push(socket)
    await once(socket, 'connect')
    socket.write(`POST /api/documents/upload HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${API_KEY}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n{"`)
    return socket
  }
  for (let n = 0; n < 4; n++) await begin(15 * 1024 * 1024)
  const send = (url: string) => fetch(address + url, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ testo: 'x'.repeat(5 * 1024 * 1024) })
  }).then(({ status }) => status, () => 503)
  // The held ones may reach the server after it.
  while (await send('/api/documents/upload') !== 503) { /* again */ }
  t.equal((await fetch(`${address}/api/saveOspiti`, {
    method: 'POST', headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }, body: `{"testo":"${TEXT}"}`
  })).status, 400, 'other bodies are not counted with them')
  held[0]!.destroy()
  while (await send('/api/documents/upload') === 503) { /* again */ }
})

t.test('a body that is answered before its end gives its place back', async (t) => {
  const { app } = await build(t)
  const port = await listen(app)
  const headers = { 'content-type': 'application/json', connection: 'keep-alive' }
  const send = async (extra: Record<string, string>) => {
    const request = target('POST', '/auth/v1/token?grant_type=password', { ...headers, ...extra })
    const socket = await openSocket(t, port, `${request}{"`)
    const [answer] = await once(socket, 'data') as [Buffer]
    socket.destroy()
    return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(answer))?.[1])
  }
  for (let n = 0; n < 20; n++) await send({ 'content-length': String(TEXT.length) })
  // A server that is busy sees the last ones leave a moment later.
  await until(async () => await send({ 'content-length': String(TEXT.length) }) === 413)
})

t.test('strangers who hold their bodies back keep nobody with credentials waiting', async (t) => {
  const { app } = await build(t)
  const port = await listen(app)
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
  const refused = await hold('127.0.0.9')
  t.match(String(await once(refused, 'data')), /^HTTP\/1\.1 503 /)
  const headed = { 'x-api-key': API_KEY }
  const answer = await app.inject({
    method: 'POST', url: '/api/saveOspiti', headers: headed, payload: { testo: TEXT }
  })
  t.equal(answer.statusCode, 400)
})

t.test('a body as long as a file has few fields; what stands in its texts is no field', async (t) => {
  const { call } = await build(t)
  const upload = { booking_id: 1, guest_idx: 0, side: 'front', ext: 'jpg', base64Image: ',:"\\'.repeat(1000) }
  const fields = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`campo${n}`, n]))
  const many = await call('POST', '/api/documents/upload', { ...upload, ...fields })
  t.match(many.json(), { status: 400, dettagli: [{ campo: '', messaggio: 'ha troppi campi' }] })
  const list = await call('POST', '/api/documents/upload', { ...upload, ext: Array(200).fill(0) })
  t.match(list.json(), { status: 400, dettagli: [{ campo: '', messaggio: 'ha troppi campi' }] })
  const texts = await call('POST', '/api/documents/upload', upload)
  t.not(texts.json().dettagli?.[0].messaggio, 'ha troppi campi')
})
