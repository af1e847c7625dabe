import t, { type Test } from 'tap'
import { create } from '#test/bookings/samples.ts'
import { downloadTable } from '#src/alloggiati/service/calls.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { tablesSource } from '#src/alloggiati/tables/source.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { family, foreigner, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { answer, closedPort } from '#test/alloggiati/service/soap/server.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import { production, productionEnviron, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

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
    for (const { call, mode } of [{ ...sandbox, mode: 'sandbox' }, { ...real, mode: undefined }]) {
      for (const path of [
        'check', 'codici?limit=1', 'verifica-ricevute', 'ricevute?data=oggi', 'ricevute?data=2999-01-01'
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
    connected: false, status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE', error: /connessione rifiutata/
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
    connected: false, status: 503, codice: 'CREDENZIALI_RIFIUTATE'
  })
  delete police.on.Authentication_Test
  t.match((await call('GET', '/api/alloggiati/check')).json(), { connected: true })
  t.same(
    police.calls.map(({ operation }) => operation),
    ['GenerateToken', 'Authentication_Test', 'GenerateToken', 'Authentication_Test']
  )
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
    valid: false, errors: [{ ospite: 1, campo: 'provincia_nascita', messaggio: String }], warnings: []
  })
  t.same(await app.sql`select from sandbox_token`, [])
})

t.test('a stored guest and a whole booking can be passed as they are', async (t) => {
  const { call } = await emptied(sandbox)
  const { id } = await create(call, { nome_cognome: 'Marco Provetti', check_in: today, numero_ospiti: 1 })
  const { tipo_alloggiato, ...stored } = single()
  await call('POST', '/api/saveOspiti', { prenotazione_id: id, dati: [{ ...stored, tipo_alloggiato }] })
  const booking = (await call('GET', `/api/v1/prenotazioni/${id}`)).json().data
  const ospiti = booking.ospiti.map((guest: object) => ({
    ...single(), ...guest, note: 'non serve', allegati: [1, { a: null }]
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

const LISTS = ['tipi_documento', 'paesi', 'comuni', 'province', 'tipi_alloggiato']

t.test('the tables are lists of code and description', async (t) => {
  const { call } = sandbox
  const answered = await call('GET', '/api/alloggiati/codici')
  t.equal(answered.statusCode, 200)
  const body = answered.json()
  t.same(Object.keys(body), LISTS)
  for (const list of LISTS) {
    t.ok(body[list].length > 0, list)
    t.ok(body[list].every((each: object) => Object.keys(each).join() === 'codice,descrizione'), list)
  }
  const find = (list: string, codice: string) =>
    body[list].find((each: { codice: string }) => each.codice === codice)?.descrizione
  t.equal(find('comuni', '412058091'), 'ROMA (RM)')
  t.equal(find('paesi', '100000216'), 'GERMANIA')
  t.equal(find('tipi_documento', 'PASOR'), 'PASSAPORTO ORDINARIO')
  t.equal(find('province', 'RM'), 'Roma')
  t.same(body.tipi_alloggiato.map(({ codice }: { codice: string }) => codice), ['16', '17', '18', '19', '20'])
})

t.test('q searches every list, best first, and limit bounds each', async (t) => {
  const { call } = sandbox
  const found = (await call('GET', '/api/alloggiati/codici?q=forl%C3%AC&limit=3')).json()
  t.match(found.comuni[0].descrizione, /^FORLI'/)
  t.ok(found.comuni.length <= 3)
  t.same(found.tipi_documento, [])
  t.equal((await call('GET', '/api/alloggiati/codici?q=412058091')).json().comuni[0].descrizione, 'ROMA (RM)')
  const two = (await call('GET', '/api/alloggiati/codici?limit=2')).json()
  t.same(LISTS.map((list) => two[list].length), [2, 2, 2, 2, 2])
  for (const query of ['limit=0', 'limit=x', 'limit=1001', `q=${'a'.repeat(101)}`, 'altro=1']) {
    t.equal((await call('GET', `/api/alloggiati/codici?${query}`)).statusCode, 400, query)
  }
})

t.test('a client that has the tables gets 304 by their ETag', async (t) => {
  const { call } = sandbox
  const first = await call('GET', '/api/alloggiati/codici?limit=1')
  const etag = String(first.headers.etag)
  t.match(etag, /^"[^"]+"$/)
  t.match(first.headers['cache-control'], 'private')
  const again = await call('GET', '/api/alloggiati/codici?limit=1', undefined, { 'if-none-match': etag })
  t.equal(again.statusCode, 304)
  t.equal(again.body, '')
  t.equal(again.headers.etag, etag)
  t.equal(
    (await call('GET', '/api/alloggiati/codici?limit=1', undefined, { 'if-none-match': '"altro"' })).statusCode,
    200
  )
})

t.test(
  'tables downloaded from the service are in force afterwards, in rules and answers, and after a restart',
  async (t) => {
    const server = await build(t, { TODAY: today })
    const { download, source } = await refresher(t, server)
    const before = String((await server.call('GET', '/api/alloggiati/codici?limit=1')).headers.etag)
    await source.refresh(download)
    t.equal((await source.get()).fonte, 'servizio')
    t.equal((await source.get()).comune('412058091')?.descrizione, 'ROMA')
    t.ok((await source.get()).errore('51'), 'the error texts come with them')

    await source.refresh(async (tipo) =>
      (await download(tipo)).replace(/^412058091;ROMA;/m, '412058091;ROMA DI PROVA;')
    )
    const restarted = await build(t, { TODAY: today, DATABASE_URL: server.url, DATA_DIR: server.dataDir })
    const after = await restarted.call('GET', '/api/alloggiati/codici?q=412058091')
    t.equal(after.json().comuni[0].descrizione, 'ROMA DI PROVA (RM)')
    t.not(after.headers.etag, before)
  }
)

t.test('a download that is not acceptable leaves the old tables in force', async (t) => {
  const server = await build(t, { TODAY: today })
  const { download, source } = await refresher(t, server)
  await source.refresh(download)
  const { version } = await source.get()
  const broken: Record<string, (tipo: string, csv: string) => string> = {
    'cut off': (tipo, csv) => tipo === 'Luoghi' ? csv.slice(0, 5000) : csv,
    empty: (tipo, csv) => tipo === 'Tipi_Documento' ? '' : csv,
    html: (tipo, csv) => tipo === 'TipoErrore' ? '<html/>' : csv
  }
  for (const [name, spoil] of Object.entries(broken)) {
    await t.rejects(source.refresh(async (tipo) => spoil(tipo, await download(tipo))), /non accettata/, name)
    t.equal((await source.get()).version, version, name)
  }
  await t.rejects(source.refresh(async () => { throw new Error('giù') }), /giù/)
  t.equal((await tablesSource(server.app.db).get()).version, version, 'in the database as well')
})

t.test(
  'a refused token is not an empty list of apartments: the refresh stops, and the next one logs in afresh',
  async (t) => {
    const police = await standIn(t)
    const { app, dataDir } = await production(t, police)
    const config = readConfig({ DATA_DIR: dataDir, ...productionEnviron(police) })
    const { service } = await policeService({
      config, keys: createKeys(config.MASTER_KEY), clock: testClock(), db: app.db, log: app.log
    })
    police.on.Tabella = answer(refusalReply('Tabella', 'ERRORE_PARAMETRO_ERRATO'))
    t.equal(await downloadTable(service!, 'ListaAppartamenti'), '', 'an account without apartments')
    await t.rejects(downloadTable(service!, 'Luoghi'))
    police.on.Tabella = answer(refusalReply('Tabella', 'TOKEN_NON_VALIDO'))
    await t.rejects(downloadTable(service!, 'ListaAppartamenti'), { name: 'AlloggiatiCredentialsError' })
    delete police.on.Tabella
    await downloadTable(service!, 'ListaAppartamenti')
    t.equal(police.callsOf('GenerateToken').length, 2)
  }
)

/** The job's work on the database of a server, with a service of its own. */
async function refresher (t: Test, { app, dataDir, url }: TestApp) {
  const config = readConfig({ DATA_DIR: dataDir, DATABASE_URL: url, TODAY: today })
  const { service, close } = await policeService({
    config, keys: createKeys(config.MASTER_KEY), clock: createClock(today), db: app.db, log: app.log
  })
  t.teardown(close)
  return {
    source: tablesSource(app.db),
    download: (tipo: Parameters<typeof downloadTable>[1]) => downloadTable(service!, tipo)
  }
}
