import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import { API_KEY, build } from '#test/helper.ts'

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
