import fc from 'fast-check'
import type { RouteOptions } from 'fastify'
import t from 'tap'
import type { FieldError } from '#schemas/common.ts'
import { InvioBody } from '#schemas/alloggiati.ts'
import { API_KEY, build } from '#test/helper.ts'
import { bearer } from '#test/identity/requests.ts'

const BOOKING = {
  nome_cognome: 'Anna Prova',
  lingua: 'IT',
  email: 'anna@example.com',
  paese_id: 380,
  check_in: '2026-11-21',
  numero_ospiti: 3
}
const GUEST = { ...(InvioBody.examples[0] as InvioBody).ospiti[0], sesso: 7 }
const LONG_KEY = { 'idempotency-key': 'k'.repeat(300) }
const MOTIVO = 'Il secondo ospite è il fratello'

t.test('further faults', async (t) => {
  const routes: RouteOptions[] = []
  const { app, token } = await build(t, {}, (app) => {
    app.addHook('onRoute', (route) => { routes.push(route) })
  })
  const key = { 'x-api-key': API_KEY }
  const admin = bearer(await token({ service: true }))

  t.test('one answer names what a schema refuses, what several fields say together, and the header', async (t) => {
    const cases: [string, string, Record<string, unknown>, string[]][] = [
      ['POST', '/api/v1/prenotazioni', { ...BOOKING, lingua: 'italiano' }, ['lingua', 'check_out', 'numero_notti']],
      ['POST', '/api/v1/prenotazioni', { ...BOOKING, email: '', check_out: '2026-11-20' }, ['email', 'check_out']],
      ['PUT', '/api/v1/prenotazioni/1', { lingua: 'x', check_in: '2026-11-21', check_out: '2026-11-21' },
        ['lingua', 'check_out']],
      ['POST', '/api/alloggiati/invio', { ospiti: [GUEST], motivo: MOTIVO },
        ['ospiti[0].sesso', 'prenotazione', 'confermo_diverso']],
      ['POST', '/api/alloggiati/file', { ospiti: [GUEST] },
        ['ospiti[0].sesso', 'prenotazione']],
      ['POST', '/api/v1/invii/giornata', { data: '1999-01-01', prova: 'sì' }, ['prova', 'data']],
      ['POST', '/api/v1/invii/1/decisione',
        { decisione: 'depositato', motivo: 'Deposito via PEC', versione: -1, conferma: '' },
        ['versione', 'protocollo']],
      ['POST', '/api/settings/maintenance', { enabled: false, message: 'Torniamo', nuovo: 1 }, ['nuovo', 'message']],
      ['POST', '/api/operators', { email: 'niente', password: 'corta', name: 7, surname: 'Prova' },
        ['name', 'email', 'password']],
      ['GET', '/api/prenotazioni?start=x&end=y&altro=1', {}, ['altro', 'start', 'end']],
      ['GET', '/api/v1/invii?da=2026-11-02&a=2026-11-01&limit=0', {}, ['limit', 'a']],
      ['GET', '/api/v1/audit?da=2026-11-02T10:00:00Z&a=2026-11-02T09:00:00Z&limit=0', {}, ['limit', 'a']]
    ]
    for (const [method, url, payload, fields] of cases) {
      const answer = await app.inject({
        method: method as 'GET', url, headers: { ...admin, ...LONG_KEY }, ...method === 'GET' ? {} : { payload }
      })
      t.equal(answer.statusCode, 400, url)
      const path = url.replace(/\?.*/, '').replace(/\/1(?=\/|$)/, '/:id')
      const route = routes.find((each) => each.url === path && each.method === method)
      const expected = route?.config?.idempotent ? [...fields, 'Idempotency-Key'] : fields
      t.strictSame(answer.json().dettagli.map(({ campo }: FieldError) => campo).sort(), expected.sort(), url)
    }
  })

  t.test('a request that only its fields together make wrong is refused, and takes no Idempotency-Key', async (t) => {
    const headers = { ...key, 'idempotency-key': 'una-chiave' }
    const wrong = await app.inject({ method: 'POST', url: '/api/v1/prenotazioni', headers, payload: BOOKING })
    t.equal(wrong.statusCode, 400)
    t.match(wrong.json().dettagli, [{ campo: 'check_out' }, { campo: 'numero_notti' }])
    const right = await app.inject({
      method: 'POST', url: '/api/v1/prenotazioni', headers, payload: { ...BOOKING, numero_notti: 2 }
    })
    t.equal(right.statusCode, 201)
  })

  t.test('nothing that a request can hold makes a check throw', async (t) => {
    const value = fc.oneof(
      fc.jsonValue(),
      fc.date().map(String),
      fc.constantFrom('2026-11-21', '9999-12-31', '2026-11-21T25:61:61Z', 'depositato')
    )
    const names = [
      'check_in', 'check_out', 'numero_notti', 'prenotazione', 'soggiorno', 'confermo_diverso', 'motivo', 'data',
      'enabled', 'decisione', 'protocollo', 'recipients', 'subject', 'start', 'end', 'da', 'a', 'email', 'password',
      'idempotency-key'
    ]
    const fields = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value)
    const checks = routes.flatMap(({ config }) => config?.findFaults ?? [])
    t.ok(checks.length > 10)
    fc.assert(fc.property(fields, fields, fields, (body, query, headers) => {
      for (const check of checks) check({ params: {}, body, query, headers })
    }))
  })
})
