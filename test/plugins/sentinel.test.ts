import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { build, temporaryFolder, type TestApp } from '#test/helper.ts'
import { freePort } from '#test/free-port.ts'

const skip = spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed'

/**
 * A replica that has lost its master ten times as long before the sentinel noticed is never taken in its place. A
 * sentinel that has stood still for two seconds, as on a busy machine, looks away for thirty.
 */
const DOWN_AFTER_MS = 4000

/** A process of Redis with this configuration; ended when the test ends. */
async function redis (t: Test, settings: string, ...more: string[]) {
  const port = await freePort()
  const folder = temporaryFolder(t)
  const file = join(folder, 'redis.conf')
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${folder}\n${settings}\n`)
  const child = spawn('redis-server', [file, ...more], { stdio: 'ignore' })
  const exit = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exit
  }
  t.teardown(kill)
  const client = new Redis(port, { retryStrategy: () => 50, maxRetriesPerRequest: null }).on('error', () => {})
  t.teardown(() => client.disconnect())
  await client.ping()
  return { port, kill, client }
}

const status = async ({ app }: TestApp) => (await app.inject('/nulla')).statusCode

t.test('with sentinels', { skip }, async (t) => {
  const written = t.capture(console, 'error')
  const master = await redis(t, 'save ""')
  const second = await redis(t, `save ""\nreplicaof 127.0.0.1 ${master.port}`)
  while (!/master_link_status:up/.test(await second.client.info('replication'))) await sleep(50)
  const sentinel = await redis(t, `sentinel monitor locanda 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds locanda ${DOWN_AFTER_MS}
sentinel failover-timeout locanda 2000`, '--sentinel')
  const known = async () => String(await sentinel.client.call('SENTINEL', 'REPLICAS', 'locanda'))
  while (!(await known()).includes(String(second.port))) await sleep(50)
  const absent = await freePort()
  const REDIS_URL = `redis+sentinel://127.0.0.1:${absent},127.0.0.1:${sentinel.port}/locanda`
  const environ = { RATE_LIMIT_MAX: '3', RATE_LIMIT_WINDOW: '600', REDIS_URL }

  await t.test('servers share their counters on the master, and on the one that takes its place', async (t) => {
    const one = await build(t, environ)
    const two = await build(t, environ)
    t.same([await status(one), await status(two), await status(one), await status(two)], [404, 404, 404, 429])
    t.same(await master.client.keys('*'), ['locanda:requests:ip:127.0.0.1'])
    await master.kill()
    const isBack = ({ logs }: TestApp) => logs.some(({ msg }) => /^Redis is back/.test(String(msg)))
    for (; !isBack(one) || !isBack(two); await sleep(50)) {
      for (const test of [one, two]) t.ok([404, 429].includes(await status(test)), 'counted here meanwhile')
    }
    await second.client.del('locanda:requests:ip:127.0.0.1')
    t.same([await status(one), await status(two), await status(one), await status(two)], [404, 404, 404, 429])
  })

  await t.test('sentinels that are away keep no server from starting', async (t) => {
    await sentinel.kill()
    t.equal(await status(await build(t, environ)), 404)
  })

  t.same(written(), [], 'the library writes nothing by itself of a sentinel that is away')
})
