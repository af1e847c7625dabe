import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import process from 'node:process'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { testDatabase } from '#test/database.ts'
import { API_KEY, temporaryFolder } from '#test/helper.ts'
import { startServer, type ServerProcess } from '#test/running-server.ts'
import { startNginx, without, writeNginx, type Nginx } from './nginx.ts'
import { freePort } from '#test/free-port.ts'

const skip = without('nginx', 'nginx-light')
/** How often each instance is restarted; more for a longer trial. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const CLIENTS = 3
/** Between the requests of a client: more of them would show no more, and slow the starts down. */
const PAUSE_MS = 15

interface Answer { status: number, body: { data?: { id: number } } }

/** One request over connections that are kept. */
function ask ({ port, certificate }: Nginx, agent: Agent, path: string, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({
      port,
      host: '127.0.0.1',
      servername: 'locanda.example',
      ca: certificate,
      agent,
      path,
      method: body ? 'POST' : 'GET',
      headers: { host: 'locanda.example', 'x-api-key': API_KEY, 'content-type': 'application/json' }
    }, (answer) => {
      json(answer).then((body) => resolve({ status: answer.statusCode!, body: body as Answer['body'] }), reject)
    })
    sent.on('error', reject)
    sent.end(body && JSON.stringify(body))
  })
}

const booking = (name: string) => ({
  nome_cognome: name, lingua: 'IT', paese_id: 380, check_in: '2026-11-21', numero_notti: 2, numero_ospiti: 1
})

async function instances (t: Test) {
  const { url, sql } = await testDatabase(t)
  const ports = [await freePort(), await freePort()] as [number, number]
  const env = {
    DATABASE_URL: url,
    DATA_DIR: temporaryFolder(t),
    MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    ADMIN_EMAIL: 'direzione@example.org',
    ADMIN_PASSWORD: 'una-frase-lunga-e-mia',
    PUBLIC_URL: 'https://locanda.example',
    TRUST_PROXY: '127.0.0.1',
    RATE_LIMIT_MAX: '1000000',
    DRAIN_SECONDS: '2'
  }
  const start = (port: number) => startServer({ ...env, PORT: String(port) })
  const running: ServerProcess[] = [await start(ports[0]), await start(ports[1])]
  t.teardown(() => Promise.all(running.map((server) => server.kill())))
  return { running, ports, start, sql }
}

t.test('the shipped settings are good for nginx', { skip }, async (t) => {
  const { folder } = await writeNginx(t, [4001, 4002])
  const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', join(folder, 'nginx.conf')], {
    encoding: 'utf8'
  })
  t.equal(status, 0, stderr)
  t.notMatch(stderr, /warn/)
})

t.test('instances restarted in turn under load lose no request, and do no POST twice', { skip }, async (t) => {
  const { running, ports, start, sql } = await instances(t)
  const nginx = await writeNginx(t, ports)
  await startNginx(t, nginx)
  const agent = new Agent({ keepAlive: true, maxSockets: 2 * CLIENTS })
  t.teardown(() => agent.destroy())

  const bad: unknown[] = []
  const names: string[] = []
  let reads = 0
  const over = new AbortController()
  const note = async (what: string, answer: Promise<Answer>, status: number) => {
    const { status: got } = await answer.catch((err: Error) => ({ status: err.message }))
    if (got !== status) bad.push([what, got])
    await sleep(PAUSE_MS)
  }
  const writer = async (client: number) => {
    for (let n = 0; !over.signal.aborted; n++) {
      const name = `Ospite ${client} ${n}`
      names.push(name)
      await note(name, ask(nginx, agent, '/api/v1/prenotazioni', booking(name)), 201)
    }
  }
  const reader = async () => {
    for (; !over.signal.aborted; reads++) await note('read', ask(nginx, agent, '/api/v1/prenotazioni?limit=1'), 200)
  }
  const clients = Array.from({ length: CLIENTS }, (_, client) => [writer(client), reader()]).flat()
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const place of [0, 1] as const) {
        await running[place]!.end()
        running[place] = await start(ports[place])
      }
    }
  } finally {
    over.abort()
    await Promise.all(clients)
  }

  t.same(bad, [], readFileSync(join(nginx.folder, 'error.log'), 'utf8').slice(0, 2000))
  const rows = await sql<{ name: string, count: number }[]>`
    select nome_cognome as name, count(*)::int as count from prenotazioni group by 1`
  t.equal(rows.length, names.length)
  t.same(rows.filter(({ count }) => count !== 1), [])
  t.ok(reads > 50 && names.length > 50, `${reads} reads, ${names.length} POSTs`)
  t.comment(`${reads} reads, ${names.length} POSTs`)
})
