import type { Test } from 'tap'
import { build } from '#test/helper.ts'
import { anError, exactly } from './exactly.ts'
import type { SharedServer, Prove } from './shared-server.ts'
import { ENDPOINTS } from './rows.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** Every endpoint with a concrete URL. */
const ALL = Object.values(ENDPOINTS).map(([method, path, access]) => ({
  method: method as Method, url: path.replace(':side', 'front').replace(/:\w+/g, '1'), access
}))

/** Rows about access and rate limits. */
export async function accessRows (
  { app, t, key, admin, operator, nobody, token }: SharedServer, prove: Prove
): Promise<void> {
  const bearer = async (of: Parameters<typeof token>[0]) => ({ authorization: `Bearer ${await token(of)}` })

  await prove('M1', async (t) => {
    t.equal((await key('GET', '/api/v1/paesi')).statusCode, 200)
    t.equal((await nobody('GET', '/api/v1/paesi?api_key=chiave-di-prova-0123456789')).statusCode, 200)
  })
  await prove('M2', async (t) => {
    t.equal((await operator('GET', '/api/v1/paesi')).statusCode, 200)
  })
  await prove('A1', async (t) => {
    const open = ALL.filter(({ access }) => access === 'public')
    t.equal(open.length, 4)
    for (const { method, url } of open) t.equal((await nobody(method, url)).statusCode, 200, url)
  })
  for (const row of ['A2', 'C4'] as const) {
    await prove(row, async (t) => {
      const closed = ALL.filter(({ access }) => access !== 'public')
      // For the row of the status code one endpoint is enough.
      for (const { method, url } of row === 'A2' ? closed : closed.slice(0, 1)) {
        for (const headers of [{}, { 'x-api-key': 'sbagliata' }, { authorization: 'Bearer a.b.c' }]) {
          const response = await app.inject({ method, url, headers })
          exactly(t, response, 401, anError(401, 'Autenticazione mancante o non valida'))
          t.match(response.headers['www-authenticate'], /./, url)
        }
      }
    })
  }
  for (const row of ['A3', 'C5'] as const) {
    await prove(row, async (t) => {
      const closed = ALL.filter(({ access }) => access === 'admin')
      t.equal(closed.length, 9)
      for (const { method, url } of row === 'A3' ? closed : closed.slice(0, 1)) {
        for (const ask of [key, operator]) exactly(t, await ask(method, url), 403, anError(403, /./))
      }
    })
  }
  await prove('A5', async (t) => {
    for (const [status, headers] of [
      [200, await bearer({ service: true })],
      [200, await bearer({ name: 'capo', role: 'admin' })],
      [403, await bearer({ name: 'anna' })],
      [403, { 'x-api-key': 'chiave-di-prova-0123456789' }]
    ] as const) {
      t.equal((await app.inject({ url: '/api/users', headers })).statusCode, status)
    }
    t.equal((await admin('GET', '/api/users')).statusCode, 200)
  })

  const few = await build(t, { RATE_LIMIT_MAX: '1', RATE_LIMIT_HEAVY_MAX: '1' })
  const refused = async (t: Test, { method, url }: (typeof ALL)[number]) => {
    const response = await few.call(method, url)
    exactly(t, response, 429, anError(429, /^Troppe richieste: riprovare fra \d+ secondi$/))
    t.match(response.headers, { 'retry-after': /^[1-9]\d?$/, 'ratelimit-limit': '1', 'ratelimit-remaining': '0' }, url)
  }
  await prove('L1', async (t) => {
    // Requests of a caller, for heavy work, and without credentials.
    await few.call('GET', '/api/v1/paesi')
    await few.call('POST', '/api/ocr', {})
    await few.call('GET', '/api/config')
    for (const endpoint of ALL) await refused(t, endpoint)
  })
  await prove('C8', async (t) => await refused(t, ALL[0]!))
}
