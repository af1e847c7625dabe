import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import t from 'tap'
import { ricevute, ricevute_letture } from '#drizzle/tables/alloggiati.ts'
import { reconcileDay } from '#src/alloggiati/ledger/reconcile/reconcile-day.ts'
import { receiptArchive } from '#src/alloggiati/receipts/archive.ts'
import { readTotals } from '#src/alloggiati/receipts/text.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { drawReceipt } from '#src/alloggiati/service/sandbox/receipt.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { ledgerWithHistory, type LedgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'
import { family, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { plainAnswer } from '#test/alloggiati/service/soap/calls.ts'
import { answer, type Behaviour, respond } from '#test/alloggiati/service/soap/server.ts'
import { find, parse } from '#test/alloggiati/service/soap/xml.ts'
import { type Call, production, productionEnviron, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { build } from '#test/helper.ts'

const realToday = testClock().today()
const yesterday = addDays(realToday, -1)
/** Its receipt is the last one at any hour: that of yesterday is only from 02:00 on. */
const lately = addDays(realToday, -2)
const path = (day: Day) => `/api/alloggiati/ricevute?data=${day}`
const none = answer(refusalReply('Ricevuta', 'ERRORE_RECUPERO_RICEVUTA'))
const dayAsked = ({ body }: Pick<Call, 'body'>) => find(parse(body), '{AlloggiatiService}Data')?.text.slice(0, 10) ?? ''

function receiptReply (pdf: Buffer): Behaviour {
  return answer(
    plainAnswer('Ricevuta').replace('</RicevutaResponse>', `<PDF>${pdf.toString('base64')}</PDF></RicevutaResponse>`)
  )
}

const clock = clockAt(`${today}T12:00:00Z`)
/** The servers of all tests: each test finds its own empty. */
const sandbox = await build(t, {}, undefined, { clock })
const police = await standIn(t)
const real = await production(t, police)

t.test('today, the future and days over 30 days ago are a 404, and the service is not asked for them', async (t) => {
  const { call } = await emptied(real, police)
  for (const day of [
    realToday, addDays(realToday, 1), addDays(realToday, 400), addDays(realToday, -31), '1999-01-01'
  ]) {
    const missing = await call('GET', path(day))
    t.equal(missing.statusCode, 404, day)
    t.match(missing.json(), { status: 404, codice: 'RICEVUTA_NON_TROVATA' })
  }
  t.same(police.calls, [])
  police.on.Ricevuta = none
  t.equal((await call('GET', path(addDays(realToday, -30)))).statusCode, 404)
  t.equal(police.callsOf('Ricevuta').length, 1, 'the 30th day back is asked for')
})

t.test('a receipt is fetched once and served unchanged ever after, even when the service is down', async (t) => {
  const { app, call } = await emptied(real, police)
  const pdf = Buffer.from('%PDF-1.4\n\x00\xff prova')
  police.on.Ricevuta = receiptReply(pdf)
  const first = await call('GET', path(lately))
  t.equal(first.statusCode, 200)
  t.equal(first.headers['content-type'], 'application/pdf')
  t.equal(first.headers['content-disposition'], `attachment; filename=ricevuta_${lately}.pdf`)
  t.equal(first.headers['cache-control'], 'no-store')
  t.ok(first.rawPayload.equals(pdf))
  t.same(police.callsOf('Ricevuta').map(dayAsked), [lately])

  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4 un altro'))
  t.ok((await call('GET', path(lately))).rawPayload.equals(pdf))
  await police.stop()
  const kept = await call('GET', path(lately))
  await police.start()
  t.equal(kept.statusCode, 200)
  t.ok(kept.rawPayload.equals(pdf))
  t.equal(police.callsOf('Ricevuta').length, 1)
  t.same(await app.sql`select sha256 from ricevute`, [{ sha256: createHash('sha256').update(pdf).digest('hex') }])
})

t.test('a receipt that is kept is served years after the 30 days', async (t) => {
  clock.set(`${today}T12:00:00Z`)
  const { call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', { ospiti: [single()], prenotazione: soggiorno })
  clock.set('2026-11-22T12:00:00Z')
  const first = await call('GET', path(today))
  t.equal(first.statusCode, 200)
  clock.set('2031-11-20T12:00:00Z')
  const years = await call('GET', path(today))
  t.equal(years.statusCode, 200)
  t.ok(years.rawPayload.equals(first.rawPayload))
})

t.test('the totals of a receipt are read from its PDF and kept', async (t) => {
  clock.set(`${today}T12:00:00Z`)
  const { app, call } = await emptied(sandbox)
  await call('POST', '/api/alloggiati/invio', { ospiti: family(), prenotazione: soggiorno })
  await call('POST', '/api/alloggiati/invio', {
    ospiti: [single({ nome: 'UGO', numero_documento: 'CA00001AA' })],
    prenotazione: { ...soggiorno, numero_notti: 7 }
  })
  clock.set('2026-11-22T12:00:00Z')
  const fetched = await call('GET', path(today))
  t.match(fetched.body, /^%PDF-/)
  t.same(await app.sql`select giorno::text, schedine, notti from ricevute`, [
    { giorno: today, schedine: 3, notti: 13 }
  ])
})

t.test('a PDF without the two lines of a receipt has no totals', async (t) => {
  const blank = [
    '%PDF-1.4',
    '1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj',
    '2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj',
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj',
    'trailer<</Root 1 0 R>>'
  ].join('\n')
  t.same(await readTotals(Buffer.from(blank)), { schedine: null, notti: null })
})

t.test('a PDF that cannot be read is kept without totals', async (t) => {
  t.same(await readTotals(Buffer.from('%PDF-1.7 rotto')), { schedine: null, notti: null })
  t.same(await readTotals(Buffer.alloc(0)), { schedine: null, notti: null })
  t.same(await readTotals(await drawReceipt('RM000001', today, { schedine: 1234, notti: 30_000, numero: 1 })), {
    schedine: 1234,
    notti: 30_000
  })
  const { app, call } = await emptied(real, police)
  police.on.Ricevuta = receiptReply(Buffer.from('non è un PDF'))
  t.equal((await call('GET', path(yesterday))).body, 'non è un PDF')
  t.same(await app.sql`select schedine, notti from ricevute`, [{ schedine: null, notti: null }])
})

t.test('a day of which the service has no receipt is a 404, and the next request asks for it again', async (t) => {
  const { app, call } = await emptied(real, police)
  for (const reply of [none, answer(plainAnswer('Ricevuta'))]) {
    police.on.Ricevuta = reply
    t.match((await call('GET', path(yesterday))).json(), { status: 404, codice: 'RICEVUTA_NON_TROVATA' })
  }
  t.same(await app.sql`select from ricevute`, [])
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  t.equal((await call('GET', path(yesterday))).statusCode, 200)
})

t.test('a service that is down or refuses the login is a 503, and not a missing receipt', async (t) => {
  const { call } = await emptied(real, police)
  for (const reply of [
    respond('500 Internal Server Error', '<html/>'),
    (socket) => socket.resetAndDestroy()
  ] satisfies Behaviour[]) {
    police.on.Ricevuta = reply
    t.match((await call('GET', path(yesterday))).json(), { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' })
  }
  await police.stop()
  const down = await call('GET', path(yesterday))
  await police.start()
  t.match(down.json(), { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE', error: String })
  t.type(down.headers['retry-after'], 'string')
})

t.test('a token that is refused is no missing receipt either, and the next request logs in again', async (t) => {
  police.forget()
  // One that has not logged in yet.
  const { call } = await production(t, police)
  police.on.Ricevuta = answer(refusalReply('Ricevuta', 'TOKEN_NON_VALIDO'))
  t.match((await call('GET', path(yesterday))).json(), { status: 503, codice: 'SERVIZIO_NON_RAGGIUNGIBILE' })
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  t.equal((await call('GET', path(yesterday))).statusCode, 200)
  t.equal(police.callsOf('GenerateToken').length, 2)
})

t.test('without credentials a receipt that is not kept is a 503 that says so', async (t) => {
  const { call } = await build(t, { ALLOGGIATI_MODE: 'production' })
  t.match((await call('GET', path(yesterday))).json(), { status: 503, codice: 'CREDENZIALI_MANCANTI' })
  t.equal((await call('GET', path(realToday))).statusCode, 404)
})

t.test('a request with a day that does not exist, or without a day, is a 400', async (t) => {
  const { call } = await emptied(sandbox)
  for (const query of ['', '?data=', '?data=ieri', '?data=2026-02-30', '?data=2026-11-2', '?data=2026-11-20&altro=1']) {
    t.equal((await call('GET', `/api/alloggiati/ricevute${query}`)).statusCode, 400, query)
  }
})

t.test('several requests at once for a day keep one receipt', async (t) => {
  const { app, call } = await emptied(real, police)
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  const answers = await Promise.all(Array.from({ length: 5 }, () => call('GET', path(yesterday))))
  t.ok(answers.every(({ statusCode }) => statusCode === 200))
  t.equal((await app.sql`select from ricevute`).length, 1)
})

t.test('a day that fails does not keep the nightly job from the others, and it says so at the end', async (t) => {
  const { archive, sql } = await nightly()
  const failing = addDays(realToday, -29)
  police.on.Ricevuta = (socket, received) =>
    dayAsked(received) === failing ? socket.resetAndDestroy() : receiptReply(Buffer.from('%PDF-1.4'))(socket, received)
  await t.rejects(archive.fetchMissing())
  t.equal((await sql`select from ricevute`).length, 29)
  police.calls.length = 0
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  await archive.fetchMissing()
  // That of yesterday is asked for again before 02:00.
  t.same(police.callsOf('Ricevuta').map(dayAsked).filter((day) => day !== yesterday), [failing])
})

t.test('receipts that are kept of an account that was changed, or is gone, are served', async (t) => {
  await emptied(real, police)
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  await real.call('GET', path(yesterday))
  police.on.Ricevuta = none
  const shared = { DATABASE_URL: real.url, DATA_DIR: real.dataDir }
  const other = await production(t, police, { ...shared, ALLOGGIATI_UTENTE: 'RM999999' })
  t.equal((await other.call('GET', path(yesterday))).statusCode, 200)
  const bare = await build(t, { ALLOGGIATI_MODE: 'production', ...shared })
  t.equal((await bare.call('GET', path(yesterday))).statusCode, 200)
  const sandbox = await build(t, shared)
  t.equal((await sandbox.call('GET', path(yesterday))).statusCode, 404, 'not in the sandbox')
})

t.test(
  'a nightly job whose token is refused stops at once, and does not take the refusal for 30 missing receipts',
  async (t) => {
    const { archive } = await nightly()
    police.on.Ricevuta = answer(refusalReply('Ricevuta', 'TOKEN_NON_VALIDO'))
    await t.rejects(archive.fetchMissing())
    t.equal(police.callsOf('Ricevuta').length, 1)
  }
)

/** What the job of 06:30 does, by hand. */
async function nightly () {
  const { app, dataDir } = await emptied(real, police)
  const config = readConfig({ DATA_DIR: dataDir, ...productionEnviron(police) })
  const clock = testClock()
  const { service } = await policeService({
    config, keys: createKeys(config.MASTER_KEY), clock, db: app.db, log: app.log
  })
  return { archive: receiptArchive({ db: app.db, service, mode: 'production', clock }), sql: app.sql }
}

const DAY = '2026-11-20'

async function keptOf ({ db }: LedgerWithHistory) {
  const { giorno, sha256, schedine, notti } = ricevute
  return db.select({ giorno, sha256, schedine, notti }).from(ricevute).orderBy(giorno)
}

async function fetches ({ db }: LedgerWithHistory) {
  return (await db.select().from(ricevute_letture).orderBy(ricevute_letture.id)).map(
    ({ giorno, letta_il, sha256, schedine, notti }) => ({
      giorno, letta_il: new Date(letta_il).toISOString(), available: sha256 !== null, schedine, notti
    })
  )
}

t.test('a fetch that brings no receipt is written down, too', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await t.rejects(w.archive.getReceipt(DAY), { code: 'RICEVUTA_NON_TROVATA' })
  t.same(await w.archive.fetchReceipt(DAY), { pdf: undefined, differs: false })
  t.same(
    (await fetches(w)).map(({ available, schedine }) => ({ available, schedine })),
    [{ available: false, schedine: null }, { available: false, schedine: null }]
  )
  t.same(await keptOf(w), [])
})

t.test('a later fetch with other totals is reported and written down, and never replaces the copy', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 3, 2)
  const first = await w.archive.fetchReceipt(DAY)
  t.equal(first.differs, false)
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  t.equal((await w.archive.fetchReceipt(DAY)).differs, true)
  t.match(await keptOf(w), [{ schedine: 3, notti: 6 }])
  t.match(await fetches(w), [{ schedine: 3 }, { schedine: 4 }])
  t.ok((await w.archive.getReceipt(DAY)).equals(first.pdf!))
  await t.rejects(w.db.execute(sql`update ricevute set schedine = 4`), { cause: { code: 'LC003' } })
  await t.rejects(w.db.execute(sql`delete from ricevute_letture`), { cause: { code: 'LC003' } })
})

t.test('the nightly job fetches the missing receipts of the last thirty days', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T05:30:00Z')
  for (const day of ['2026-10-21', '2026-10-22', DAY, '2026-11-21']) await w.acquired(`${day}T10:00:00Z`, 1, 1)
  await w.archive.fetchMissing()
  t.same((await keptOf(w)).map(({ giorno }) => giorno), ['2026-10-22', DAY])
  t.equal((await fetches(w)).length, 30)
  await w.archive.fetchMissing()
  t.equal((await fetches(w)).length, 58, 'it does not fetch what is kept')
})

t.test('a copy from before two in the morning is replaced by the next one, and no later copy is', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-20T23:30:00Z')
  await w.acquired(`${DAY}T17:00:00Z`, 1, 2)
  await w.archive.getReceipt(DAY)
  await w.acquired(`${DAY}T22:59:00Z`, 1, 2)
  w.clock.set('2026-11-21T05:30:00Z')
  await w.archive.getReceipt(DAY)
  t.match(await keptOf(w), [{ schedine: 2, notti: 4 }])
  await w.acquired(`${DAY}T22:59:00Z`, 1, 2)
  w.clock.set('2026-11-21T09:00:00Z')
  t.equal((await w.archive.fetchReceipt(DAY)).differs, true)
  await w.archive.getReceipt(DAY)
  t.match(await keptOf(w), [{ schedine: 2, notti: 4 }])
})

t.test('a kept receipt of which the totals were not read is read again, and proves its day then', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  const id = await w.sent({ at: `${DAY}T17:00:00Z`, seen: 'K' })
  await w.archive.fetchReceipt(DAY)
  // As a reader that did not know this PDF would have left it.
  for (const table of ['ricevute', 'ricevute_letture']) {
    await w.db.execute(sql.raw(`alter table ${table} disable trigger user`))
    await w.db.execute(sql.raw(`update ${table} set schedine = null, notti = null`))
    await w.db.execute(sql.raw(`alter table ${table} enable trigger user`))
  }
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stands(id)).stato, 'acquisito')
  await Promise.all([w.archive.readAgain(), w.archive.readAgain()])
  t.match(await keptOf(w), [{ schedine: 2, notti: 6 }])
  t.equal((await fetches(w)).length, 2, 'once, and with the time of the copy')
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stands(id)).stato, 'ricevuto')
})
