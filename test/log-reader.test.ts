import { spawn } from 'node:child_process'
import { once } from 'node:events'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { testDatabase } from './database.ts'
import { NEVER_OVERLOADED, temporaryFolder } from './helper.ts'
import { freePort } from '#test/free-port.ts'
import { COMPILE_CACHE } from '#test/setup/processes.ts'

const SERVER = fileURLToPath(new URL('../src/server.ts', import.meta.url))

/** A server whose log goes where this redirection of the shell says. */
async function start (t: Test, redirection: string) {
  const { url: DATABASE_URL } = await testDatabase(t)
  const port = await freePort()
  const child = spawn('sh', ['-c', `exec "$0" "$1" ${redirection}`, process.execPath, SERVER], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL,
      PORT: String(port),
      DATA_DIR: temporaryFolder(t),
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...NEVER_OVERLOADED
    },
    stdio: ['ignore', 'pipe', 'ignore']
  })
  t.teardown(() => child.kill('SIGKILL'))
  return { child, exit: once(child, 'exit'), live: () => fetch(`http://127.0.0.1:${port}/health/live`) }
}

t.test('a server whose log is not read any more ends in order, as when Ctrl-C ends both', async (t) => {
  const { child, exit } = await start(t, '')
  for await (const line of createInterface(child.stdout)) if (line.includes('"ready"')) break
  child.stdout.destroy()
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})

t.test('a server whose log can be written nowhere serves, and ends in order', async (t) => {
  const { child, exit, live } = await start(t, '> /dev/full')
  let answer = await live().catch(() => undefined)
  while (answer === undefined && child.exitCode === null) answer = await live().catch(() => undefined)
  for (let n = 0; n < 200; n++) await live()
  t.equal((await live()).status, 200)
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})
