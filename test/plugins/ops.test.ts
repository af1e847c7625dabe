import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openClient } from '#src/plugins/database/client.ts'
import { testDatabase } from '#test/database.ts'
import { freePort } from '#test/free-port.ts'
import { build } from '#test/helper.ts'

/** A way to a database that can be cut, and turned into one on which nothing moves. */
async function wayTo (t: Test, url: string) {
  const { host, hostname, port: there } = new URL(url)
  // The embedded database is reached through a socket in a folder that the address names, port and all.
  const folder = decodeURIComponent(host)
  const to = folder.startsWith('/')
    ? { path: `${folder}/.s.PGSQL.${there}` }
    : { host: hostname, port: Number(there || 5432) }
  const sockets = new Set<Socket>()
  let frozen = false
  const server = createServer((near) => {
    if (frozen) {
      sockets.add(near)
      near.on('error', () => {}).pause()
      return
    }
    const far = connect(to)
    for (const [socket, other] of [[near, far], [far, near]] as const) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => other.destroy()).pipe(other)
    }
  })
  const port = await freePort()
  const listen = () => once(server.listen(port, '127.0.0.1'), 'listening')
  await listen()
  const cut = async () => {
    for (const socket of sockets) socket.destroy()
    if (server.listening) server.close()
  }
  t.teardown(cut)
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String(port)
  return {
    url: through.href,
    cut,
    freeze () {
      frozen = true
      for (const socket of sockets) socket.unpipe().pause()
    },
    restore: listen
  }
}

t.test(
  'without its database the server lives but is not ready, refuses work with 503, and recovers by itself',
  async (t) => {
    const way = await wayTo(t, (await testDatabase(t)).url)
    const { call } = await build(t, { DATABASE_URL: way.url })
    t.match((await call('GET', '/health/ready')).json(), { stato: 'ok' })

    await way.cut()
    const ready = await call('GET', '/health/ready')
    t.match(ready.json(), { status: 503, codice: 'SERVIZIO_OCCUPATO' })
    t.equal(ready.headers['retry-after'], '5')
    t.same((await call('GET', '/health/live')).json(), { stato: 'ok' })
    const refused = await call('GET', '/api/v1/prenotazioni/1')
    t.match(refused.json(), { status: 503, codice: 'DATABASE_NON_DISPONIBILE' })
    t.equal(refused.headers['retry-after'], '5')
    t.equal((await call('GET', '/api/v1/paesi')).statusCode, 200, 'what needs no database goes on')

    await way.restore()
    while ((await call('GET', '/health/ready')).statusCode !== 200) await sleep(50)
    t.equal((await call('GET', '/api/v1/prenotazioni')).statusCode, 200)
  }
)

t.test(
  'a database that does not answer makes the server not ready, after a while and without waiting for it',
  async (t) => {
    const way = await wayTo(t, (await testDatabase(t)).url)
    const { call } = await build(t, { DATABASE_URL: way.url })
    way.freeze()
    t.equal((await call('GET', '/health/ready')).statusCode, 503)
    t.equal((await call('GET', '/health/live')).statusCode, 200)
    await way.cut()
  }
)

t.test('readiness does not wait behind other work, however much waits, nor after a disk was full', async (t) => {
  const { url } = await testDatabase(t)
  const { app, call, logs } = await build(t, { DATABASE_URL: url })
  const holder = openClient(url, 1)
  t.teardown(() => holder.end())
  await holder`select pg_advisory_lock(1)`
  const waiting = Array.from({ length: 50 }, () => app.sql`select pg_advisory_lock_shared(1)`.execute())
  t.equal((await call('GET', '/health/ready')).statusCode, 200)
  app.isToldOfDisk(Object.assign(new Error('full'), { code: 'ENOSPC' }))
  const probes = await Promise.all(Array.from({ length: 20 }, () => call('GET', '/health/ready')))
  t.same(probes.map(({ statusCode }) => statusCode), Array(20).fill(200), 'there is room again')
  t.equal(logs.filter(({ msg }) => msg === 'the disk has room again').length, 1)
  await holder`select pg_advisory_unlock(1)`
  await Promise.all(waiting)
})

t.test('health needs no credentials', async (t) => {
  const { app } = await build(t)
  for (const url of ['/health/live', '/health/ready']) t.same((await app.inject(url)).json(), { stato: 'ok' })
})
