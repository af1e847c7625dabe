import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { compareCpu, interleaved, within, type BenchResult } from './harness.ts'
import { againstQuiet, p95 } from './percentile.ts'
import { ADMIN, API_KEY, type Running } from './process.ts'
import { DETAIL, load } from './requests.ts'

const AT_ONCE = 4
const MEASURED_MS = 3000
/** Pause between two attempts. */
const EVERY_MS = 20
const ROUNDS = 3
const TIMEOUT_MS = 20_000

/** Compares request time with a bearer token and with the API key. */
export async function bearer (server: Running): Promise<BenchResult> {
  const withToken = { authorization: `Bearer ${await signIn(server)}` }
  const withKey = { 'x-api-key': API_KEY }
  const spent: Record<'token' | 'key', number[]> = { token: [], key: [] }
  const result = within(1.15, await interleaved(
    'detail: time with a token / with an API key',
    () => load(server, DETAIL, spent.token, withToken),
    () => load(server, DETAIL, spent.key, withKey),
    { rounds: 7, warmUps: 1, spent }
  ))
  return { ...result, detail: `${result.detail}; ${compareCpu(spent.token, spent.key)}` }
}

/** Measures the p95 latency of `/health/live` during four parallel sign-in loops. */
export async function underSignIns (server: Running): Promise<BenchResult> {
  const path = '/health/live'
  return await againstQuiet(`${path}: p95 during ${AT_ONCE} parallel sign-ins / quiet`, server, async () => {
    const end = performance.now() + MEASURED_MS
    const signingIn = Array.from({ length: AT_ONCE }, async () => {
      while (performance.now() < end) await signIn(server)
    })
    return await p95(server, Promise.all(signingIn), path)
  }, { rounds: ROUNDS, path, limit: 10 })
}

/** Signs in as the administrator, whose account is created shortly after the server is ready. */
export async function firstSignIn (server: Running): Promise<string> {
  for (const end = performance.now() + TIMEOUT_MS; performance.now() < end; await sleep(EVERY_MS)) {
    const token = await signIn(server).catch(() => undefined)
    if (token !== undefined) return token
  }
  return await signIn(server)
}

async function signIn (server: Running): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${server.url}/auth/v1/token?grant_type=password`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ADMIN)
  })
  if (!response.ok) throw new Error(`sign-in: ${response.status} ${await response.text()}`)
  return (await response.json() as { access_token: string }).access_token
}
