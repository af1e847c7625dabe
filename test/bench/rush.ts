import { rmSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClock } from '#src/lib/time.ts'
import { oracle, twice } from '#test/alloggiati/oracle.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import {
  successReply, guestNo, invio, openStandIn, productionEnviron, type Call, type StandIn
} from '#test/alloggiati/stand-in.ts'
import { emptyDatabase } from './data.ts'
import { under, type BenchResult } from './harness.ts'
import { API_KEY, startLocanda, temporaryFolder, type Running } from './process.ts'

/** Number of simultaneous bookings of two guests, and duration of a police call. */
interface Rush { bookings: number, callMs: number }

/** The evening of a large establishment, with one second per police call. Takes minutes. */
export const BIG_RUSH: Rush = { bookings: 200, callMs: 1000 }
/** A smaller rush, which every run includes. */
export const SMALL_RUSH: Rush = { bookings: 15, callMs: 1000 }

/** Limits in seconds: until the last of many responses, and for a request with all bookings of a day. */
const RESPONSE_S = 26
const DAY_S = 30
/** Rows in one Send of a day. */
const ROWS = 50
const NIGHTS = 3

/** Measures the time for many simultaneous bookings, in separate requests and in one. Counts double acquisitions. */
export async function rushBench (clusterUrl: string, name: string, rush: Rush): Promise<BenchResult[]> {
  return [
    ...await onServer(clusterUrl, `${name}_singly`, rush, oneByOne),
    ...await onServer(clusterUrl, `${name}_day`, rush, inOneGo)
  ]
}

type Arrival = (server: Running, police: StandIn, rush: Rush) => Promise<BenchResult[]>

async function onServer (clusterUrl: string, database: string, rush: Rush, arrive: Arrival): Promise<BenchResult[]> {
  const folder = temporaryFolder()
  const police = await openStandIn(oracle(join(folder, 'acquired')))
  for (const operation of ['GenerateToken', 'Test', 'Send']) {
    police.on[operation] = (socket, received) => {
      const call = received as Call
      setTimeout(() => {
        if (operation === 'Send') police.acquire(call.rows)
        response(successReply(call))(socket, call)
      }, rush.callMs)
    }
  }
  const databaseUrl = await emptyDatabase(clusterUrl, database)
  const environ = { ...productionEnviron(police), RATE_LIMIT_HEAVY_MAX: '1000000' }
  const server = await startLocanda({ dataDir: folder, databaseUrl, environ })
  try {
    return await arrive(server, police, rush)
  } finally {
    await server.stop()
    await police.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Sends one request per booking, all concurrently. Ideally there is no gap between two Sends. */
async function oneByOne (server: Running, police: StandIn, { bookings, callMs }: Rush): Promise<BenchResult[]> {
  const start = performance.now()
  const responses = await Promise.all(Array.from({ length: bookings }, async (_, n) => {
    const { status, body } = await post(server, '/api/alloggiati/invio', invio(guestsOf(n)))
    const kept = status === 200 || body.dettagli?.codice_errore === 'INVIO_IN_CORSO'
    return { took: performance.now() - start, kept }
  }))
  await acquired(police, bookings * 2)
  const took = performance.now() - start
  // The two further calls are a login and the first test call.
  const ideal = (bookings + 2) * callMs
  const what = `${bookings} bookings at once, ${callMs} ms a call`
  return [
    under(1.25, 'x', { name: `${what}: time / calls × time of a call`, amounts: [took / ideal] }),
    under(1, 'refused', { name: `${what}: refused`, amounts: [responses.filter(({ kept }) => !kept).length] }),
    under(1, 'twice', { name: `${what}: acquired twice`, amounts: [twice(police.acquired()).length] }),
    under(RESPONSE_S, 's', {
      name: `${what}: the last answer`,
      amounts: [Math.max(...responses.map(({ took }) => took)) / 1000]
    })
  ]
}

/** Saves the bookings, then submits the day in one request. */
async function inOneGo (server: Running, police: StandIn, { bookings, callMs }: Rush): Promise<BenchResult[]> {
  for (let n = 0; n < bookings; n++) await save(server, n)
  const start = performance.now()
  const { status } = await post(server, '/api/v1/invii/giornata', {})
  if (status !== 200) throw new Error(`The day was not sent: ${status}`)
  await acquired(police, bookings * 2)
  const took = performance.now() - start
  const ideal = (Math.ceil(bookings * 2 / ROWS) + 2) * callMs
  const what = `a day of ${bookings} bookings in one go, ${callMs} ms a call`
  return [
    under(DAY_S, 's', { name: what, amounts: [took / 1000] }),
    under(3, 'x', { name: `${what}: time / calls × time of a call`, amounts: [took / ideal] }),
    under(1, 'twice', { name: `${what}: acquired twice`, amounts: [twice(police.acquired()).length] })
  ]
}

async function save (server: Running, n: number): Promise<void> {
  const { status, body } = await post(server, '/api/v1/prenotazioni', {
    nome_cognome: `Ospite di Prova ${n}`,
    lingua: 'IT',
    paese_id: 380,
    check_in: createClock().today(),
    numero_notti: NIGHTS,
    numero_ospiti: 2
  })
  if (status !== 201) throw new Error(`A booking was not saved: ${status}`)
  const saved = await post(server, '/api/saveOspiti', { prenotazione_id: body.data!.id, dati: guestsOf(n) })
  if (saved.status !== 200) throw new Error(`Guests were not saved: ${saved.status}`)
}

function guestsOf (n: number) {
  return [2 * n, 2 * n + 1].map((one) => guestNo(one, { numero_documento: `CA${10_000 + one}AA` }))
}

/** Waits until the police has acquired this number of rows. Throws after ten minutes. */
async function acquired (police: StandIn, rows: number): Promise<void> {
  const limit = performance.now() + 600_000
  while (police.acquired().length < rows) {
    if (performance.now() > limit) throw new Error(`Only ${police.acquired().length} of ${rows} rows were acquired`)
    await sleep(50)
  }
}

interface ApiResponse { data?: { id: number }, dettagli?: { codice_errore: string } }

async function post (server: Running, path: string, body: object): Promise<{ status: number, body: ApiResponse }> {
  const response = await fetch(server.url + path, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify(body)
  })
  return { status: response.status, body: await response.json() as ApiResponse }
}
