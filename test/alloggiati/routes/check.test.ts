import t from 'tap'
import { build } from '#test/helper.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, foreigner, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { answer, closedPort } from '#test/alloggiati/service/soap/server.ts'
import { production, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'

/** The server of the tests that need no other. */
const sandbox = await build(t, { TODAY: today })

t.test('the server connects to its sandbox by itself, on loopback, and the answer names the sandbox', async (t) => {
  const { call } = await emptied(sandbox)
  const checked = await call('GET', '/api/alloggiati/check')
  t.equal(checked.statusCode, 200)
  t.equal(checked.headers['x-alloggiati-mode'], 'sandbox')
  const { endpoint, ...rest } = checked.json()
  t.strictSame(rest, { connected: true, message: 'Connessione ad Alloggiati Web riuscita' })
  t.match(endpoint, /^http:\/\/127\.0\.0\.1:\d+\//)
})

t.test(
  'in sandbox mode every answer of the police area names the sandbox, errors too; in production none does',
  async (t) => {
    const real = await production(t, await standIn(t))
    for (const { call, mode } of [
      { ...sandbox, mode: 'sandbox' },
      { ...real, mode: undefined }
    ]) {
      for (const path of [
        'check',
        'codici?limit=1',
        'verifica-ricevute',
        'ricevute?data=oggi',
        'ricevute?data=2999-01-01'
      ]) {
        t.equal((await call('GET', `/api/alloggiati/${path}`)).headers['x-alloggiati-mode'], mode, path)
      }
    }
  }
)

t.test('production without credentials: the server runs, and check says what is missing', async (t) => {
  const { call } = await build(t, { ALLOGGIATI_MODE: 'production' })
  const checked = await call('GET', '/api/alloggiati/check')
  t.equal(checked.statusCode, 503)
  const { requestId, ...rest } = checked.json()
  t.type(requestId, 'string')
  t.strictSame(rest, {
    connected: false,
    error: 'Credenziali Alloggiati Web non configurate',
    status: 503,
    codice: 'CREDENZIALI_MANCANTI'
  })
  t.equal((await call('GET', '/health/live')).statusCode, 200)
})

t.test('a service that cannot be reached is a 503 that says so', async (t) => {
  const { call } = await production(t, { endpoint: await closedPort() })
  const checked = await call('GET', '/api/alloggiati/check')
  t.equal(checked.statusCode, 503)
  t.match(checked.json(), {
    connected: false,
    status: 503,
    codice: 'SERVIZIO_NON_RAGGIUNGIBILE',
    error: /connessione rifiutata/
  })
})

t.test('refused credentials are a 503 that says why, without repeating them', async (t) => {
  const police = await standIn(t)
  police.on.GenerateToken = answer(
    envelope(
      '<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>false</esito>' +
        '<ErroreCod>100</ErroreCod><ErroreDes>AUTENTICAZIONE_FALLITA</ErroreDes>' +
        '<ErroreDettaglio>chiave-di-prova</ErroreDettaglio></result></GenerateTokenResponse>'
    )
  )
  const { call } = await production(t, police)
  const checked = await call('GET', '/api/alloggiati/check')
  t.equal(checked.statusCode, 503)
  t.match(checked.json(), { connected: false, codice: 'CREDENZIALI_RIFIUTATE', error: /AUTENTICAZIONE_FALLITA/ })
  t.notMatch(checked.body, 'chiave-di-prova')
})

t.test('a token that the service does not take is refused, and the next check logs in afresh', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  police.on.Authentication_Test = answer(refusalReply('Authentication_Test', 'TOKEN_NON_VALIDO'))
  t.match((await call('GET', '/api/alloggiati/check')).json(), {
    connected: false,
    status: 503,
    codice: 'CREDENZIALI_RIFIUTATE'
  })
  delete police.on.Authentication_Test
  t.match((await call('GET', '/api/alloggiati/check')).json(), { connected: true })
  t.same(
    police.calls.map(({ operation }) => operation),
    ['GenerateToken', 'Authentication_Test', 'GenerateToken', 'Authentication_Test']
  )
})

t.test('check sends nothing but a login and its test', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  t.match((await call('GET', '/api/alloggiati/check')).json(), { connected: true, endpoint: police.endpoint })
  t.same(police.calls.map(({ operation }) => operation), ['GenerateToken', 'Authentication_Test'])
})

t.test('valida answers 200 for good and for bad records, and does not call the service', async (t) => {
  // A server that has not logged in yet: whatever it asked its sandbox for would begin with a token.
  const { call, app } = await build(t, { TODAY: today })
  const valid = await call('POST', '/api/alloggiati/valida', { ospiti: family(), prenotazione: soggiorno })
  t.equal(valid.statusCode, 200)
  t.strictSame(valid.json(), { valid: true, errors: [], warnings: [] })
  const invalid = await call('POST', '/api/alloggiati/valida', {
    ospiti: [single(), foreigner({ provincia_nascita: 'RM' })],
    prenotazione: soggiorno
  })
  t.equal(invalid.statusCode, 200)
  t.match(invalid.json(), {
    valid: false,
    errors: [{ ospite: 1, campo: 'provincia_nascita', messaggio: String }],
    warnings: []
  })
  t.same(await app.sql`select from sandbox_token`, [])
})

t.test('warnings do not make a list invalid', async (t) => {
  const { call } = await emptied(sandbox)
  const judged = await call('POST', '/api/alloggiati/valida', {
    ospiti: [single()],
    prenotazione: { ...soggiorno, numero_notti: 45 }
  })
  t.match(judged.json(), { valid: true, errors: [], warnings: [{ ospite: 0, campo: 'numero_notti' }] })
})

t.test('a stored guest and a whole booking can be passed as they are', async (t) => {
  const { call } = await emptied(sandbox)
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome: 'Marco Provetti',
    lingua: 'IT',
    paese_id: 380,
    check_in: today,
    numero_notti: 2,
    numero_ospiti: 1
  })
  const { id } = created.json().data
  const { tipo_alloggiato, ...stored } = single()
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [{ ...stored, tipo_alloggiato }] })
  const booking = (await call('GET', `/api/v1/prenotazioni/${id}`)).json().data
  const ospiti = booking.ospiti.map((guest: object) => ({
    ...single(),
    ...guest,
    note: 'non serve',
    allegati: [1, { a: null }]
  }))
  const body = { ospiti, prenotazione: booking }
  t.match((await call('POST', '/api/alloggiati/valida', body)).json(), { valid: true })
  t.match((await call('POST', '/api/alloggiati/invio', body)).json(), {
    success: true,
    dettagli: { prenotazione_id: id }
  })
})

t.test('a body that is not of the contract is a 400 that names the field', async (t) => {
  const { call } = await emptied(sandbox)
  const cases: Record<string, object> = {
    ospiti: { prenotazione: soggiorno },
    prenotazione: { ospiti: [single()] },
    'ospiti[0].cognome': { ospiti: [single({ cognome: 7 as never })], prenotazione: soggiorno },
    'prenotazione.numero_notti': { ospiti: [single()], prenotazione: { ...soggiorno, numero_notti: '3' } },
    extra: { ospiti: [single()], prenotazione: soggiorno, extra: 1 }
  }
  for (const [campo, body] of Object.entries(cases)) {
    const refused = await call('POST', '/api/alloggiati/valida', body)
    t.equal(refused.statusCode, 400, campo)
    t.match(refused.json().dettagli, [{ campo }], campo)
  }
  t.equal((await call('POST', '/api/alloggiati/valida', { ospiti: [], prenotazione: soggiorno })).statusCode, 400)
})

t.test('the police area is closed to callers without credentials', async (t) => {
  const { app } = await emptied(sandbox)
  for (const path of ['check', 'codici', 'ricevute?data=2026-01-01', 'verifica-ricevute', 'sandbox/schedine']) {
    t.equal((await app.inject({ url: `/api/alloggiati/${path}` })).statusCode, 401, path)
  }
  for (const path of ['valida', 'invio']) {
    t.equal((await app.inject({ method: 'POST', url: `/api/alloggiati/${path}`, payload: {} })).statusCode, 401, path)
  }
})
