import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { API_KEY, build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { startServer } from '#test/running-server.ts'
import { freePort } from '#test/free-port.ts'

const isThere = spawnSync('redis-server', ['--version']).status === 0

/** A Redis on this port of loopback that keeps nothing; ended when the test ends. */
async function redis (t: Test, port: number, ...settings: string[]) {
  const child = spawn(
    'redis-server',
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'],
      ...['--dir', temporaryFolder(t), ...settings]
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] }
  )
  const exit = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await exit
  }
  t.teardown(stop)
  for await (const line of createInterface(child.stdout)) if (line.includes('Ready to accept connections')) break
  const keys = async () => {
    const client = new Redis(port)
    const found = await client.keys('*')
    client.disconnect()
    return found.sort()
  }
  return { stop, pause: () => child.kill('SIGSTOP'), keys }
}

const AWAY = 'Redis is away: requests are not counted'
const BACK = 'Redis is back: requests are counted'
/** Milliseconds, as a server has them that is told nothing. */
const USUAL = { times: { redisAnswerMs: 500 } }
const status = async ({ app }: TestApp) => (await app.inject('/nulla')).statusCode
const times = ({ logs }: TestApp, text: string) => logs.filter(({ msg }) => msg === text).length

t.test('with a Redis', { skip: isThere ? false : 'redis-server is not installed' }, async (t) => {
  t.test('servers share their counters, from the first request on', async (t) => {
    const port = await freePort()
    await redis(t, port)
    const environ = { RATE_LIMIT_MAX: '3', REDIS_URL: `redis://127.0.0.1:${port}` }
    const one = await build(t, environ)
    const two = await build(t, environ)
    t.same(
      [await status(one), await status(two), await status(one), await status(two), await status(one)],
      [404, 404, 404, 429, 429]
    )
  })

  t.test('two processes share the counters of each class of work, and say so in every answer', async (t) => {
    const port = await freePort()
    await redis(t, port)
    const environ = {
      DATABASE_URL: (await testDatabase(t)).url,
      DATA_DIR: temporaryFolder(t),
      MASTER_KEY: randomBytes(32).toString('base64'),
      API_KEY,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      RATE_LIMIT_MAX: '4',
      RATE_LIMIT_HEAVY_MAX: '2',
      RATE_LIMIT_WINDOW: '600'
    }
    // This process is the one, and another one is started.
    const { app } = await build(t, environ)
    const other = await startServer({ ...environ, PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' })
    t.teardown(() => other.end())
    const addresses = [await app.listen({ host: '127.0.0.1', port: 0 }), other.address]
    const inTurns = async (path: string, options: RequestInit, times: number) => {
      const told: string[] = []
      for (let n = 0; n < times; n++) {
        const { status, headers } = await fetch(addresses[n % 2]! + path, options)
        told.push(`${status} ${headers.get('ratelimit-remaining')} of ${headers.get('ratelimit-limit')}`)
      }
      return told
    }
    const json = { 'content-type': 'application/json' }
    const key = { 'x-api-key': API_KEY }
    t.same(await inTurns('/api/v1/paesi', { headers: key }, 5),
      ['200 3 of 4', '200 2 of 4', '200 1 of 4', '200 0 of 4', '429 0 of 4'])
    t.same(await inTurns('/api/ocr', { method: 'POST', headers: { ...json, ...key }, body: '{}' }, 3),
      ['400 1 of 2', '400 0 of 2', '429 0 of 2'])
    const password = JSON.stringify({ email: 'nessuno@example.org', password: 'sbagliata-ma-lunga' })
    t.same(await inTurns('/auth/v1/token?grant_type=password', { method: 'POST', headers: json, body: password }, 5),
      ['400 3 of 4', '400 2 of 4', '400 1 of 4', '400 0 of 4', '429 0 of 4'])
    t.same(await inTurns('/nulla', {}, 1), ['429 0 of 4'])
  })

  t.test('requests pass uncounted while Redis is away, with one warning, and count when it is back', async (t) => {
    const port = await freePort()
    const first = await redis(t, port)
    const test = await build(t, { RATE_LIMIT_MAX: '2', REDIS_URL: `redis://127.0.0.1:${port}` })
    const isUp = async () => /^locanda_redis_up (\d)$/m.exec((await test.call('GET', '/metrics')).body)?.[1]
    t.same([await status(test), await status(test), await status(test)], [404, 404, 429])
    t.equal(await isUp(), '1')
    t.match(await first.keys(), ['locanda:requests:ip:127.0.0.1', 'locanda:requests:server'])

    await first.stop()
    while (times(test, AWAY) === 0) await sleep(10)
    const { statusCode, headers } = await test.app.inject('/nulla')
    t.equal(statusCode, 404)
    t.match(headers, { 'ratelimit-limit': '2', 'ratelimit-remaining': '2' })
    t.same([await status(test), await status(test)], [404, 404])
    t.equal(await isUp(), '0')
    t.equal(times(test, AWAY), 1)

    const second = await redis(t, port)
    while (times(test, BACK) === 0) await sleep(10)
    t.same([await status(test), await status(test), await status(test)], [404, 404, 429])
    t.same(await second.keys(), ['locanda:requests:ip:127.0.0.1'])
    t.equal(times(test, BACK), 1)
  })

  t.test('requests pass uncounted while Redis hangs', async (t) => {
    const port = await freePort()
    const { pause } = await redis(t, port)
    const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://127.0.0.1:${port}` }, undefined, USUAL)
    t.same([await status(test), await status(test)], [404, 429])
    pause()
    t.same([await status(test), await status(test), await status(test)], [404, 404, 404])
    t.equal(times(test, AWAY), 1)
  })

  t.test('a server starts with a warning where Redis refuses the password', async (t) => {
    const port = await freePort()
    await redis(t, port, '--requirepass', 'giusta')
    for (const credentials of ['', ':sbagliata@']) {
      const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://${credentials}127.0.0.1:${port}` })
      t.same([await status(test), await status(test)], [404, 404])
      t.equal(times(test, AWAY), 1)
    }
    const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://:giusta@127.0.0.1:${port}` })
    t.same([await status(test), await status(test)], [404, 429])
  })
})

t.test('a server starts with a warning where Redis is not there, or never answers', async (t) => {
  const mute = createServer().listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  for (const port of [await freePort(), (mute.address() as AddressInfo).port]) {
    const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://127.0.0.1:${port}` }, undefined, USUAL)
    t.same([await status(test), await status(test)], [404, 404])
    t.equal(times(test, AWAY), 1)
  }
})
