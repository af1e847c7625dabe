import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { until } from '#test/alloggiati/stand-in.ts'
import { build } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'

const keep = { connection: 'keep-alive' }

/** Asks over a socket, and returns the answer. */
async function ask (socket: Socket, path = '/health/live'): Promise<string> {
  socket.write(target('GET', path, keep))
  return String((await once(socket, 'data') as [Buffer])[0])
}

t.test('a server that drains serves as ever, and is not ready', async (t) => {
  const { app } = await build(t, { DRAIN_SECONDS: '300' })
  const port = await listen(app)
  const open = await openSocket(t, port)
  t.match(await ask(open, '/health/ready'), /^HTTP\/1\.1 200 /)
  const drained = app.drain()
  for (const socket of [open, await openSocket(t, port)]) {
    t.match(await ask(socket), /^HTTP\/1\.1 200 [^]*connection: keep-alive/i)
  }
  const ready = await ask(open, '/health/ready')
  t.match(ready, /^HTTP\/1\.1 503 /)
  t.match(ready, /SERVIZIO_OCCUPATO/)
  app.endDraining()
  await drained
  t.pass('who asks once more does not wait')
})

t.test('then connections that were kept get one more answer, and no further one is taken', async (t) => {
  const { app } = await build(t, { DRAIN_SECONDS: '1' })
  const port = await listen(app)
  const [used, unused] = [await openSocket(t, port), await openSocket(t, port)]
  for (const socket of [used, unused]) await ask(socket)
  const drained = app.drain()
  await until(() => !app.server.listening)
  await t.rejects(openSocket(t, port), { code: 'ECONNREFUSED' })
  const ended = once(used, 'end')
  t.match(await ask(used), /^HTTP\/1\.1 200 [^]*connection: close/i)
  await ended
  t.equal(await Promise.race([drained, 'open']), 'open', 'one that is not used is not closed')
  const [end] = await Promise.all([once(unused, 'end'), drained.then(async () => await app.close())])
  t.same(end, [], 'until the time is over')
})

t.test('without DRAIN_SECONDS there is nothing to wait for', async (t) => {
  const { app } = await build(t)
  await app.drain()
  t.notOk(app.isDraining())
  t.equal((await app.inject('/health/ready')).statusCode, 200)
})
