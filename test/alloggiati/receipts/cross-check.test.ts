import t from 'tap'
import { create } from '#test/bookings/samples.ts'
import type { Schedina } from '#schemas/schedina.ts'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { member, single, today } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { production, standIn } from '#test/alloggiati/stand-in.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'

const PATH = '/api/alloggiati/verifica-ricevute'

const clock = clockAt(noon(today))
const sandbox = await build(t, {}, undefined, { clock })

/** The server of all tests, empty and on the tests' day; `on` takes it to another one. */
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
  // Two nights: 24 hours from 14:00, in Rome's winter.
  return {
    prenotazione_id,
    nome_cognome,
    check_in,
    scadenza: `${addDays(check_in, 1)}T13:00:00.000Z`,
    ospiti_mancanti: numero_ospiti
  }
}

/** Each name is another guest, with a document of that name. */
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

/** Makes these the saved guests of a booking. */
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

/** Writes down that the questura was asked to correct a booking's submission, or one row of it. */
async function correct ({ app, call }: TestApp, { prenotazione_id }: Booked, riga?: number) {
  const [{ id } = {}] = await app.sql<{ id: number }[]>`
    select max(invio_id) as id from invii_schedine where prenotazione_id = ${prenotazione_id}`
  const asked = await call('POST', `/api/v1/invii/${id}/correzione`, { motivo: 'Chiesta via PEC', riga })
  if (asked.statusCode !== 201) throw new Error(asked.body)
}

/** The ids of the bookings that are missing, and of those that only wait for a receipt. */
async function missing (server: TestApp) {
  const { mancanti, in_attesa } = await verified(server)
  const ids = (bookings: Booked[]) => bookings.map(({ prenotazione_id }) => prenotazione_id)
  return { mancanti: ids(mancanti), in_attesa: ids(in_attesa) }
}

async function verified ({ call }: TestApp, query = '') {
  const answer = await call('GET', PATH + query)
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json()
}

t.test(
  'a booking that has arrived is missing until it is sent, then waits for a receipt, and then is covered',
  async (t) => {
    const { server, on } = await setUp()
    const [one, two] = [await book(server, 'A Uno', today), await book(server, 'B Due', today)]
    await book(server, 'C Domani', '2026-11-22')
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2, totale_ricevute: 0, mancanti: [one, two], in_attesa: [], discordanze: []
    })

    await send(server, 'UNO', one)
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2, totale_ricevute: 0, mancanti: [one, two], in_attesa: [one], discordanze: []
    })

    const next = on('2026-11-22')
    const before = await verified(next)
    t.equal(before.totale_prenotazioni, 3)
    t.equal(before.totale_ricevute, 0, 'a receipt that was not fetched covers nothing')
    t.equal((await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)).statusCode, 200)
    t.match(await verified(next), {
      totale_prenotazioni: 3,
      totale_ricevute: 1,
      mancanti: [two, { nome_cognome: 'C Domani' }],
      in_attesa: [],
      discordanze: []
    })
  }
)

t.test('da and a limit the days of check-in, in this order, and coming arrivals are never checked', async (t) => {
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
    t.same(dettagli, [{ campo: 'a', messaggio: 'deve essere uguale o dopo da' }], 'nothing lies between: no good news')
  }
  t.equal((await server.call('GET', `${PATH}?da=ieri`)).statusCode, 400)
  t.equal((await server.call('GET', `${PATH}?altro=1`)).statusCode, 400)
})

t.test('a day whose receipt counts other than the ledger is a discrepancy', async (t) => {
  const { server, on } = await setUp()
  await send(server, 'UNO', await book(server, 'A Uno', today))
  // Another program files a guest with the same account.
  await server.app.sql`
    insert into sandbox_schedine (utente, riga, permanenza, giorno)
    select utente, riga, permanenza, giorno from sandbox_schedine`
  const next = on('2026-11-22')
  t.strictSame((await verified(next)).discordanze, [], 'not before there is a receipt')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.strictSame((await verified(next)).discordanze, [{ giorno: today, inviate: 1, in_ricevuta: 2 }])
})

t.test('a submission of unknown outcome covers nothing and waits for nothing', async (t) => {
  const { server, on } = await setUp()
  const one = await book(server, 'A Uno', today)
  await send(server, 'UNO', one)
  // As a lost reply would have left it: the ledger itself refuses to forget what it knows.
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
    totale_ricevute: 0, mancanti: [one], in_attesa: [], discordanze: [{ giorno: today, inviate: 0, in_ricevuta: 1 }]
  })
})

t.test('a booking is covered only when as many guests as it says are acquired and on a receipt', async (t) => {
  const { server, on } = await setUp()
  const four = await book(server, 'A Quattro', today, 4)
  await send(server, 'UNO', four)
  t.match(await verified(server), { mancanti: [four], in_attesa: [] }, 'one guest of four waits for nothing')
  for (const nome of ['DUE', 'TRE']) await send(server, nome, four)
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_ricevute: 0, mancanti: [{ ...four, ospiti_mancanti: 1 }], in_attesa: [] })
  await send(next, 'QUATTRO', four)
  t.match(await verified(next), { mancanti: [{ ospiti_mancanti: 1 }], in_attesa: [{}] }, 'its receipt is to come')
  const last = on('2026-11-23')
  await last.call('GET', '/api/alloggiati/ricevute?data=2026-11-22')
  t.match(await verified(last), { totale_ricevute: 1, mancanti: [], in_attesa: [] })
})

t.test('without credentials, or with another account, what was sent and proven is verified all the same', async (t) => {
  const police = await standIn(t)
  const real = await production(t, police)
  const day = testClock().today()
  const one = await book(real, 'A Uno', day)
  await send(real, 'UNO', one)
  const bare = await build(t, { ALLOGGIATI_MODE: 'production', DATABASE_URL: real.url, DATA_DIR: real.dataDir })
  t.match(await verified(bare), { mancanti: [{ prenotazione_id: one.prenotazione_id }], in_attesa: [{}] })
  t.match((await bare.call('GET', '/metrics')).body, /locanda_submissions\{state="acquisito"\} 1/)
  const other = await production(t, police, {
    DATABASE_URL: real.url, DATA_DIR: real.dataDir, ALLOGGIATI_UTENTE: 'RM999999'
  })
  t.match(await verified(other), { in_attesa: [{ prenotazione_id: one.prenotazione_id }] })
})

t.test('of guests who were sent before a booking changed, only those count whom it still has', async (t) => {
  const { server, on } = await setUp()
  const nobody = async () => {}
  /** What becomes of a booking for one guest after they were sent. */
  const cases: [string, (booking: Booked, nome: string) => Promise<void>, isCovered: boolean][] = [
    ['ALFA', async (booking) => save(server, booking, guest('NUOVA')), false],
    ['BETA', async (booking) => save(server, booking, { nome: 'NUOVO', cognome: 'VERDI' }), false],
    ['GAMMA', async (booking, nome) => save(server, booking, guest(nome, { comune_nascita: '' })), true],
    ['DELTA', async (booking) => change(server, booking, { telefono: '+39 055 000000' }), true],
    // The same person in other letters, and the same document.
    ['NICCOLO', async (booking) => save(server, booking, guest('Niccolò', { numero_documento: 'CA00ZZZ' })), true],
    ['ETA', async (booking, nome) => save(server, booking, guest('ALTRA', { numero_documento: `CA00${nome}` })), true],
    ['THETA', async (booking) => change(server, booking, { check_in: addDays(today, -1) }), false],
    ['IOTA', nobody, true]
  ]
  const covered: number[] = []
  const uncovered: number[] = []
  for (const [nome, becomes, isCovered] of cases) {
    const booking = await book(server, nome, today)
    await save(server, booking, guest(nome))
    await send(server, nome, booking)
    await becomes(booking, nome)
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
  t.same(in_attesa, covered, 'what counts waits for its receipt')
  t.same(new Set(mancanti), new Set([...covered, ...uncovered]))

  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_prenotazioni: 10, totale_ricevute: covered.length, in_attesa: [] })
  t.same(new Set((await missing(next)).mancanti), new Set(uncovered))
  // What the police has is put right by the questura alone.
  const all = uncovered.map((prenotazione_id) => ({ ...unsaved, prenotazione_id }))
  for (const booking of all) await correct(next, booking)
  t.match(await verified(next), { totale_ricevute: 10, mancanti: [] })
})

t.test('a guest of several who was sent wrong counts once the questura is asked to correct that row', async (t) => {
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
  t.match(await verified(next), { mancanti: [{ ospiti_mancanti: 1 }] }, 'another row was asked to be corrected')
  await correct(next, family, 2)
  t.same((await verified(next)).mancanti, [])
  await save(next, family, leader)
  t.same((await verified(next)).mancanti, [], 'the others stand for guests who are not saved')
})

t.test('a booking that was entered again has the guests who were sent for the one before, once', async (t) => {
  const { server, on } = await setUp()
  const enter = async (nome: string, guests = 1) => {
    const booking = await book(server, nome, today, guests)
    await save(server, booking, guest(nome))
    return booking
  }
  const twice = [await enter('DOPPIA'), await enter('DOPPIA')]
  await send(server, 'DOPPIA', twice[0]!)
  t.same((await missing(server)).in_attesa, [twice[0]!.prenotazione_id], 'the other one is still there')
  const first = await enter('RIFATTA')
  await send(server, 'RIFATTA', first)
  await remove(server, first)
  const again = await enter('RIFATTA', 2)
  t.match((await verified(server)).in_attesa, [twice[0]], 'one guest of two')
  await change(server, again, { numero_ospiti: 1 })
  t.same((await missing(server)).in_attesa, [twice[0]!.prenotazione_id, again.prenotazione_id])
  const third = await enter('RIFATTA')
  await remove(server, twice[0]!)
  await sendAll(server, [guest('SENZA')], { check_in: today })
  await enter('SENZA')
  const next = on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_prenotazioni: 4, totale_ricevute: 3, in_attesa: [] })
  t.same((await missing(next)).mancanti, [third.prenotazione_id], 'one row is not two guests')
})

t.test('what is on a receipt counts guest by guest, and only in the 30 nights of its arrival', async (t) => {
  const { server } = await setUp()
  const day = addDays(today, -1)
  const [four, covered] = [await book(server, 'Quattro', day, 4), await book(server, 'Coperta', today)]
  const [long, early] = [await book(server, 'Lunga', '2026-10-22', 1, 45), await book(server, 'Prima', today)]
  await send(server, 'UNO', four)
  await send(server, 'DUE', covered)
  await send(server, 'TRE', { ...long, check_in: today })
  await send(server, 'QUATTRO', { ...early, check_in: day })
  // As the receipts of the days would leave them.
  await server.app.sql`alter table invii disable trigger user`
  await server.app.sql`update invii set stato = 'ricevuto'`
  await server.app.sql`alter table invii enable trigger user`
  t.match(await verified(server), {
    totale_ricevute: 1,
    mancanti: [{ nome_cognome: 'Lunga' }, { nome_cognome: 'Quattro', ospiti_mancanti: 3 }, { nome_cognome: 'Prima' }]
  })
})

t.test('of thousands of bookings that are covered those that are not are named, wherever they stand', async (t) => {
  const { server } = await setUp()
  const { sql } = server.app
  // More than are looked at in one go; few of them are uncovered, and these stand around the end of the first look.
  await sql`
    insert into prenotazioni (nome_cognome, lingua, paese_id, check_in, check_out, numero_ospiti)
    select 'Ospite', 'IT', 380, day, day + 2, 1
    from generate_series(1, 8100) n, lateral (select ${today}::date - n % 7 as day) d`
  const places = await sql<{ id: number }[]>`select id from prenotazioni order by check_in, id`
  const uncovered = [1, 7998, 7999, 8000, 8001, 8002, 8100].map((place) => places[place - 1]!.id)
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
  const answer = await verified(server)
  t.same((answer.mancanti as Booked[]).map(({ prenotazione_id }) => prenotazione_id), uncovered)
  t.match(answer, { totale_prenotazioni: 8100, totale_ricevute: 8093, in_attesa: [] })
})

t.test(
  "a booking to verify tells until when the law wants it: 24 hours, 6 for one night, by Rome's clock",
  async (t) => {
    const { server } = await setUp()
    await book(server, 'A Estate', '2026-07-01', 1, 5)
    await book(server, 'B Cambio', '2026-10-24')
    await book(server, 'C Una', today, 1, 1)
    const { prenotazione_id: id } = await book(server, 'D Due', today)
    await sendAll(server, [single()], { prenotazione_id: id, check_in: today })
    const { mancanti, in_attesa } = await verified(server)
    t.same(
      mancanti.map(({ nome_cognome, scadenza }: Record<string, string>) => [nome_cognome, scadenza]),
      [
        ['A Estate', '2026-07-02T12:00:00.000Z'],
        ['B Cambio', '2026-10-25T12:00:00.000Z'],
        ['C Una', '2026-11-21T19:00:00.000Z'],
        ['D Due', '2026-11-22T13:00:00.000Z']
      ]
    )
    t.strictSame(in_attesa, [
      {
        prenotazione_id: id,
        nome_cognome: 'D Due',
        check_in: today,
        scadenza: '2026-11-22T13:00:00.000Z',
        ospiti_mancanti: 1
      }
    ])
  }
)
