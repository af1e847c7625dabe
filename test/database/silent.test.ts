import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import { build } from '#test/helper.ts'

t.test('a start at an address where something else than PostgreSQL answers ends, and names the setting', async (t) => {
  const other = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))
  }).listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  await t.rejects(build(t, { DATABASE_URL: `postgres://locanda@127.0.0.1:${port}/locanda` }), {
    message: /^DATABASE_URL: /
  })
})
