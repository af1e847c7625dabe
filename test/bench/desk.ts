import { gzipSync } from 'node:zlib'
import { chromium } from 'playwright-core'
import { CHROMIUM } from '#test/chromium.ts'
import { visitorBrowser } from '#test/identity/pages/visitor.ts'
import { BARE, cpuWithin, median, under, type BenchResult } from './harness.ts'
import { firstSignIn } from './identity.ts'
import { ADMIN, API_KEY, type Running } from './process.ts'
import { DESK } from './day-data.ts'
import { load } from './requests.ts'

const ROUNDS = 3
const PAINTINGS = 5
const KEY = { 'x-api-key': API_KEY }
const ASSET = /(?:href|src)="(\/desk\/[\w.-]+)"/g

/** A server with few bookings, one with many, and the peer of `peer.ts`. */
interface Servers { few: Running, many: Running, peer: Running }

/** Measures the pages of the desk: bytes that a browser loads, and processor time of the server. */
export async function deskBench ({ few, many, peer }: Servers): Promise<BenchResult[]> {
  const bare: number[] = []
  // The first round of each load is a warm-up.
  for (let round = 0; round <= ROUNDS; round++) await load(peer, BARE, bare)
  const [cookie, other] = [await signedIn(few), await signedIn(many)]
  const search = '/api/v1/prenotazioni?q=Prova%20177777&limit=20'
  const calendar = '/calendario?da=2026-11-01'
  return [
    ...await bytes(few, cookie),
    await cost(few, bare, {
      name: 'Oggi, 10,000 bookings, 200 units', path: '/oggi', headers: { cookie }, limit: 1100
    }),
    await cost(many, bare, {
      name: 'Calendario, 100 units × 31 days', path: calendar, headers: { cookie: other }, limit: 2200
    }),
    ...CHROMIUM === undefined ? [] : [await painting(many, calendar, other)],
    await cost(many, bare, { name: '/api/v1/oggi, 200,000 bookings', path: DESK, headers: KEY, limit: 100 }),
    await cost(many, bare, { name: 'search, 200,000 bookings', path: search, headers: KEY, limit: 100 }),
    await cost(many, bare, {
      name: 'Ricerca, 200,000 bookings', path: '/ricerca?q=Prova%20177777', headers: { cookie: other }, limit: 600
    })
  ]
}

/** The cookie of the administrator, who signs in with the form. */
async function signedIn (server: Running): Promise<string> {
  await firstSignIn(server)
  const browser = visitorBrowser(overHttp(server))
  await browser.open('/oggi')
  const { email, password } = ADMIN
  await browser.submit('/auth/accedi', { email, password })
  return browser.cookie()
}

/** The requests of a visitor's browser over HTTP. */
function overHttp ({ url }: Running): Parameters<typeof visitorBrowser>[0] {
  const inject = async ({ method, url: path, headers, payload }: Record<string, unknown>) => {
    const response = await fetch(new URL(String(path), url), {
      method: String(method),
      headers: headers as Record<string, string>,
      redirect: 'manual',
      ...payload !== undefined && { body: String(payload) }
    })
    const cookies = response.headers.getSetCookie().map((text) => {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      return { name, value, ...(/max-age=0/i.test(text) && { maxAge: 0 }) }
    })
    const location = response.headers.get('location')
    return {
      statusCode: response.status,
      headers: location === null ? {} : { location: new URL(location, url).pathname + new URL(location, url).search },
      cookies,
      body: await response.text()
    }
  }
  return { inject: inject as never }
}

async function bytes (server: Running, cookie: string): Promise<BenchResult[]> {
  const text = async (path: string) => {
    const response = await fetch(server.url + path, { headers: { cookie, accept: 'text/html' } })
    if (!response.ok) throw new Error(`${path}: ${response.status}`)
    return await response.text()
  }
  const page = await text('/oggi')
  const assets = [...new Set([...page.matchAll(ASSET)].map(([, path]) => path!))]
  const of = async (ending: string) =>
    (await Promise.all(assets.filter((path) => path.endsWith(ending)).map(text))).join('')
  const size = (limit: number, name: string, content: string) =>
    under(limit, 'kB', { name: `Oggi, gzipped ${name}`, amounts: [gzipSync(content).length / 1000] })
  return [size(30, 'HTML', page), size(20, 'scripts', await of('.js')), size(10, 'style', await of('.css'))]
}

/** Processor time of the server for a page, without PostgreSQL, against that of a bare statement. */
async function cost (
  server: Running,
  bare: readonly number[],
  { name, path, headers, limit }: { name: string, path: string, headers: Record<string, string>, limit: number }
): Promise<BenchResult> {
  const spent: number[] = []
  const times: number[] = []
  for (let round = 0; round <= ROUNDS; round++) times.push(await load(server, path, spent, headers))
  const result = cpuWithin(limit, `${name}: processor time / a bare statement`, spent.slice(1), bare.slice(1))
  return { ...result, detail: `${result.detail}; ${median(times.slice(1)).toFixed(1)} ms a request under load` }
}

/** Time from the last byte of a page to its first paint in Chromium. */
async function painting ({ url }: Running, path: string, cookie: string): Promise<BenchResult> {
  const browser = await chromium.launch({ executablePath: CHROMIUM! })
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
    await context.addCookies(cookie.split('; ').map((pair) => {
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      return { name, value, url }
    }))
    const page = await context.newPage()
    const amounts: number[] = []
    for (let round = 0; round <= PAINTINGS; round++) {
      await page.goto(url + path)
      const took = await page.evaluate<number>(`new Promise((resolve) => {
        new PerformanceObserver((list) => {
          const [{ responseEnd }] = performance.getEntriesByType('navigation')
          for (const { name, startTime } of list.getEntries()) {
            if (name === 'first-contentful-paint') resolve(startTime - responseEnd)
          }
        }).observe({ type: 'paint', buffered: true })
      })`)
      if (round > 0) amounts.push(Math.max(took, 0))
    }
    return under(100, 'ms', { name: 'Calendario, 100 units × 31 days: last byte to first paint in Chromium', amounts })
  } finally {
    await browser.close()
  }
}
