import t, { type Test } from 'tap'
import { downloadTable } from '#src/alloggiati/service/calls.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { tablesSource } from '#src/alloggiati/tables/source.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { createClock } from '#src/lib/time.ts'
import { build, type TestApp } from '#test/helper.ts'
import { today } from '#test/alloggiati/rules/samples.ts'
import { answer } from '#test/alloggiati/service/soap/server.ts'
import { production, productionEnviron, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'

const LISTS = ['tipi_documento', 'paesi', 'comuni', 'province', 'tipi_alloggiato']

/** Of the tests that change nothing. */
const { call } = await build(t)

t.test('the tables are lists of code and description', async (t) => {
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

t.test('who has the tables already is told so by the ETag', async (t) => {
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

t.test('a conditional request may list several tags, weak ones too, or any', async (t) => {
  const etag = String((await call('GET', '/api/alloggiati/codici?limit=1')).headers.etag)
  for (const condition of [`"altro", ${etag}`, `W/${etag}`, '*']) {
    t.equal(
      (await call('GET', '/api/alloggiati/codici?limit=1', undefined, { 'if-none-match': condition })).statusCode,
      304,
      condition
    )
  }
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

t.test('tables that one process has downloaded are in force in the others, too, after a while', async (t) => {
  const server = await build(t, { TODAY: today })
  const { download, source } = await refresher(t, server)
  const [remembers, readsAnew] = [tablesSource(server.app.db), tablesSource(server.app.db, 0)]
  for (const each of [remembers, readsAnew]) t.equal((await each.get()).fonte, 'inclusa')
  await source.refresh(download)
  t.equal((await remembers.get()).fonte, 'inclusa')
  t.equal((await readsAnew.get()).fonte, 'servizio')
})

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
      config,
      keys: createKeys(config.MASTER_KEY),
      clock: createClock(),
      db: app.db,
      log: app.log
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
    config,
    keys: createKeys(config.MASTER_KEY),
    clock: createClock(today),
    db: app.db,
    log: app.log
  })
  t.teardown(close)
  return {
    source: tablesSource(app.db),
    download: (tipo: Parameters<typeof downloadTable>[1]) => downloadTable(service!, tipo)
  }
}
