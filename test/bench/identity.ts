import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { interleaved, median, under, within, type BenchResult } from './harness.ts'
import { ADMIN, API_KEY, type Running } from './process.ts'
import { DETAIL, load } from './requests.ts'

const AT_ONCE = 4
const WATCHED_MS = 5000
/** Between two looks at whether the server is alive. */
const EVERY_MS = 20
const ROUNDS = 3

/** What a bearer token costs more than the API key, on the detail of a booking. */
export async function bearer (server: Running): Promise<BenchResult> {
  const withToken = { authorization: `Bearer ${await signIn(server)}` }
  const withKey = { 'x-api-key': API_KEY }
  const spent: Record<'token' | 'key', number[]> = { token: [], key: [] }
  const name = 'dettaglio: tempo con token / con chiave API'
  const measured = await interleaved(
    name,
    () => load(server, DETAIL, spent.token, withToken),
    () => load(server, DETAIL, spent.key, withKey),
    { rounds: 7, warmUps: 1 }
  )
  const result = within(1.15, measured)
  return {
    ...result,
    detail: `${result.detail}; CPU del server ${median(spent.token).toFixed(3)} ms contro ${median(spent.key).toFixed(3)} ms`
  }
}

/** How long `/health/live` takes, 95th percentile, while four people sign in again and again. */
export async function underSignIns (server: Running): Promise<BenchResult> {
  const amounts: number[] = []
  for (let round = 0; round < ROUNDS; round++) amounts.push(await watched(server))
  return under(100, 'ms', { name: `${AT_ONCE} accessi in parallelo: p95 di /health/live`, amounts })
}

async function watched (server: Running): Promise<number> {
  const end = performance.now() + WATCHED_MS
  const signingIn = Array.from({ length: AT_ONCE }, async () => {
    while (performance.now() < end) await signIn(server)
  })
  const times: number[] = []
  while (performance.now() < end) {
    const start = performance.now()
    await (await fetch(`${server.url}/health/live`)).arrayBuffer()
    times.push(performance.now() - start)
    await sleep(EVERY_MS)
  }
  await Promise.all(signingIn)
  return times.sort((a, b) => a - b)[Math.ceil(times.length * 0.95) - 1] ?? NaN
}

async function signIn (server: Running): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${server.url}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ADMIN)
  })
  if (!answer.ok) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`)
  return (await answer.json() as { access_token: string }).access_token
}
