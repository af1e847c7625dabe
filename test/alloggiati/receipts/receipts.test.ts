import { createHash } from 'node:crypto'
import { sql } from 'drizzle-orm'
import t from 'tap'
import { ricevute, ricevute_letture } from '#drizzle/tables/alloggiati.ts'
import type { Schedina } from '#schemas/schedina.ts'
import { reconcileDay } from '#src/alloggiati/ledger/reconcile/reconcile-day.ts'
import { readTotals, receiptArchive } from '#src/alloggiati/receipts/receipt-archive.ts'
import { policeService } from '#src/alloggiati/service/police-service.ts'
import { drawReceipt } from '#src/alloggiati/service/sandbox/receipt.ts'
import { readConfig } from '#src/config/config.ts'
import { createKeys } from '#src/lib/secrets.ts'
import { addDays, type Day } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { ledgerWithHistory, type LedgerWithHistory } from '#test/alloggiati/ledger/ledger-with-history.ts'
import { family, member, single, soggiorno, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { plainResponse } from '#test/alloggiati/service/soap/calls.ts'
import { response, type Behaviour, respond } from '#test/alloggiati/service/soap/server.ts'
import { find, parse } from '#test/alloggiati/service/soap/xml.ts'
import { type Call, production, productionEnviron, refusalReply, standIn } from '#test/alloggiati/stand-in.ts'
import { create } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

const realToday = testClock().today()
const yesterday = addDays(realToday, -1)
/** The receipt of this day is final at any hour. Yesterday's receipt is final only from 02:00 on. */
const twoDaysAgo = addDays(realToday, -2)
const path = (day: Day) => `/api/alloggiati/ricevute?data=${day}`
const noReceipt = response(refusalReply('Ricevuta', 'ERRORE_RECUPERO_RICEVUTA'))
const dayAsked = ({ body }: Pick<Call, 'body'>) => find(parse(body), '{AlloggiatiService}Data')?.text.slice(0, 10) ?? ''

function receiptReply (pdf: Buffer): Behaviour {
  return response(
    plainResponse('Ricevuta').replace('</RicevutaResponse>', `<PDF>${pdf.toString('base64')}</PDF></RicevutaResponse>`)
  )
}

const clock = clockAt(`${today}T12:00:00Z`)
/** Shared servers, which each test resets. */
const sandbox = await build(t, {}, undefined, { clock })
const police = await standIn(t)
const real = await production(t, police)

t.test('for today, the future and days more than 30 days ago the server returns 404 without a call', async (t) => {
  const { call } = await emptied(real, police)
  for (const [day, error] of [
    [realToday, /dal giorno dopo/], [addDays(realToday, 1), /dal giorno dopo/], [addDays(realToday, 400), /dal giorno/],
    [addDays(realToday, -31), /30 giorni.*: chiederla alla Questura$/], ['1999-01-01', /per il giorno 01\/01\/1999: /]
  ] as const) {
    const missing = await call('GET', path(day))
    t.equal(missing.statusCode, 404, day)
    t.match(missing.json(), { status: 404, codice: 'RICEVUTA_NON_TROVATA', error })
  }
  t.same(police.calls, [])
  police.on.Ricevuta = noReceipt
  const oldest = await call('GET', path(addDays(realToday, -30)))
  t.match(oldest.json(), { status: 404, error: /Confrontare con GET \/api\/alloggiati\/verifica-ricevute$/ })
  t.equal(police.callsOf('Ricevuta').length, 1, 'the service is asked for the 30th day back')
})

t.test('a receipt is fetched once and then served unchanged, even when the service is down', async (t) => {
  const { app, call } = await emptied(real, police)
  const pdf = Buffer.from('%PDF-1.4\n\x00\xff prova')
  police.on.Ricevuta = receiptReply(pdf)
  const first = await call('GET', path(twoDaysAgo))
  t.equal(first.statusCode, 200)
  t.equal(first.headers['content-type'], 'application/pdf')
  t.equal(first.headers['content-disposition'], `attachment; filename=ricevuta_${twoDaysAgo}.pdf`)
  t.equal(first.headers['cache-control'], 'no-store')
  t.ok(first.rawPayload.equals(pdf))
  t.same(police.callsOf('Ricevuta').map(dayAsked), [twoDaysAgo])

  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4 un altro'))
  t.ok((await call('GET', path(twoDaysAgo))).rawPayload.equals(pdf))
  await police.stop()
  const kept = await call('GET', path(twoDaysAgo))
  await police.start()
  t.equal(kept.statusCode, 200)
  t.ok(kept.rawPayload.equals(pdf))
  t.equal(police.callsOf('Ricevuta').length, 1)
  t.same(await app.sql`select sha256 from ricevute`, [{ sha256: createHash('sha256').update(pdf).digest('hex') }])
})

t.test('the totals of a receipt are read from its PDF and stored', async (t) => {
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

t.test('a PDF that cannot be read is stored without totals', async (t) => {
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

t.test('a day without a receipt is answered with a 404, and the next request calls the service again', async (t) => {
  const { app, call } = await emptied(real, police)
  for (const reply of [noReceipt, response(plainResponse('Ricevuta'))]) {
    police.on.Ricevuta = reply
    t.match((await call('GET', path(yesterday))).json(), { status: 404, codice: 'RICEVUTA_NON_TROVATA' })
  }
  t.same(await app.sql`select from ricevute`, [])
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  t.equal((await call('GET', path(yesterday))).statusCode, 200)
})

t.test('a service that fails or is down causes a 503, and not a missing receipt', async (t) => {
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

t.test('a request with a day that does not exist, or without a day, is answered with a 400', async (t) => {
  const { call } = await emptied(sandbox)
  for (const query of ['', '?data=', '?data=ieri', '?data=2026-02-30', '?data=2026-11-2', '?data=2026-11-20&altro=1']) {
    t.equal((await call('GET', `/api/alloggiati/ricevute${query}`)).statusCode, 400, query)
  }
})

t.test('the nightly job continues after a day that fails, and reports the failure at the end', async (t) => {
  const { archive, sql } = await nightlyArchive()
  const failing = addDays(realToday, -29)
  police.on.Ricevuta = (socket, received) =>
    dayAsked(received) === failing ? socket.resetAndDestroy() : receiptReply(Buffer.from('%PDF-1.4'))(socket, received)
  await t.rejects(archive.fetchMissing())
  t.equal((await sql`select from ricevute`).length, 29)
  police.calls.length = 0
  police.on.Ricevuta = receiptReply(Buffer.from('%PDF-1.4'))
  await archive.fetchMissing()
  // Yesterday's receipt is fetched again before 02:00.
  t.same(police.callsOf('Ricevuta').map(dayAsked).filter((day) => day !== yesterday), [failing])
})

t.test(
  'a nightly job whose token is refused stops at once, and does not report 30 missing receipts',
  async (t) => {
    const { archive } = await nightlyArchive()
    police.on.Ricevuta = response(refusalReply('Ricevuta', 'TOKEN_NON_VALIDO'))
    await t.rejects(archive.fetchMissing())
    t.equal(police.callsOf('Ricevuta').length, 1)
  }
)

/** The archive that the nightly job uses, on an empty ledger. */
async function nightlyArchive () {
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

t.test('a fetch without a receipt is also recorded', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  await t.rejects(w.archive.getReceipt(DAY), { code: 'RICEVUTA_NON_TROVATA' })
  t.same(await w.archive.fetchReceipt(DAY), { pdf: undefined, differs: false })
  t.same(
    (await fetches(w)).map(({ available, schedine }) => ({ available, schedine })),
    [{ available: false, schedine: null }, { available: false, schedine: null }]
  )
  t.same(await keptOf(w), [])
})

t.test('a later fetch with other totals is reported and recorded, and never replaces the copy', async (t) => {
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
  t.equal((await fetches(w)).length, 58, 'it does not fetch stored receipts')
})

t.test('a copy from before two in the morning is replaced by the next one, but later copies are not', async (t) => {
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

t.test('a stored receipt without totals is parsed again, and then its day is reconciled', async (t) => {
  const w = await ledgerWithHistory(t, '2026-11-21T10:00:00Z')
  const id = await w.sent({ at: `${DAY}T17:00:00Z`, seen: 'K' })
  await w.archive.fetchReceipt(DAY)
  // Simulates an earlier parser that could not read this PDF.
  for (const table of ['ricevute', 'ricevute_letture']) {
    await w.db.execute(sql.raw(`alter table ${table} disable trigger user`))
    await w.db.execute(sql.raw(`update ${table} set schedine = null, notti = null`))
    await w.db.execute(sql.raw(`alter table ${table} enable trigger user`))
  }
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stateOf(id)).stato, 'acquisito')
  await Promise.all([w.archive.readAgain(), w.archive.readAgain()])
  t.match(await keptOf(w), [{ schedine: 2, notti: 6 }])
  t.equal((await fetches(w)).length, 2, 'concurrent runs record one parse')
  await reconcileDay(w.context, { account: w.account, day: DAY })
  t.equal((await w.stateOf(id)).stato, 'ricevuto')
})

const PATH = '/api/alloggiati/verifica-ricevute'

/** Resets the shared server and sets its clock to the tests' day. `on` sets the clock to another day. */
async function setUp () {
  clock.set(noon(today))
  const server = await emptied(sandbox)
  const on = (day: string) => {
    clock.set(noon(day))
    return server
  }
  return { server, on }
}

function noon (day: string): string {
  return `${day}T12:00:00+01:00`
}

interface Booked {
  prenotazione_id: number
  nome_cognome: string
  check_in: string
  scadenza: string
  ospiti_mancanti: number
}

async function book (
  { call }: TestApp, nome_cognome: string, check_in: string, numero_ospiti = 1, numero_notti = 2
): Promise<Booked> {
  const { id: prenotazione_id } = await create(call, { nome_cognome, check_in, numero_notti, numero_ospiti })
  // Two nights: the deadline is 24 hours after 14:00, in Rome's winter time.
  return {
    prenotazione_id,
    nome_cognome,
    check_in,
    scadenza: `${addDays(check_in, 1)}T13:00:00.000Z`,
    ospiti_mancanti: numero_ospiti
  }
}

/** A guest whose document is derived from the name, so each name is another person. */
const guest = (nome: string, changes: Schedina = {}) => single({ nome, numero_documento: `CA00${nome}`, ...changes })

async function send (server: TestApp, nome: string, booking: Pick<Booked, 'prenotazione_id' | 'check_in'>) {
  await sendAll(server, [guest(nome)], booking)
}

async function sendAll (
  { call }: TestApp,
  ospiti: Schedina[],
  { prenotazione_id, check_in }: Pick<Booked, 'check_in'> & Partial<Booked>
) {
  const sent = await call('POST', '/api/alloggiati/invio', {
    ospiti,
    prenotazione: { id: prenotazione_id, check_in, numero_notti: 2 }
  })
  if (sent.statusCode !== 200) throw new Error(sent.body)
}

/** Saves the guests of a booking. */
async function save ({ call }: TestApp, { prenotazione_id }: Booked, ...dati: Schedina[]) {
  const saved = await call('POST', '/api/saveOspiti', { prenotazione_id, dati })
  if (saved.statusCode !== 200) throw new Error(saved.body)
}

async function change ({ call }: TestApp, { prenotazione_id }: Booked, changes: object) {
  const changed = await call('PUT', `/api/v1/prenotazioni/${prenotazione_id}`, changes)
  if (changed.statusCode !== 200) throw new Error(changed.body)
}

async function remove ({ call }: TestApp, { prenotazione_id }: Booked) {
  const removed = await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [prenotazione_id] })
  if (removed.statusCode !== 200) throw new Error(removed.body)
}

/** Records that the questura was asked to correct a submission, or one row of it. */
async function correct ({ app, call }: TestApp, { prenotazione_id }: Booked, riga?: number) {
  const [{ id } = {}] = await app.sql<{ id: number }[]>`
    select max(invio_id) as id from invii_schedine where prenotazione_id = ${prenotazione_id}`
  const asked = await call('POST', `/api/v1/invii/${id}/correzione`, { motivo: 'Chiesta via PEC', riga })
  if (asked.statusCode !== 201) throw new Error(asked.body)
}

/** The ids of bookings with unsent guests, and of bookings with sent guests that wait for a receipt. */
async function missing (server: TestApp) {
  const { mancanti, in_attesa } = await verified(server)
  const ids = (bookings: Booked[]) => bookings.map(({ prenotazione_id }) => prenotazione_id)
  return { mancanti: ids(mancanti), in_attesa: ids(in_attesa) }
}

async function verified ({ call }: TestApp, query = '') {
  const response = await call('GET', PATH + query)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json()
}

t.test(
  'from its check-in a booking is missing until it is sent, then waits for a receipt, then is covered',
  async (t) => {
    const { server, on } = await setUp()
    const [one, two] = [await book(server, 'A Uno', today), await book(server, 'B Due', today)]
    await book(server, 'C Domani', '2026-11-22')
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2, totale_ricevute: 0, mancanti: [one, two], in_attesa: [], proroghe: [], discordanze: []
    })

    await send(server, 'UNO', one)
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2,
      totale_ricevute: 0,
      mancanti: [two],
      in_attesa: [{ ...one, giorno: today, motivo: 'non_ancora_emessa' }],
      proroghe: [],
      discordanze: []
    })

    const next = on('2026-11-22')
    t.match(await verified(next), {
      totale_prenotazioni: 3,
      totale_ricevute: 1,
      mancanti: [two, { nome_cognome: 'C Domani' }],
      in_attesa: [],
      discordanze: []
    })
  }
)

t.test('`da` and `a` limit the days of check-in, and check-ins after today are never compared', async (t) => {
  const { server } = await setUp()
  for (const day of ['2026-11-01', '2026-11-10', '2026-11-20', '2026-12-24']) await book(server, `Ospite ${day}`, day)
  const days = async (query: string) =>
    (await verified(server, query)).mancanti.map(({ check_in }: { check_in: string }) => check_in)
  t.same(await days(''), ['2026-11-01', '2026-11-10', '2026-11-20'])
  t.same(await days('?da=2026-11-10'), ['2026-11-10', '2026-11-20'])
  t.same(await days('?a=2026-11-10'), ['2026-11-01', '2026-11-10'])
  t.same(await days('?da=2026-11-02&a=2026-11-19'), ['2026-11-10'])
  t.same(await days('?a=2026-12-31'), ['2026-11-01', '2026-11-10', '2026-11-20'])
  for (const path of [PATH, '/api/v1/invii']) {
    const { dettagli } = (await server.call('GET', `${path}?da=2026-11-20&a=2026-11-19`)).json()
    t.same(dettagli, [{ campo: 'a', messaggio: 'deve essere uguale o dopo da' }], 'an empty range is refused')
  }
  t.equal((await server.call('GET', `${PATH}?da=ieri`)).statusCode, 400)
  t.equal((await server.call('GET', `${PATH}?altro=1`)).statusCode, 400)
})

t.test('a day is a discrepancy when its receipt and the ledger have different counts', async (t) => {
  const { server, on } = await setUp()
  await send(server, 'UNO', await book(server, 'A Uno', today))
  // Another program files a guest with the same account.
  await server.app.sql`
    insert into sandbox_schedine (utente, riga, permanenza, giorno)
    select utente, riga, permanenza, giorno from sandbox_schedine`
  const next = on('2026-11-22')
  t.strictSame((await verified(next)).discordanze, [{ giorno: today, inviate: 1, in_ricevuta: 2 }])
})

t.test('a submission of unknown outcome covers no guest, and is not reported as unsent', async (t) => {
  const { server, on } = await setUp()
  const one = await book(server, 'A Uno', today)
  await send(server, 'UNO', one)
  // Simulates a lost reply. The triggers would refuse to change an outcome.
  await server.app.sql`alter table invii disable trigger user`
  await server.app.sql`alter table invii_esiti disable trigger user`
  await server.app.sql`update invii set stato = 'sconosciuto'`
  await server.app.sql`update invii_schedine set esito = 'sconosciuta'`
  await server.app.sql`update invii_esiti set esito = '?', schedine = 0, notti = 0`
  await server.app.sql`alter table invii enable trigger user`
  await server.app.sql`alter table invii_esiti enable trigger user`
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), {
    totale_ricevute: 0,
    mancanti: [],
    in_attesa: [{ ...one, giorno: today, motivo: 'esito_sconosciuto' }],
    discordanze: [{ giorno: today, inviate: 0, in_ricevuta: 1 }]
  })
})

t.test('a booking is covered only when its number of guests is acquired and on a receipt', async (t) => {
  const { server, on } = await setUp()
  const four = await book(server, 'A Quattro', today, 4)
  await send(server, 'UNO', four)
  t.match(await verified(server), {
    mancanti: [{ ...four, ospiti_mancanti: 3 }], in_attesa: [{ ...four, ospiti_mancanti: 1 }]
  })
  for (const nome of ['DUE', 'TRE']) await send(server, nome, four)
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_ricevute: 0, mancanti: [{ ...four, ospiti_mancanti: 1 }], in_attesa: [] })
  await send(next, 'QUATTRO', four)
  const waiting = await verified(next)
  t.match(waiting, { mancanti: [], in_attesa: [{ ospiti_mancanti: 1 }] }, 'one guest waits for the next receipt')
  const later = on('2026-11-23')
  await later.call('GET', '/api/alloggiati/ricevute?data=2026-11-22')
  t.match(await verified(later), { totale_ricevute: 1, mancanti: [], in_attesa: [] })
})

t.test('after a change of a booking, only sent guests who are still in it count', async (t) => {
  const { server, on } = await setUp()
  const unchanged = async () => {}
  /** Changes of a booking with one guest after the Send. */
  const cases: [string, (booking: Booked, nome: string) => Promise<void>, isCovered: boolean][] = [
    ['ALFA', async (booking) => save(server, booking, guest('NUOVA')), false],
    ['BETA', async (booking) => save(server, booking, { nome: 'NUOVO', cognome: 'VERDI' }), false],
    ['GAMMA', async (booking, nome) => save(server, booking, guest(nome, { comune_nascita: '' })), true],
    ['DELTA', async (booking) => change(server, booking, { telefono: '+39 055 000000' }), true],
    // The same person in another spelling, then the same document.
    ['NICCOLO', async (booking) => save(server, booking, guest('Niccolò', { numero_documento: 'CA00ZZZ' })), true],
    ['ETA', async (booking, nome) => save(server, booking, guest('ALTRA', { numero_documento: `CA00${nome}` })), true],
    ['THETA', async (booking) => change(server, booking, { check_in: addDays(today, -1) }), false],
    ['IOTA', unchanged, true]
  ]
  const covered: number[] = []
  const uncovered: number[] = []
  for (const [nome, alter, isCovered] of cases) {
    const booking = await book(server, nome, today)
    await save(server, booking, guest(nome))
    await send(server, nome, booking)
    await alter(booking, nome)
    ;(isCovered ? covered : uncovered).push(booking.prenotazione_id)
  }
  const [unsaved, later] = [await book(server, 'Senza ospiti', today), await book(server, 'Poi', addDays(today, -1))]
  await send(server, 'KAPPA', unsaved)
  await change(server, unsaved, { email: 'ospite@example.com' })
  await send(server, 'LAMBDA', later)
  await change(server, later, { check_in: today, numero_notti: 2 })
  covered.push(unsaved.prenotazione_id)
  uncovered.push(later.prenotazione_id)
  const { mancanti, in_attesa } = await missing(server)
  t.same(in_attesa, covered, 'covered guests wait for their receipt')
  t.same(new Set(mancanti), new Set(uncovered))

  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_prenotazioni: 10, totale_ricevute: covered.length, in_attesa: [] })
  t.same(new Set((await missing(next)).mancanti), new Set(uncovered))
  // Only the questura can correct acquired data.
  const all = uncovered.map((prenotazione_id) => ({ ...unsaved, prenotazione_id }))
  for (const booking of all) await correct(next, booking)
  t.match(await verified(next), { totale_ricevute: 10, mancanti: [] })
})

t.test('a guest sent with wrong data counts after the questura was asked to correct that row', async (t) => {
  const { server, on } = await setUp()
  const family = await book(server, 'Famiglia', today, 3)
  const leader = guest('CAPO', { tipo_alloggiato: '17' })
  const child = (nome: string) => member('19', nome)
  await save(server, family, leader, child('ANNA'), child('BRUNO'))
  await sendAll(server, [leader, child('ANNA'), child('BRUNO')], family)
  await save(server, family, leader, child('ANNA'), child('CARLO'))
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { mancanti: [{ ospiti_mancanti: 1 }] })
  await correct(next, family, 1)
  t.match(await verified(next), { mancanti: [{ ospiti_mancanti: 1 }] }, 'the correction was about another row')
  await correct(next, family, 2)
  t.same((await verified(next)).mancanti, [])
  await save(next, family, leader)
  t.same((await verified(next)).mancanti, [], 'other rows count for unsaved guests')
})

t.test('guests sent for a deleted booking cover only one booking that is entered again', async (t) => {
  const { server, on } = await setUp()
  const enter = async (nome: string, guests = 1) => {
    const booking = await book(server, nome, today, guests)
    await save(server, booking, guest(nome))
    return booking
  }
  const equal = [await enter('DOPPIA'), await enter('DOPPIA')]
  await send(server, 'DOPPIA', equal[0]!)
  t.same((await missing(server)).in_attesa, [equal[0]!.prenotazione_id], 'one row covers one of two equal bookings')
  const first = await enter('RIFATTA')
  await send(server, 'RIFATTA', first)
  await remove(server, first)
  const again = await enter('RIFATTA', 2)
  t.match((await verified(server)).in_attesa, [equal[0], { ...again, ospiti_mancanti: 1 }])
  await change(server, again, { numero_ospiti: 1 })
  t.same((await missing(server)).in_attesa, [equal[0]!.prenotazione_id, again.prenotazione_id])
  const third = await enter('RIFATTA')
  await remove(server, equal[0]!)
  await sendAll(server, [guest('SENZA')], { check_in: today })
  await enter('SENZA')
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_prenotazioni: 4, totale_ricevute: 3, in_attesa: [] })
  t.same((await missing(next)).mancanti, [third.prenotazione_id], 'one row covers one guest')
})

t.test('a row on a receipt covers one guest, even one who was first sent after 30 nights', async (t) => {
  const { server } = await setUp()
  const day = addDays(today, -1)
  const [four, covered] = [await book(server, 'Quattro', day, 4), await book(server, 'Coperta', today)]
  const [long, early] = [await book(server, 'Lunga', '2026-10-22', 1, 45), await book(server, 'Prima', today)]
  await send(server, 'UNO', four)
  await send(server, 'DUE', covered)
  await send(server, 'TRE', { ...long, check_in: today })
  await send(server, 'QUATTRO', { ...early, check_in: day })
  // Simulates the receipts of these days.
  await server.app.sql`alter table invii disable trigger user`
  await server.app.sql`update invii set stato = 'ricevuto'`
  await server.app.sql`alter table invii enable trigger user`
  t.match(await verified(server), {
    totale_ricevute: 2,
    mancanti: [{ nome_cognome: 'Quattro', ospiti_mancanti: 3 }, { nome_cognome: 'Prima' }],
    proroghe: []
  })
})

t.test('uncovered bookings are found among thousands of covered ones, at any position', async (t) => {
  const { server } = await setUp()
  const { sql } = server.app
  // More than one batch of 8000. The uncovered bookings are the first, the last, and five around the end of the batch.
  await sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Ospite', 'IT', 380, day, day + 2, 1
    from generate_series(1, 8100) n, lateral (select ${today}::date - n % 7 as day) d`
  const bookings = await sql<{ id: number }[]>`select id from prenotazioni order by check_in, id`
  const uncovered = [1, 7998, 7999, 8000, 8001, 8002, 8100].map((position) => bookings[position - 1]!.id)
  await sql.begin(async (tx) => {
    await tx`alter table invii disable trigger user`
    await tx`alter table invii_schedine disable trigger user`
    await tx`
      insert into invii (ricevuta, utente, operatore, metodo, data_arrivo, permanenza, scadenza, stato, lease_fino_al)
      select distinct 'AW-' || check_in, 'sandbox:SB000001', 'prova', 'Send', check_in, 2, now(), 'ricevuto', now()
      from prenotazioni`
    await tx`
      insert into invii_schedine (invio_id, indice, capo, utente, prenotazione_id, permanenza, impronta_identita,
        impronta_persona, esito)
      select i.id, p.id, p.id, i.utente, p.id, 2, sha256(p.id::text::bytea), sha256(p.id::text::bytea), 'acquisita'
      from prenotazioni p join invii i on i.data_arrivo = p.check_in where p.id not in ${tx(uncovered)}`
    await tx`alter table invii enable trigger user`
    await tx`alter table invii_schedine enable trigger user`
  })
  const response = await verified(server)
  t.same((response.mancanti as Booked[]).map(({ prenotazione_id }) => prenotazione_id), uncovered)
  t.match(response, { totale_prenotazioni: 8100, totale_ricevute: 8093, in_attesa: [] })
})
