import t, { type Test } from 'tap'
import { addDays } from '#src/lib/time.ts'
import { build, type TestApp } from '#test/helper.ts'
import { single, today } from '#test/alloggiati/rules/samples.ts'

const PATH = '/api/alloggiati/verifica-ricevute'

/** A server on the tests' day; `on` gives one on another day, with the same database. */
async function setUp (t: Test) {
  const server = await build(t, { TODAY: today })
  const on = (day: string) => build(t, { TODAY: day, DATABASE_URL: server.url, DATA_DIR: server.dataDir })
  return { server, on }
}

interface Booked { prenotazione_id: number, nome_cognome: string, check_in: string, scadenza: string }

async function book ({ call }: TestApp, nome_cognome: string, check_in: string): Promise<Booked> {
  const created = await call('POST', '/api/v1/prenotazioni', {
    nome_cognome,
    lingua: 'IT',
    paese_id: 380,
    check_in,
    numero_notti: 2,
    numero_ospiti: 2
  })
  // Two nights: 24 hours from 14:00, in Rome's winter.
  return {
    prenotazione_id: created.json().data.id,
    nome_cognome,
    check_in,
    scadenza: `${addDays(check_in, 1)}T13:00:00.000Z`
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
  const one = await book(server, 'A Uno', today)
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
