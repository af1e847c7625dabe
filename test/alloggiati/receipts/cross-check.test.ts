import t, { type Test } from 'tap'
import { addDays, createClock } from '#src/lib/time.ts'
import { build, type TestApp } from '#test/helper.ts'
import { single, today } from '#test/alloggiati/rules/samples.ts'
import { production, standIn } from '#test/alloggiati/stand-in.ts'

const PATH = '/api/alloggiati/verifica-ricevute'

/** A server on the tests' day; `on` gives one on another day, with the same database. */
async function setUp (t: Test) {
  const server = await build(t, { TODAY: today })
  const on = (day: string) => build(t, { TODAY: day, DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  return { server, on }
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
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome,
    lingua: 'IT',
    paese_id: 380,
    check_in,
    numero_notti,
    numero_ospiti
  })
  // Two nights: 24 hours from 14:00, in Rome's winter.
  return {
    prenotazione_id: created.json().data.id,
    nome_cognome,
    check_in,
    scadenza: `${addDays(check_in, 1)}T13:00:00.000Z`,
    ospiti_mancanti: numero_ospiti
  }
}

async function send ({ call }: TestApp, nome: string, { prenotazione_id, check_in }: Booked) {
  const sent = await call('POST', '/api/alloggiati/invio', {
    // Each name is another guest, with a document of that name.
    ospiti: [single({ nome, numero_documento: `CA00${nome}` })],
    prenotazione: { id: prenotazione_id, check_in, numero_notti: 2 }
  })
  if (sent.statusCode !== 200) throw new Error(sent.body)
}

const verified = async ({ call }: TestApp, query = '') => (await call('GET', PATH + query)).json()

t.test(
  'a booking that has arrived is missing until it is sent, then waits for a receipt, and then is covered',
  async (t) => {
    const { server, on } = await setUp(t)
    const [one, two] = [await book(server, 'A Uno', today), await book(server, 'B Due', today)]
    await book(server, 'C Domani', '2026-11-22')
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2,
      totale_ricevute: 0,
      mancanti: [one, two],
      in_attesa: [],
      discordanze: []
    })

    await send(server, 'UNO', one)
    t.strictSame(await verified(server), {
      totale_prenotazioni: 2,
      totale_ricevute: 0,
      mancanti: [one, two],
      in_attesa: [one],
      discordanze: []
    })

    const next = await on('2026-11-22')
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

t.test('without bookings there is nothing to verify', async (t) => {
  const { server } = await setUp(t)
  t.strictSame(await verified(server), {
    totale_prenotazioni: 0,
    totale_ricevute: 0,
    mancanti: [],
    in_attesa: [],
    discordanze: []
  })
})

t.test('da and a limit the days of check-in, and coming arrivals are never checked', async (t) => {
  const { server } = await setUp(t)
  for (const day of ['2026-11-01', '2026-11-10', '2026-11-20', '2026-12-24']) await book(server, `Ospite ${day}`, day)
  const days = async (query: string) =>
    (await verified(server, query)).mancanti.map(({ check_in }: { check_in: string }) => check_in)
  t.same(await days(''), ['2026-11-01', '2026-11-10', '2026-11-20'])
  t.same(await days('?da=2026-11-10'), ['2026-11-10', '2026-11-20'])
  t.same(await days('?a=2026-11-10'), ['2026-11-01', '2026-11-10'])
  t.same(await days('?da=2026-11-02&a=2026-11-19'), ['2026-11-10'])
  t.same(await days('?a=2026-12-31'), ['2026-11-01', '2026-11-10', '2026-11-20'])
  t.same(await days('?da=2026-11-20&a=2026-11-01'), [])
  t.equal((await server.call('GET', `${PATH}?da=ieri`)).statusCode, 400)
  t.equal((await server.call('GET', `${PATH}?altro=1`)).statusCode, 400)
})

t.test('a day whose receipt counts other than the ledger is a discrepancy', async (t) => {
  const { server, on } = await setUp(t)
  await send(server, 'UNO', await book(server, 'A Uno', today))
  // Another program files a guest with the same account.
  await server.app.sql`
    insert into sandbox_schedine (utente, riga, permanenza, giorno)
    select utente, riga, permanenza, giorno from sandbox_schedine`
  const next = await on('2026-11-22')
  t.strictSame((await verified(next)).discordanze, [], 'not before there is a receipt')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.strictSame((await verified(next)).discordanze, [{ giorno: today, inviate: 1, in_ricevuta: 2 }])
})

t.test('a submission of unknown outcome covers nothing and waits for nothing', async (t) => {
  const { server, on } = await setUp(t)
  const one = await book(server, 'A Uno', today)
  await send(server, 'UNO', one)
  // As a lost reply would have left it: the ledger itself refuses to forget what it knows.
  await server.app.sql`alter table invii disable trigger user`
  await server.app.sql`alter table invii_esiti disable trigger user`
  await server.app.sql`update invii set stato = 'sconosciuto'`
  await server.app.sql`update invii_schedine set esito = 'sconosciuta'`
  await server.app.sql`update invii_esiti set esito = '?', schedine = 0, notti = 0`
  const next = await on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), {
    totale_ricevute: 0,
    mancanti: [one],
    in_attesa: [],
    discordanze: [{ giorno: today, inviate: 0, in_ricevuta: 1 }]
  })
})

t.test('a booking with several submissions is counted once', async (t) => {
  const { server, on } = await setUp(t)
  const one = await book(server, 'A Uno', today, 2)
  await send(server, 'UNO', one)
  await send(server, 'DUE', one)
  t.match(await verified(server), { totale_prenotazioni: 1, in_attesa: [one] })
  const next = await on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.strictSame(await verified(next), {
    totale_prenotazioni: 1,
    totale_ricevute: 1,
    mancanti: [],
    in_attesa: [],
    discordanze: []
  })
})

t.test('a booking is covered only when as many guests as it says are acquired and on a receipt', async (t) => {
  const { server, on } = await setUp(t)
  const four = await book(server, 'A Quattro', today, 4)
  await send(server, 'UNO', four)
  t.match(await verified(server), { mancanti: [four], in_attesa: [] }, 'one guest of four waits for nothing')
  for (const nome of ['DUE', 'TRE']) await send(server, nome, four)
  const next = await on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_ricevute: 0, mancanti: [{ ...four, ospiti_mancanti: 1 }], in_attesa: [] })
  await send(next, 'QUATTRO', four)
  t.match(await verified(next), { mancanti: [{ ospiti_mancanti: 1 }], in_attesa: [{}] }, 'its receipt is to come')
  const last = await on('2026-11-23')
  await last.call('GET', '/api/alloggiati/ricevute?data=2026-11-22')
  t.match(await verified(last), { totale_ricevute: 1, mancanti: [], in_attesa: [] })
})

t.test('what was sent for the second month of a long stay does not cover its arrival', async (t) => {
  const { server, on } = await setUp(t)
  const long = await book(server, 'A Lungo', '2026-10-22', 1, 45)
  await send(server, 'UNO', { ...long, check_in: today })
  const next = await on('2026-11-22')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.match(await verified(next), { totale_ricevute: 0, mancanti: [{ ospiti_mancanti: 1 }] })
})

t.test('discrepancies are those of the days that are asked for', async (t) => {
  const { server, on } = await setUp(t)
  await send(server, 'UNO', await book(server, 'A Uno', today))
  await server.app.sql`insert into sandbox_schedine (utente, riga, permanenza, giorno)
    select utente, riga, permanenza, giorno from sandbox_schedine`
  const next = await on('2026-11-23')
  await next.call('GET', `/api/alloggiati/ricevute?data=${today}`)
  t.equal((await verified(next, `?da=${today}&a=${today}`)).discordanze.length, 1)
  t.same((await verified(next, '?da=2026-11-22')).discordanze, [])
  t.same((await verified(next, '?a=2026-11-20')).discordanze, [])
})

t.test('any day of the calendar can be asked for', async (t) => {
  const { server } = await setUp(t)
  for (const query of ['?da=0001-01-01', '?da=0001-01-02&a=0001-01-01', '?da=9999-12-31', '?a=9999-12-31']) {
    t.match(await verified(server, query), { discordanze: [], totale_prenotazioni: 0 }, query)
  }
})

t.test('without credentials, or with another account, what was sent and proven is verified all the same', async (t) => {
  const police = await standIn(t)
  const real = await production(t, police)
  const day = createClock().today()
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
