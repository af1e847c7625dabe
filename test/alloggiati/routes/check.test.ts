import t, { type Test } from 'tap'
import { downloadTable } from '#src/alloggiati/service/calls.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { tablesSource } from '#src/alloggiati/tables/tables-source.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays, createClock } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator } from '#test/alloggiati/ledger/administrator.ts'
import { family, foreigner, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { response } from '#test/alloggiati/service/soap/server.ts'
import { invio, production, productionEnviron, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

/** The shared server. */
const sandbox = await build(t, { TODAY: today })

t.test(
  'in sandbox mode every police response, even an error, has X-Alloggiati-Mode, and in production none does',
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

t.test('valida responds with 200 for valid and invalid records, and does not call the service', async (t) => {
  // A server without a cached token, so that any call to the sandbox would begin with a login.
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

t.test('a stored guest and its booking are accepted as the API returned them', async (t) => {
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

t.test('a body that violates the schema is answered with a 400 that names the field', async (t) => {
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

t.test('q filters the lists, limit shortens them, and an invalid query is answered with a 400', async (t) => {
  const { call } = sandbox
  const found = (await call('GET', '/api/alloggiati/codici?q=forl%C3%AC&limit=2')).json()
  t.match(found.comuni, [{ codice: '408140012', descrizione: /^FORLI'/ }, {}])
  t.same(found.tipi_documento, [])
  for (const query of ['limit=0', 'limit=x', 'limit=1001', `q=${'a'.repeat(101)}`, 'altro=1']) {
    t.equal((await call('GET', `/api/alloggiati/codici?${query}`)).statusCode, 400, query)
  }
})

t.test(
  'tables downloaded from the service are used at once, and after a restart',
  async (t) => {
    const server = await build(t, { TODAY: today })
    const { download, source } = await refresher(t, server)
    const before = String((await server.call('GET', '/api/alloggiati/codici?limit=1')).headers.etag)
    await source.refresh(download)
    t.equal((await source.get()).comune('412058091')?.descrizione, 'ROMA')

    await source.refresh(async (tipo) =>
      (await download(tipo)).replace(/^412058091;ROMA;/m, '412058091;ROMA DI PROVA;')
    )
    const restarted = await build(t, { TODAY: today, DATABASE_URL: server.url, DATA_DIR: server.dataDir })
    const after = await restarted.call('GET', '/api/alloggiati/codici?q=412058091')
    t.equal(after.json().comuni[0].descrizione, 'ROMA DI PROVA (RM)')
    t.not(after.headers.etag, before)
  }
)

t.test(
  'a refused token is no empty apartment list: the download fails, and the next one logs in',
  async (t) => {
    const police = await standIn(t)
    const { app, dataDir } = await production(t, police)
    const config = readConfig({ DATA_DIR: dataDir, ...productionEnviron(police) })
    const { service } = await policeService({
      config, keys: createKeys(config.MASTER_KEY), clock: testClock(), db: app.db, log: app.log
    })
    police.on.Tabella = response(refusalReply('Tabella', 'ERRORE_PARAMETRO_ERRATO'))
    t.equal(await downloadTable(service!, 'ListaAppartamenti'), '', 'an account without apartments')
    await t.rejects(downloadTable(service!, 'Luoghi'))
    police.on.Tabella = response(refusalReply('Tabella', 'TOKEN_NON_VALIDO'))
    await t.rejects(downloadTable(service!, 'ListaAppartamenti'), { name: 'AlloggiatiCredentialsError' })
    delete police.on.Tabella
    await downloadTable(service!, 'ListaAppartamenti')
    t.equal(police.callsOf('GenerateToken').length, 2)
  }
)

/** The refresh job's source and download, with its own police service. */
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

const APARTMENTS = '/api/v1/appartamenti'
const SUSPENSION = '/api/v1/invii/sospensione'
const ACCOUNT = '/api/v1/alloggiati/account'
const HOUSE = {
  descrizione: 'Casa al lago',
  comune_codice: '412058091',
  indirizzo: 'Via dei Prati, 8',
  proprietario: 'Ada Provetti'
}
const OF_APARTMENTS = [['GET', APARTMENTS], ['POST', APARTMENTS, HOUSE], ['DELETE', `${APARTMENTS}/0`]] as const
const ADD = 'GestioneAppartamenti_AggiungiAppartamento'
const DISABLE = 'GestioneAppartamenti_DisabilitaAppartamento'

t.test(
  'a new apartment is listed with the id from the service, and is not listed after it is disabled',
  async (t) => {
    const server = await emptied(sandbox)
    const { admin } = administrator(server)
    const list = async () => (await server.call('GET', APARTMENTS)).json().data
    t.same(await list(), [])
    const added = await admin('POST', APARTMENTS, HOUSE)
    t.equal(added.statusCode, 201)
    t.match(added.json(), { message: /aggiunto/, status: 201 })
    await admin('POST', APARTMENTS, { ...HOUSE, descrizione: 'Casa al mare' })
    t.strictSame(
      await list(),
      ['CASA AL LAGO', 'CASA AL MARE'].map((descrizione, id) => ({
        id,
        descrizione,
        comune: 'ROMA',
        provincia: 'RM',
        indirizzo: 'VIA DEI PRATI, 8',
        proprietario: 'ADA PROVETTI'
      }))
    )

    const gone = await admin('DELETE', `${APARTMENTS}/0`)
    t.equal(gone.statusCode, 200)
    t.match(gone.json(), { message: /Appartamento 0 disabilitato: non si può riattivare/, status: 200 })
    t.match(await list(), [{ id: 1 }])
    t.equal((await list()).length, 1)
  }
)

t.test('when the service refuses, the server returns 422 with the text of the service', async (t) => {
  const server = await emptied(sandbox)
  const { admin } = administrator(server)
  const ceased = await admin('POST', APARTMENTS, { ...HOUSE, comune_codice: '401001501' })
  const { requestId, ...refused } = ceased.json()
  t.type(requestId, 'string')
  t.strictSame(refused, {
    error: 'Il servizio ha rifiutato la richiesta',
    status: 422,
    codice: 'APPARTAMENTO_RIFIUTATO',
    dettagli: { codice_errore: '30', messaggio_soap: 'ERRORE_PARAMETRO_ERRATO: Codice Comune Errato' }
  })
  t.match((await admin('DELETE', `${APARTMENTS}/7`)).json(), {
    status: 422,
    dettagli: { messaggio_soap: 'ERRORE_PARAMETRO_ERRATO: Id Appartamento Errato' }
  })
})

t.test('an invalid apartment is refused', async (t) => {
  const server = await emptied(sandbox)
  const { admin } = administrator(server)
  for (const change of [
    { descrizione: ' ' },
    { descrizione: 'a;b' },
    { indirizzo: 'a\nb' },
    { comune_codice: '058091' },
    { proprietario: undefined },
    { altro: 1 }
  ]) {
    t.equal((await admin('POST', APARTMENTS, { ...HOUSE, ...change })).statusCode, 400, JSON.stringify(change))
  }
  for (const id of ['-1', '1000000', 'uno']) t.equal((await admin('DELETE', `${APARTMENTS}/${id}`)).statusCode, 400, id)
})

t.test('an unreachable service gives a 503', async (t) => {
  const police = await standIn(t)
  const { admin } = administrator(await production(t, police))
  await police.stop()
  for (const [method, url, body] of OF_APARTMENTS) {
    t.match((await admin(method, url, body)).json(), { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' }, method)
  }
})

t.test(
  'when the reply is lost, the response is ESITO_SCONOSCIUTO, because the request may have been executed',
  async (t) => {
    const police = await standIn(t)
    const { admin } = administrator(await production(t, police))
    for (const operation of [ADD, DISABLE]) police.on[operation] = (socket) => socket.resetAndDestroy()
    t.match((await admin('POST', APARTMENTS, HOUSE)).json(), { status: 422, codice: 'ESITO_SCONOSCIUTO' })
    t.match((await admin('DELETE', `${APARTMENTS}/0`)).json(), { status: 422, codice: 'ESITO_SCONOSCIUTO' })
    t.equal(police.callsOf(ADD).length, 1)
  }
)

t.test('the server runs without credentials, and requests that need them get CREDENZIALI_MANCANTI', async (t) => {
  const { app, call, ...server } = await build(t, { ALLOGGIATI_MODE: 'production' })
  const { admin } = administrator({ app, call, ...server })
  t.equal((await call('GET', '/health/live')).statusCode, 200)
  t.strictSame((await call('GET', ACCOUNT)).json(), { utente: null, modalita: 'production', canale_esclusivo: false })
  const suspended = await admin('POST', SUSPENSION, { sospeso: true, motivo: 'Prova di sospensione' })
  t.match(suspended.json(), { sospeso: true })
  for (const [method, url, body] of [
    ['GET', '/api/alloggiati/check'],
    ['GET', `/api/alloggiati/ricevute?data=${addDays(testClock().today(), -2)}`],
    ...OF_APARTMENTS,
    ['PUT', ACCOUNT, { canale_esclusivo: true }],
    ['POST', SUSPENSION, { sospeso: false, motivo: 'Prova di ripresa' }]
  ] as const) {
    const { json } = await admin(method, url, body)
    t.match(json(), { status: 503, codice: 'CREDENZIALI_MANCANTI' }, `${method} ${url}`)
  }
  for (const testMode of [true, false]) {
    const refused = await call('POST', '/api/alloggiati/invio', invio([single()], { testMode }))
    t.equal(refused.headers['x-alloggiati-mode'], undefined)
    t.match(refused.json(), { success: false, status: 422, dettagli: { codice_errore: 'CREDENZIALI_MANCANTI' } })
  }
  t.same(await app.sql`select from invii`, [])
})
