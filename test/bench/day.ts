import autocannon from 'autocannon'
import { addDays } from '#src/lib/time.ts'
import { CALENDAR, DESK, UNITS } from './day-data.ts'
import { atLeast, compareCpu, interleaved, type BenchResult } from './harness.ts'
import { API_KEY, type Running } from './process.ts'
import { load } from './requests.ts'

/** Compares calendar and desk with a bare Fastify route and one prepared query that sends as many bytes. */
export async function dayBench (locanda: Running, peer: Running): Promise<BenchResult[]> {
  const results: BenchResult[] = []
  for (const [name, path] of [['calendar of 100 units × 62 days', CALENDAR], ['desk of a day', DESK]] as const) {
    const [ours, bare] = [await bytesOf(locanda, path), await bytesOf(peer, path)]
    const spent: Record<'locanda' | 'peer', number[]> = { locanda: [], peer: [] }
    const result = atLeast(0.6, await interleaved(`${name}: requests per second / one prepared query`,
      () => load(locanda, path, spent.locanda), () => load(peer, path, spent.peer), { rounds: 7, warmUps: 2, spent }))
    const detail = `${result.detail}; ${compareCpu(spent.locanda, spent.peer)}; ${ours} and ${bare} bytes`
    results.push({ ...result, detail })
  }
  return results
}

async function bytesOf ({ url }: Running, path: string): Promise<number> {
  const response = await fetch(url + path, { headers: { 'x-api-key': API_KEY } })
  return (await response.arrayBuffer()).byteLength
}

const AMOUNT = 1000
const NIGHTS = 3
/** A day on which all units are free. */
const AFTER_CALENDAR = '2027-06-01'

/**
 * Compares creations of bookings with and without a unit, on one server. The unit costs a second row, with an exclusion
 * constraint and two foreign keys.
 */
export async function creationWithUnit (server: Running): Promise<BenchResult> {
  let next = 0
  return atLeast(0.65, await interleaved('creation with a unit: requests per second / without a unit',
    () => create(server, true), () => create(server, false), { rounds: 9, warmUps: 2 }))

  async function create ({ url }: Running, isAssigned: boolean): Promise<number> {
    const { requests, duration, non2xx, errors } = await autocannon({
      url,
      connections: 8,
      amount: AMOUNT,
      sampleInt: 10,
      requests: [{
        method: 'POST',
        path: '/api/v1/prenotazioni',
        headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
        setupRequest: (request) => ({ ...request, body: JSON.stringify(booking(isAssigned)) })
      }]
    })
    if (non2xx + errors > 0) throw new Error(`${non2xx + errors} creations failed`)
    return (duration * 1000) / requests.total
  }

  function booking (isAssigned: boolean): object {
    const at = next++
    const check_in = addDays(AFTER_CALENDAR, Math.floor(at / UNITS) * NIGHTS)
    return {
      nome_cognome: 'Anna Bianchi',
      lingua: 'IT',
      paese_id: 380,
      check_in,
      numero_notti: NIGHTS,
      numero_ospiti: 2,
      ...isAssigned && { unita_id: 1 + at % UNITS }
    }
  }
}
