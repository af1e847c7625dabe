import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { apiKeyFormat } from '#src/identity/keys/api-keys.ts'
import { mintKey } from '#src/identity/keys/key-store.ts'
import { createUser } from '#src/identity/people/users.ts'
import type { Keys } from '#src/lib/secrets.ts'
import { connect } from '#src/database/connect.ts'
import { administer } from './data.ts'
import { median, under, type BenchResult } from './harness.ts'
import { firstSignIn } from './identity.ts'
import { againstQuiet, p95 } from './percentile.ts'
import type { Running } from './process.ts'

const EVENTS = 1000
const LISTENERS = 1000
/** Maximum streams per caller. */
const OF_CALLER = 6
const ROUNDS = 3

/** Measures requests while 1,000 events are queued for a receiver that never responds. */
export async function slowReceiver (server: Running, databaseUrl: string): Promise<BenchResult> {
  const receiver = createServer(() => {}).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const headers = { authorization: `Bearer ${await firstSignIn(server)}`, 'content-type': 'application/json' }
  const ask = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${server.url}/api/v1/webhooks${path}`, {
      method, headers: body ? headers : { authorization: headers.authorization }, body: body && JSON.stringify(body)
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return await response.json() as { data: { id: number, in_coda: number } }
  }
  try {
    const name = `detail: p95 while ${EVENTS} events wait for a slow receiver / quiet`
    return await againstQuiet(name, server, async () => {
      const { data: { id } } = await ask('POST', '', { url, tipi: ['prenotazione.creata'] })
      await administer(databaseUrl, (sql) => sql`
        insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
        select 'Ospite di Prova', 'IT', 380, '2026-12-01', '2026-12-02', 1 from generate_series(1, ${EVENTS}::int)`)
      const among = await p95(server)
      const { data: { in_coda: waiting } } = await ask('GET', `/${id}`)
      if (waiting !== EVENTS) throw new Error(`${waiting} events wait`)
      await ask('DELETE', `/${id}`)
      return among
    })
  } finally {
    receiver.closeAllConnections()
    receiver.close()
  }
}

/** Measures memory growth with 1,000 event streams that all receive an event. */
export async function manyListeners (server: Running, databaseUrl: string, keys: Keys): Promise<BenchResult> {
  const credentials = await callers(databaseUrl, keys)
  const amounts: number[] = []
  const delays: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = server.resident()
    server.forgetPeak()
    const streams: IncomingMessage[] = []
    for (let n = 0; n < LISTENERS; n++) streams.push(await open(server, credentials[Math.floor(n / OF_CALLER)]!))
    const startedAt = performance.now()
    const all = Promise.all(streams.map(hears))
    await administer(databaseUrl, (sql) => sql`
      insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
      values ('Ospite di Prova', 'IT', 380, '2026-12-01', '2026-12-02', 1)`)
    await all
    delays.push(performance.now() - startedAt)
    amounts.push(server.peak() - before)
    for (const stream of streams) stream.destroy()
    await sleep(1000)
  }
  const result = under(100, 'MB', { name: `${LISTENERS} streams of events: growth of memory`, amounts })
  return { ...result, detail: `${result.detail}; an event reaches all in ${median(delays).toFixed(0)} ms` }
}

/** Creates API keys for enough users. */
async function callers (databaseUrl: string, keys: Keys): Promise<string[]> {
  const { db, close } = connect(databaseUrl, 1)
  const format = apiKeyFormat(keys)
  const texts: string[] = []
  for (let n = 0; n < LISTENERS / OF_CALLER; n++) {
    texts.push(await db.transaction(async (tx) => {
      const email = `ascolta${n}@example.org`
      const { id } = await createUser(tx, { email, confirmed: true, app_metadata: { role: 'operator' } })
      return (await mintKey(tx, format, id, {})).apiKey
    }))
  }
  await close()
  return texts
}

async function open (server: Running, key: string): Promise<IncomingMessage> {
  const stream = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = { 'x-api-key': key, accept: 'text/event-stream' }
    get(`${server.url}/api/v1/eventi`, { headers, agent: false }, resolve).on('error', reject)
  })
  if (stream.statusCode !== 200) throw new Error(`a stream was refused: ${stream.statusCode}`)
  return stream.on('error', () => {})
}

async function hears (stream: IncomingMessage): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.on('data', (chunk: Buffer) => { if (chunk.includes('\nevent: ')) resolve() })
    stream.once('close', () => reject(new Error('a stream has ended')))
  })
}
