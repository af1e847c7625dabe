import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { freePort } from '#test/free-port.ts'
import { API_KEY, build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { listening } from '#test/loopback.ts'
import { startServer } from '#test/running-server.ts'

const MAX = '3'
const SOMEWHERE = '/api/v1/paesi'
const key = { 'x-api-key': API_KEY }

interface From { headers?: Record<string, string>, remoteAddress?: string }

/** A server that allows three requests per caller. Each test uses other client IPs. */
const three = await build(t, { RATE_LIMIT_MAX: MAX })
/** Environment of further servers on the same database, with their own counters. */
const SAME = { DATABASE_URL: three.url, DATA_DIR: three.dataDir }

/** The statuses of several equal requests in sequence. */
async function statuses ({ app }: TestApp, times: number, url: string, options: From = {}): Promise<number[]> {
  const responses: LightMyRequestResponse[] = []
  while (responses.length < times) responses.push(await app.inject({ url, ...options }))
  return responses.map(({ statusCode }) => statusCode)
}

t.test('a caller has exactly the configured number of requests, with RateLimit headers and Retry-After', async (t) => {
  const { app } = three
  for (const left of ['2', '1', '0']) {
    const { statusCode, headers } = await app.inject({ url: SOMEWHERE, headers: key })
    t.equal(statusCode, 200)
    t.match(headers, { 'ratelimit-limit': '3', 'ratelimit-remaining': left, 'ratelimit-reset': /^([1-9]|[1-5]\d|60)$/ })
    t.equal(headers['retry-after'], undefined)
  }
  const refused = await app.inject({ url: SOMEWHERE, headers: key })
  t.match(refused.headers, {
    'retry-after': /^([1-9]|[1-5]\d|60)$/,
    'ratelimit-limit': '3',
    'ratelimit-remaining': '0',
    'content-type': 'application/json; charset=utf-8'
  })
  const body = refused.json()
  t.same(body, {
    error: `Troppe richieste: riprovare fra ${String(refused.headers['retry-after'])} secondi`,
    status: 429,
    codice: 'TROPPE_RICHIESTE',
    requestId: refused.headers['x-request-id']
  })
})

t.test('each caller has one counter across its client IPs and routes', async (t) => {
  const test = await build(t, { ...SAME, RATE_LIMIT_MAX: MAX })
  const anna = { authorization: `Bearer ${await test.token({ name: 'anna' })}` }
  const piero = { authorization: `Bearer ${await test.token({ name: 'piero' })}` }
  t.same(await statuses(test, 4, SOMEWHERE, { headers: key }), [200, 200, 200, 429])
  t.same(
    await statuses(test, 1, '/api/prenotazioni', { headers: key, remoteAddress: '192.0.2.1' }),
    [429],
    'another client IP, another route, the same key'
  )
  t.same(await statuses(test, 4, SOMEWHERE, { headers: anna }), [200, 200, 200, 429])
  t.same(
    await statuses(test, 1, SOMEWHERE, { headers: { authorization: `Bearer ${await test.token({ name: 'anna' })}` } }),
    [429],
    'another token of hers'
  )
  t.same(await statuses(test, 1, SOMEWHERE, { headers: piero }), [200])
  t.same(await statuses(test, 4, '/openapi.json'), [200, 200, 200, 429], 'without credentials by client IP')
})

t.test('wrong credentials are counted by client IP before they are rejected', async (t) => {
  const test = await build(t, { ...SAME, RATE_LIMIT_MAX: MAX })
  t.same(await statuses(test, 2, SOMEWHERE, { headers: { 'x-api-key': 'sbagliata' } }), [401, 401])
  t.same(await statuses(test, 2, SOMEWHERE, { headers: { authorization: 'Bearer a.b.c' } }), [401, 429])
  t.same(await statuses(test, 1, SOMEWHERE, { headers: { 'x-api-key': 'altra' } }), [429])
  t.same(
    await statuses(test, 1, SOMEWHERE, { headers: { 'x-api-key': 'altra' }, remoteAddress: '192.0.2.1' }),
    [401],
    'another client IP'
  )
  t.same(await statuses(test, 1, SOMEWHERE, { headers: key }), [200], 'the right key from that client IP is accepted')
})

t.test('unknown paths, wrong methods and invalid bodies are counted', async (t) => {
  const { app } = three
  for (const [remoteAddress, request] of Object.entries({
    '198.51.100.1': { url: '/nulla' },
    '198.51.100.2': { url: SOMEWHERE, method: 'DELETE' as const },
    '198.51.100.3': {
      url: '/nulla', method: 'POST' as const, headers: { 'content-type': 'application/json' }, payload: '{'
    }
  })) {
    const ask = async () => (await app.inject({ ...request, remoteAddress })).statusCode
    for (let i = 0; i < 3; i++) t.not(await ask(), 429)
    t.equal(await ask(), 429, `${request.method ?? 'GET'} ${request.url}`)
    const other = await app.inject({ url: '/openapi.json', remoteAddress })
    t.equal(other.statusCode, 429, 'in the same counter')
  }
})

t.test('health checks are never rate-limited', async (t) => {
  const from = { remoteAddress: '198.51.100.4' }
  t.same(await statuses(three, 5, '/health/live', from), [200, 200, 200, 200, 200])
  t.same(await statuses(three, 5, '/health/ready', from), [200, 200, 200, 200, 200])
})

t.test('X-Forwarded-For is used only from a trusted proxy', async (t) => {
  const forwarded = (chain: string, remoteAddress = '127.0.0.1') => ({
    headers: { 'x-forwarded-for': chain, 'x-real-ip': chain, forwarded: `for=${chain}` },
    remoteAddress
  })
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    await statuses(three, 1, '/nulla', forwarded(address, '198.51.100.5'))
  }
  t.same(await statuses(three, 1, '/nulla', forwarded('192.0.2.4', '198.51.100.5')), [429])

  const behind = await build(t, { ...SAME, RATE_LIMIT_MAX: MAX, TRUST_PROXY: '127.0.0.1, 10.0.0.0/8' })
  t.same(await statuses(behind, 4, '/nulla', forwarded('192.0.2.1')), [404, 404, 404, 429])
  t.same(
    await statuses(behind, 1, '/nulla', forwarded('192.0.2.2, 10.1.2.3')),
    [404],
    'another customer, through two trusted proxies'
  )
  t.same(
    await statuses(behind, 1, '/nulla', forwarded('198.51.100.7, 192.0.2.1')),
    [429],
    'a header that the customer sent to the proxy does not count'
  )
  t.same(await statuses(behind, 1, '/nulla', forwarded('192.0.2.9', '203.0.113.5')), [404], 'an untrusted client')
  t.same(
    await statuses(behind, 3, '/nulla', forwarded('192.0.2.8', '203.0.113.5')),
    [404, 404, 429],
    'is counted by its own IP'
  )
  t.equal(behind.logs.at(-1)?.ip, '203.0.113.5')
})

t.test('IPv6 clients are counted by their /64 network', async (t) => {
  const test = three
  const from = (remoteAddress: string) => statuses(test, 1, '/nulla', { remoteAddress })
  for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:aaaa:bbbb:cccc:dddd', '2001:db8:1:2:0:1::']) {
    t.same(await from(address), [404])
  }
  t.same(await from('2001:db8:1:2:ffff::9'), [429])
  t.same(await from('2001:db8:1:3::1'), [404], 'the next network')
  for (const address of ['2001:db8::1', '2001:db8:0:0:5::', '2001:db8::9:1:1:1']) t.same(await from(address), [404])
  t.same(await from('2001:db8::2'), [429], 'omitted zeros are zeros')
  t.same(await statuses(test, 3, '/nulla', { remoteAddress: '::ffff:192.0.2.1' }), [404, 404, 404])
  t.same(await from('::ffff:192.0.2.2'), [404], 'IPv4 in IPv6 is IPv4')
})

t.test('the counter starts again after the window', async (t) => {
  const test = await build(t, { ...SAME, RATE_LIMIT_MAX: '1', RATE_LIMIT_WINDOW: '5' })
  t.same(await statuses(test, 2, '/nulla'), [404, 429])
  for (let status = 429; status !== 404; await sleep(10)) [status = 0] = await statuses(test, 1, '/nulla')
  t.pass()
})

t.test('requests that the router rejects are counted by client IP, in every protocol', async (t) => {
  const test = three
  const from = { remoteAddress: '198.51.100.6' }
  const long = `/api/v1/prenotazioni/${'1'.repeat(400)}`
  t.same(await statuses(test, 1, long, from), [414])
  t.same(await statuses(test, 2, '/%zz', from), [400, 400])
  const refused = await test.app.inject({ url: '/storage/v1/object/%zz', ...from })
  t.equal(refused.statusCode, 429)
  t.match(refused.headers, { 'ratelimit-remaining': '0', 'retry-after': /^\d+$/, 'x-request-id': /./ })
  t.same(await statuses(test, 1, '/%zz', { remoteAddress: '198.51.100.7' }), [400])
})

const isThere = spawnSync('redis-server', ['--version']).status === 0

/** A Redis without persistence on this loopback port. It stops when the test ends. */
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

const AWAY = 'Redis is unavailable: requests are not counted'
const BACK = 'Redis is available again: requests are counted'
/** The default timeout, in milliseconds. */
const USUAL = { times: { redisResponseMs: 500 } }
const status = async ({ app }: TestApp) => (await app.inject('/nulla')).statusCode
const times = ({ logs }: TestApp, text: string) => logs.filter(({ msg }) => msg === text).length

t.test('with a Redis', { skip: isThere ? false : 'redis-server is not installed' }, async (t) => {
  t.test('two processes share the counters of normal and heavy requests', async (t) => {
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
    // This process is one server, and starts a second one.
    const { app } = await build(t, environ)
    const other = await startServer({ ...environ, PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' })
    t.teardown(() => other.end())
    const addresses = [await app.listen({ host: '127.0.0.1', port: 0 }), other.address]
    const inTurns = async (path: string, options: RequestInit, times: number) => {
      const reported: string[] = []
      for (let n = 0; n < times; n++) {
        const { status, headers } = await fetch(addresses[n % 2]! + path, options)
        reported.push(`${status} ${headers.get('ratelimit-remaining')} of ${headers.get('ratelimit-limit')}`)
      }
      return reported
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

  t.test('while Redis is down the server counts no requests, logs one warning, and later counts again', async (t) => {
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

  t.test('while Redis hangs, requests are not counted', async (t) => {
    const port = await freePort()
    const { pause } = await redis(t, port)
    const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://127.0.0.1:${port}` }, undefined, USUAL)
    t.same([await status(test), await status(test)], [404, 429])
    pause()
    t.same([await status(test), await status(test), await status(test)], [404, 404, 404])
    t.equal(times(test, AWAY), 1)
  })

  t.test('a server starts with a warning when Redis rejects the password', async (t) => {
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

t.test('a server starts with a warning when Redis is unreachable or never responds', async (t) => {
  for (const port of [await freePort(), await listening(t, createServer())]) {
    const test = await build(t, { RATE_LIMIT_MAX: '1', REDIS_URL: `redis://127.0.0.1:${port}` }, undefined, USUAL)
    t.same([await status(test), await status(test)], [404, 404])
    t.equal(times(test, AWAY), 1)
  }
})
