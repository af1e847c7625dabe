import autocannon from 'autocannon'
import { administer, emptyDatabase } from './data.ts'
import { atLeast, compareCpu, interleaved, type BenchResult } from './harness.ts'
import { API_KEY, type Running } from './process.ts'

const PATH = '/api/v1/prenotazioni'
const BODY = {
  nome_cognome: 'Anna Bianchi',
  lingua: 'IT',
  email: 'anna.bianchi@example.com',
  paese_id: 380,
  check_in: '2026-11-21',
  check_out: '2026-11-24',
  numero_ospiti: 2
}
const CONNECTIONS = 8
const AMOUNT = 2000

/** A database without synchronous commit, because the wait for the disk would hide the difference. */
export async function databaseForCreations (clusterUrl: string): Promise<string> {
  const url = await emptyDatabase(clusterUrl, 'bench_creations')
  await administer(url, (sql) => sql.unsafe('alter database bench_creations set synchronous_commit = off'))
  return url
}

/** Compares the bookings created per second with those of a bare route with a prepared insert. */
export async function creation (locanda: Running, peer: Running): Promise<BenchResult> {
  const spent: Record<'locanda' | 'peer', number[]> = { locanda: [], peer: [] }
  const result = atLeast(0.65, await interleaved(
    'creation: requests per second / bare Fastify with a prepared insert',
    () => create(locanda, spent.locanda),
    () => create(peer, spent.peer),
    { rounds: 9, warmUps: 3, spent }
  ))
  return { ...result, detail: `${result.detail}; ${compareCpu(spent.locanda, spent.peer)}` }
}

/** Milliseconds per creation under load. */
async function create (server: Running, spent: number[]): Promise<number> {
  const before = server.cpu()
  const { requests, duration, non2xx, errors } = await autocannon({
    url: server.url + PATH,
    method: 'POST',
    body: JSON.stringify(BODY),
    connections: CONNECTIONS,
    amount: AMOUNT,
    // autocannon checks only once per sample whether it must stop.
    sampleInt: 10,
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' }
  })
  if (non2xx + errors > 0) throw new Error(`${non2xx + errors} creations failed`)
  spent.push((server.cpu() - before) / requests.total)
  return (duration * 1000) / requests.total
}
