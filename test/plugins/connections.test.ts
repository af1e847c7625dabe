import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import { Closed } from '#schemas/common.ts'
import { build, extraRoutes } from '#test/helper.ts'
import { exchange, listen, openSocket, target } from '#test/raw.ts'

const KEEP = { connection: 'keep-alive' }

t.test('of many requests that come in one piece few are handled, and the connection is cut', async (t) => {
  let handled = 0
  const { app } = await build(t, {}, extraRoutes((app) => {
    const options = { config: { access: 'public' as const }, schema: { response: { 200: Closed({}) } } }
    // Never answered, so that all that follow wait.
    app.get('/prova/attesa', options, () => { handled++; return new Promise(() => {}) })
  }))
  const port = await listen(app)
  for (const path of ['/prova/attesa', '/%']) {
    handled = 0
    const first = target('GET', '/prova/attesa', KEEP)
    const socket = await openSocket(t, port, first + target('GET', path, KEEP).repeat(98))
    await once(socket.resume(), 'close')
    t.ok(handled <= 8, `${handled} of 99`)
  }
})

t.test('a connection may send as many requests as it likes one after the other, and a few at once', async (t) => {
  const { app } = await build(t)
  const socket = await openSocket(t, await listen(app))
  socket.setEncoding('utf8')
  for (let round = 0; round < 4; round++) {
    socket.write(target('GET', '/health/live', KEEP).repeat(8))
    let answers = ''
    while (answers.split('{"stato":"ok"}').length <= 8) answers += String((await once(socket, 'data'))[0])
  }
  t.notOk(socket.destroyed)
})

t.test('a trusted proxy may have more connections than one client, also over IPv6', async (t) => {
  // 32 connections for all, 8 of them for one client.
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

t.test('a request that expects what nobody knows is answered, counted and logged like any other', async (t) => {
  const { app, logs } = await build(t)
  const { status, head, body } = await exchange(await listen(app), target('GET', '/api/altro', { expect: 'altro' }))
  t.equal(status, 404)
  t.match(head, 'ratelimit-remaining: ')
  t.match(JSON.parse(body), { status: 404, codice: 'RISORSA_NON_TROVATA' })
  t.equal(logs.filter(({ msg, status }) => msg === 'request' && status === 404).length, 1)
})

t.test('a client that is gone before its request is read costs no line of the log that is an alarm', async (t) => {
  const { app, logs } = await build(t)
  const port = await listen(app)
  for (let n = 0; n < 50; n++) {
    const socket = await openSocket(t, port, target('GET', '/health/live', KEEP))
    socket.resetAndDestroy()
  }
  t.equal((await exchange(port, target('GET', '/health/live'))).status, 200)
  t.same(logs.filter(({ level }) => Number(level) >= 50), [])
})
