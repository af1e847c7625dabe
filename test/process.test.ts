import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { COMPILE_CACHE } from '#test/setup/processes.ts'
import { testDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { API_KEY, NEVER_OVERLOADED, temporaryFolder } from './helper.ts'
import { openSocket, target } from './raw.ts'
import { serverProcess } from './server-process.ts'

/* A database that hangs: its processes and connections exist, but it does not respond. */

const ADMIN = { ADMIN_EMAIL: 'direzione@example.org', ADMIN_PASSWORD: 'una-frase-lunga-e-mia' }

const headers = { 'x-api-key': API_KEY, 'content-type': 'application/json' }

const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_notti: 2,
  numero_ospiti: 1
}

async function started (t: Test, DATA_DIR = temporaryFolder(t)) {
  const server = serverProcess(t, { DATA_DIR, API_KEY, ...ADMIN })
  const base = await server.ready
  const request = (method: string, path: string, body?: object) =>
    fetch(`${base}${path}`, { method, headers, ...body && { body: JSON.stringify(body) } })
  const note = join(DATA_DIR, 'postgres', 'postmaster.pid')
  const pid = Number.parseInt(readFileSync(note, 'utf8'), 10)
  /** Sends a signal to PostgreSQL and all its processes. */
  const signal = (name: NodeJS.Signals) => {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
    for (const each of [pid, ...children]) process.kill(each, name)
    return [pid, ...children]
  }
  return { DATA_DIR, server, port: Number(new URL(base).port), request, signal }
}

t.test('while the database hangs, requests get a 503, and requests that got no connection never write', async (t) => {
  const { server, request, signal } = await started(t)
  const count = async () => {
    const { data } = await (await request('GET', '/api/v1/prenotazioni?limit=500')).json() as { data: object[] }
    return data.length
  }
  // Enough concurrent requests to open every connection and to prepare the statement.
  const first = await Promise.all(Array.from({ length: 40 }, () => request('POST', '/api/v1/prenotazioni', BOOKING)))
  t.ok(first.every(({ status }) => status === 201))
  const before = await count()
  signal('SIGSTOP')
  // More requests than connections, and then some after the health check has failed.
  for (const length of [100, 3]) {
    const responses = await Promise.all(Array.from({ length }, (_, n) => n % 2 === 0
      ? request('POST', '/api/v1/prenotazioni', BOOKING)
      : request('PUT', '/api/v1/prenotazioni/1', { numero_ospiti: 2 })))
    for (const response of responses) {
      t.equal(response.headers.get('retry-after'), '5')
      t.match(await response.json(), { status: 503, codice: 'DATABASE_NON_DISPONIBILE' })
    }
  }
  signal('SIGCONT')
  await server.logged('the database responds again')
  // Each connection has sent one statement, which PostgreSQL executes when it continues.
  const after = await count()
  t.ok(after - before <= Math.max(4, availableParallelism() * 2), `${after - before} written`)
  t.equal((await request('POST', '/api/v1/prenotazioni', BOOKING)).status, 201)
  t.equal(await count(), after + 1)
  t.equal(server.logs.filter(({ msg }) => /^the database does not respond/.test(String(msg))).length, 1)
  server.signal('SIGTERM')
  t.equal(await server.exit, 0)
})

t.test('a server whose database hangs rejects waiting requests, and both shut down cleanly', async (t) => {
  const { DATA_DIR, server, port, request, signal } = await started(t)
  t.equal((await request('POST', '/api/v1/prenotazioni', BOOKING)).status, 201)
  const all = signal('SIGSTOP')
  // Sent together, so that the second has started when the first gets its response.
  const both = target('GET', '/health/live', { connection: 'keep-alive' }) +
    target('GET', '/api/v1/prenotazioni/1', headers)
  const client = await openSocket(t, port, both)
  let responses = String((await once(client, 'data') as [Buffer])[0])
  client.on('data', (more: Buffer) => { responses += String(more) })
  server.signal('SIGTERM')
  await once(client, 'close')
  t.match(responses, /HTTP\/1\.1 200 [^]+HTTP\/1\.1 503 [^]+DATABASE_NON_DISPONIBILE/)
  signal('SIGCONT')
  t.equal(await server.exit, 0)
  t.same(all.filter((pid) => existsSync(`/proc/${pid}/cwd`)), [])

  const next = await started(t, DATA_DIR)
  t.equal((await next.request('GET', '/api/v1/prenotazioni/1')).status, 200, 'committed data are there')
  next.server.signal('SIGTERM')
  t.equal(await next.server.exit, 0)
})

const SERVER = fileURLToPath(new URL('../src/server.ts', import.meta.url))

/** A server whose log is redirected by the shell. */
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

t.test('a server whose log reader has ended shuts down cleanly, as after Ctrl-C', async (t) => {
  const { child, exit } = await start(t, '')
  for await (const line of createInterface(child.stdout)) if (line.includes('"ready"')) break
  child.stdout.destroy()
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})

t.test('a server whose log cannot be written continues to serve, and shuts down cleanly', async (t) => {
  const { child, exit, live } = await start(t, '> /dev/full')
  let response = await live().catch(() => undefined)
  while (response === undefined && child.exitCode === null) response = await live().catch(() => undefined)
  for (let n = 0; n < 200; n++) await live()
  t.equal((await live()).status, 200)
  child.kill('SIGTERM')
  t.same(await exit, [0, null])
})
