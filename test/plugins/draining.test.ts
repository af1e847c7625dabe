import { once } from 'node:events'
import t from 'tap'
import { build } from '#test/helper.ts'
import { listen, openSocket, target } from '#test/raw.ts'

const keep = { connection: 'keep-alive' }

t.test('a server that drains serves, closes each connection with its answer, and is not ready', async (t) => {
  const { app } = await build(t, { DRAIN_SECONDS: '300' })
  const port = await listen(app)
  const open = await openSocket(t, port)
  const ask = async (path: string, socket = openSocket(t, port)) => {
    const asked = await socket
    asked.write(target('GET', path, keep))
    return String((await once(asked, 'data') as [Buffer])[0])
  }
  t.match(await ask('/health/ready'), /^HTTP\/1\.1 200 /)
  const drained = app.drain()
  const answer = await ask('/health/live', Promise.resolve(open))
  t.match(answer, /^HTTP\/1\.1 200 /, 'over a connection of before')
  t.match(answer, /^connection: close$/im)
  t.match(await ask('/health/live'), /^HTTP\/1\.1 200 [^]*connection: close/i, 'over a new one')
  const ready = await ask('/health/ready')
  t.match(ready, /^HTTP\/1\.1 503 /)
  t.match(ready, /SERVIZIO_OCCUPATO/)
  app.endDraining()
  await drained
  t.pass('who asks once more does not wait')
})

t.test('without DRAIN_SECONDS there is nothing to wait for', async (t) => {
  const { app } = await build(t)
  await app.drain()
  t.notOk(app.isDraining())
  t.equal((await app.inject('/health/ready')).statusCode, 200)
})
