import manifest from '../../package.json' with { type: 'json' }
import { booking, create } from '#test/bookings/samples.ts'
import { store } from '#test/storage/samples.ts'
import { anError, anyText, exactly, INSTANT, UUID, type Wanted } from './exactly.ts'
import { PUBLIC_URL, QUERY_PASSWORD, TODAY, type SharedServer, type Prove } from './shared-server.ts'

const VALID_S = 60

/** Rows about settings, utilities and files. */
export async function systemRows (server: SharedServer, prove: Prove): Promise<void> {
  const { app, admin, key, nobody, call } = server

  await prove('E37', async (t) => {
    exactly(t, await nobody('GET', '/api/config'), 200, { backendUrl: PUBLIC_URL, backendKey: /^ey[\w-]+\.[\w-]+\.[\w-]+$/ })
  })
  for (const row of ['E38', 'W2', 'L3'] as const) {
    await prove(row, async (t) => {
      const response = await nobody('GET', '/api/version')
      exactly(t, response, 200, {
        version: manifest.version, latestCommit: /^([0-9a-f]{40})?$/, hostingDeploy: 'prova'
      })
      t.equal(response.headers['cache-control'], 'public, max-age=300')
    })
  }
  await prove('E40', async (t) => {
    exactly(t, await admin('POST', '/api/settings/features', { key: 'riga_e40', enabled: true }), 200, {
      key: 'riga_e40', enabled: true
    })
    exactly(t, await admin('POST', '/api/settings/features', {}), 400, anError(400, /./, {
      dettagli: [{ campo: 'key', messaggio: /./ }, { campo: 'enabled', messaggio: /./ }]
    }))
  })
  await prove('E39', async (t) => {
    await admin('POST', '/api/settings/features', { key: 'riga_e39', enabled: false })
    const flags = (await nobody('GET', '/api/settings/features')).json<{ key: string }[]>()
    t.strictSame(flags.find((flag) => flag.key === 'riga_e39'), { key: 'riga_e39', enabled: false })
    await admin('POST', '/api/settings/features', { key: 'riga_e39', enabled: true })
    const after = (await nobody('GET', '/api/settings/features')).json<{ key: string }[]>()
    t.strictSame(after.find((flag) => flag.key === 'riga_e39'), { key: 'riga_e39', enabled: true })
  })
  const off: Wanted = { enabled: false, message: null, since: null, allow: [] }
  await prove('E41', async (t) => {
    exactly(t, await key('GET', '/api/settings/maintenance'), 200, off)
  })
  await prove('E42', async (t) => {
    const on: Wanted = { enabled: true, message: 'Alle 14', since: INSTANT, allow: [] }
    exactly(t, await admin('POST', '/api/settings/maintenance', { enabled: true, message: 'Alle 14' }), 200, on)
    exactly(t, await key('GET', '/api/v1/prenotazioni'), 503, anError(503, 'Servizio in manutenzione: Alle 14'))
    exactly(t, await admin('POST', '/api/settings/maintenance', { enabled: false }), 200, off)
    t.equal((await key('GET', '/api/v1/paesi')).statusCode, 200)
  })
  await prove('E43', async (t) => {
    await create(call, { nome_cognome: 'Zoe Oggi', check_in: TODAY })
    const isCount = (value: unknown) => Number(value) >= 1
    exactly(t, await key('GET', '/api/widget/data'), 200, {
      todayArrivals: isCount, todayDepartures: (value) => Number.isInteger(value), nextGuest: anyText
    })
  })
  await prove('E44', async (t) => {
    await create(call, { paese_id: 276 })
    const [first, ...others] = (await key('GET', '/api/map/top-countries?limit=2')).json<object[]>()
    t.equal(others.length, 1)
    t.match(first, { country: 'Italia', count: Number })
    t.strictSame(Object.keys(first!), ['country', 'count'])
  })
  await prove('L9', async (t) => {
    const countries = Array.from({ length: 11 }, (_, at) => ({ ...booking({ paese_id: 1000 + at, check_in: TODAY }) }))
    for (const body of countries) await key('POST', '/api/v1/prenotazioni', body)
    t.equal((await key('GET', '/api/map/top-countries')).json<object[]>().length, 10)
    t.equal((await key('GET', '/api/map/top-countries?limit=250')).statusCode, 200)
    exactly(t, await key('GET', '/api/map/top-countries?limit=251'), 400,
      anError(400, /./, { dettagli: [{ campo: 'limit', messaggio: /./ }] }))
  })
  for (const row of ['E45', 'L2'] as const) {
    await prove(row, async (t) => {
      await store(server, 'documents', '9/0/front.jpg')
      const response = await key('GET', '/api/storage/signed-url?bucket=documents&file=9/0/front.jpg')
      const { signedUrl, expires_at } = exactly<{ signedUrl: string, expires_at: string }>(t, response, 200, {
        signedUrl: /^https:\/\/locanda\.example\/storage\/v1\/object\/sign\//, expires_at: INSTANT
      })
      const left = (Date.parse(expires_at) - Date.now()) / 1000
      t.ok(left > 0 && left <= VALID_S, `${left} seconds`)
      const claims = JSON.parse(Buffer.from(signedUrl.split('.').at(-2)!, 'base64url').toString())
      t.equal(claims.exp - claims.iat, 60)
      t.equal((await nobody('GET', signedUrl.slice(PUBLIC_URL.length))).statusCode, 200)
      exactly(t, await key('GET', '/api/storage/signed-url?bucket=documents&file=nessuno'), 404, anError(404, /./))
      exactly(t, await key('GET', '/api/storage/signed-url'), 400, anError(400, /./, {
        dettagli: [{ campo: 'bucket', messaggio: /./ }, { campo: 'file', messaggio: /./ }]
      }))
    })
  }
  for (const row of ['E46', 'N2'] as const) {
    await prove(row, async (t) => {
      await store(server, 'documents', '9/0/back.jpg', 'contenuto')
      const response = await key('GET', '/api/storage/documents/9/0/back.jpg')
      t.match(response, { statusCode: 200, body: 'contenuto' })
      t.match(response.headers, { 'content-type': 'image/jpeg', 'x-content-type-options': 'nosniff' })
      exactly(t, await key('GET', '/api/storage/documents/nessuno'), 404, anError(404, /./))
      exactly(t, await key('GET', '/api/storage/nessuno/x'), 404, anError(404, /./))
    })
  }
  await prove('E47', async (t) => {
    const body = { password: QUERY_PASSWORD, sql: 'select 1 as uno' }
    exactly(t, await admin('POST', '/api/querysql', body), 200, {
      data: [{ uno: 1 }], rowCount: 1, fields: [{ name: 'uno', type: 'integer' }], status: 200
    })
    exactly(t, await admin('POST', '/api/querysql', { ...body, sql: 'select x' }), 400, anError(400, /./, {
      sqlstate: '42703', posizione: 8, messaggio: /./, dettagli: [{ campo: 'sql', messaggio: /./ }]
    }))
  })
  await prove('N1', async (t) => {
    exactly(t, await admin('POST', '/api/querysql', { password: 'un’altra', sql: 'select 1' }), 403, anError(403, /./))
  })
  await prove('E49', async (t) => {
    const response = await nobody('GET', '/sitemap.xml')
    t.equal(response.statusCode, 200)
    t.match(response.headers['content-type'], /^application\/xml/)
    t.match(response.body, `<loc>${PUBLIC_URL}/docs</loc>`)
  })
  await prove('W3', async (t) => {
    const document = (await nobody('GET', '/openapi.json')).json<{ paths: Record<string, Record<string, object>> }>()
    const deprecated = Object.values(document.paths).flatMap(Object.values).filter((each) => 'deprecated' in each)
    t.same(deprecated, [])
  })
  await prove('C1', async (t) => {
    t.equal((await key('GET', '/api/v1/paesi')).statusCode, 200)
  })
  await prove('C3', async (t) => {
    exactly(t, await key('POST', '/api/v1/prenotazioni', { nome: 'x', lingua: 7 }), 400, anError(400, /./, {
      dettagli: (value) => {
        const fields = (value as { campo: string }[]).map(({ campo }) => campo).sort()
        return fields.join() === 'check_in,check_out,lingua,nome,nome_cognome,numero_notti,numero_ospiti,paese_id'
      }
    }))
  })
  await prove('C6', async (t) => {
    exactly(t, await key('GET', '/api/v1/nessuna'), 404, anError(404, 'Risorsa non trovata'))
  })
  await prove('C9', async (t) => {
    const response = await app.inject('/prova/guasto')
    const codice = 'ERRORE_INTERNO'
    exactly(t, response, 500, { error: 'Errore interno del server', status: 500, codice, requestId: UUID })
  })
  await prove('L8', async (t) => {
    const long = { ...booking(), nome_cognome: 'x'.repeat(1024 * 1024) }
    exactly(t, await key('POST', '/api/v1/prenotazioni', long), 413, anError(413, /./))
    const image = 'A'.repeat(15 * 1024 * 1024)
    exactly(t, await key('POST', '/api/ocr', { image }), 413, anError(413, /./))
  })
}
