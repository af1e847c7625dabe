import t, { type Test } from 'tap'
import type { BookingState } from '#schemas/booking.ts'
import { addDays } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { build, type TestApp } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'
import { startSmtp } from '#test/smtp.ts'
import { BOOKINGS, CALENDAR, booking, create, fieldsAtFault, list, read, saveGuests } from './samples.ts'

const today = '2026-11-21'
const yesterday = addDays(today, -1)
const clock = clockAt(`${today}T12:00:00Z`)
/** A shared server, which each test resets. */
const smtp = await startSmtp(t)
const environ = { ALARM_EMAIL: 'direzione@example.com', MAIL_FROM: 'locanda@example.com', SMTP_URL: smtp.url }
const shared = await build(t, environ, undefined, { clock })

const send = ({ call }: TestApp, id: number, body?: object) => call('POST', `${BOOKINGS}/${id}/invio`, body)
const put = ({ call }: TestApp, id: number, change: object) => call('PUT', `${BOOKINGS}/${id}`, change)
const get = async <Body> ({ call }: TestApp, url: string) => (await call('GET', url)).json<Body>()

/** A booking of one guest with all data. */
async function booked ({ call }: TestApp, n: number, changes: object = {}): Promise<number> {
  const { id } = await create(call, { check_in: today, numero_notti: 3, numero_ospiti: 1, ...changes })
  const saved = await saveGuests(call, id, [guestNo(n)])
  if (saved.statusCode !== 200) throw new Error(saved.body)
  return id
}

const calendar = async (server: TestApp, query = '') =>
  (await get<{ id: number, stato: BookingState }[]>(server, CALENDAR + query)).map(({ id, stato }) => [id, stato])
const missing = async (server: TestApp) =>
  (await get<{ mancanti: { prenotazione_id: number }[] }>(server, '/api/alloggiati/verifica-ricevute'))
    .mancanti.map(({ prenotazione_id }) => prenotazione_id)
const day = async ({ call }: TestApp, body: object) => {
  const answered = await call('POST', '/api/v1/invii/giornata', body)
  return answered.json<{ prenotazioni: { prenotazione_id: number, stato: string }[] }>()
    .prenotazioni.map(({ prenotazione_id, stato }) => [prenotazione_id, stato])
}
const alarmed = async (server: TestApp) => {
  await runJob(server, 'ledger-alarms')
  return server.logs.flatMap(({ prenotazione }) => prenotazione ?? [])
}
const summary = async (server: TestApp) => {
  await runJob(server, 'evening-summary')
  return (await smtp.next()).text
}
const due = { check_in: yesterday }

/** Checks a confirmed booking (`kept`) and a booking in the state (`other`) on a server. */
type Guarantee = (t: Test, server: TestApp, ids: { kept: number, other: number }, stato: BookingState) => Promise<void>

const GUARANTEES: Record<string, Guarantee> = {
  'detail and list show the state': async (t, { call }, { kept, other }, stato) => {
    t.equal((await read(call, other)).stato, stato)
    t.same((await list(call)).map(({ id, stato }) => [id, stato]), [[kept, 'confermata'], [other, stato]])
  },
  'the list filters by state, pages and full list alike': async (t, { call }, { kept, other }, stato) => {
    for (const paging of ['', '&limit=5']) {
      t.same((await list(call, `?stato=${stato}${paging}`)).map(({ id }) => id), [other])
      t.same((await list(call, `?stato=confermata${paging}`)).map(({ id }) => id), [kept])
    }
    const counted = await call('GET', `${BOOKINGS}?stato=${stato}&limit=1&conteggio=true`)
    t.equal(counted.headers['x-total-count'], '1')
  },
  'the calendar frees the days, and shows the booking when asked for its state': async (t, server, ids, stato) => {
    t.same(await calendar(server), [[ids.kept, 'confermata']])
    t.same(await calendar(server, `?start=${today}&end=${addDays(today, 1)}`), [[ids.kept, 'confermata']])
    t.same(await calendar(server, `?stato=${stato}`), [[ids.other, stato]])
  },
  'a whole booking without the state, or another field, keeps it': async (t, server, { other }, stato) => {
    const { stato: _, ...whole } = await read(server.call, other)
    const changed = await put(server, other, { ...whole, telefono: '1' })
    t.match(changed.json(), { data: { stato, telefono: '1' } })
  },
  'each change of state is a version and an event, and keeps guests and days': async (
    t, server, { other }, stato
  ) => {
    const etag = async () => (await server.call('GET', `${BOOKINGS}/${other}`)).headers.etag
    const before = await etag()
    const again = await put(server, other, { stato: 'confermata' })
    t.match(again.json(), { data: { stato: 'confermata', check_in: yesterday, numero_notti: 3 }, status: 200 })
    t.not(await etag(), before)
    t.equal((await read(server.call, other)).ospiti.length, 1)
    const events = await get<{ data: { tipo: string, dettaglio: string | null }[] }>(
      server, `/api/v1/eventi?tipo=prenotazione.modificata&prenotazione_id=${other}`)
    t.same(events.data.slice(-2).map(({ dettaglio }) => dettaglio), [stato, 'confermata'])
  },
  'the list of the day leaves it out': async (t, server, { kept }) => {
    t.same(await day(server, { data: yesterday, prova: true }), [[kept, 'pronta']])
    t.same(await day(server, { data: yesterday }), [[kept, 'acquisita']])
  },
  'the list of the day refuses it by name': async (t, { call }, { other }) => {
    const refused = await call('POST', '/api/v1/invii/giornata', { data: yesterday, prenotazioni: [other] })
    t.same(fieldsAtFault(refused), ['prenotazioni'])
    const named = new RegExp(`non sono confermate o non esistono: ${other}\\. Indicare`)
    t.match(refused.json().dettagli[0].messaggio, named)
  },
  'it lacks no receipt': async (t, server, { kept }) => {
    t.same(await missing(server), [kept])
    t.match(await get(server, '/api/alloggiati/verifica-ricevute'), { totale_prenotazioni: 1 })
  },
  'it raises no alarm': async (t, server, { kept }) => { t.same(await alarmed(server), [kept]) },
  'the evening summary omits it': async (t, server, { kept, other }) => {
    const text = await summary(server)
    t.match(text, new RegExp(`prenotazione ${kept},`))
    t.notMatch(text, new RegExp(`prenotazione ${other},`))
  },
  'its Send and its test call are refused, and the error names the necessary change': async (t, server, { other }) => {
    for (const body of [undefined, { testMode: true }, { solo_mancanti: true }]) {
      const refused = await send(server, other, body)
      t.match(refused.json(), {
        status: 409, codice: 'PRENOTAZIONE_NON_CONFERMATA', prenotazione_id: other, error: /"stato": "confermata"/
      })
    }
    t.same(await server.app.sql`select from invii`, [])
  },
  'a list of guests that names it is refused': async (t, { app, call }, { other }) => {
    const body = { ospiti: [guestNo(9)], prenotazione: { id: other, check_in: yesterday, numero_notti: 3 } }
    t.match((await call('POST', '/api/alloggiati/invio', body)).json(), { codice: 'PRENOTAZIONE_NON_CONFERMATA' })
    t.same(await app.sql`select from invii`, [])
  },
  'once confirmed again it is due and can be sent': async (t, server, { kept, other }) => {
    await put(server, other, { stato: 'confermata' })
    t.same(await missing(server), [kept, other])
    t.match((await send(server, other)).json(), { success: true })
  },
  'arrivals and departures of the dashboard do not count it': async (t, server, { kept, other }) => {
    for (const id of [kept, other]) await put(server, id, { check_in: today, check_out: addDays(today, 1) })
    t.match(await get(server, '/api/widget/data'), { todayArrivals: 1, nextGuest: 'Anna Bianchi' })
    clock.set(`${addDays(today, 1)}T12:00:00Z`)
    t.match(await get(server, '/api/widget/data'), { todayArrivals: 0, todayDepartures: 1, nextGuest: '' })
    clock.set(`${today}T12:00:00Z`)
  },
  'it can be deleted as before': async (t, { call }, { other }) => {
    t.match((await call('POST', `${BOOKINGS}/delete-bulk`, { ids: [other] })).json(), { deleted: [other] })
  },
  'the same guests in a new booking can be sent': async (t, server, _, stato) => {
    const again = await booked(server, 2, due)
    t.match((await send(server, again)).json(), { success: true }, stato)
  }
}

for (const stato of ['annullata', 'non_presentato'] as const) {
  t.test(`a booking that is ${stato} needs no schedine, frees its days and keeps its history`, async (t) => {
    for (const [title, guarantee] of Object.entries(GUARANTEES)) {
      await t.test(title, async (t) => {
        const server = await emptied(shared)
        const [kept, other] = [await booked(server, 1, due), await booked(server, 2, due)]
        const changed = await put(server, other, { stato })
        t.match(changed.json(), { data: { id: other, stato }, status: 200 })
        await guarantee(t, server, { kept, other }, stato)
      })
    }
  })
}

t.test('a booking whose guests were sent can be cancelled, and the ledger keeps the submission', async (t) => {
  const server = await emptied(shared)
  const id = await booked(server, 1)
  const { ricevuta } = (await send(server, id)).json()
  t.equal((await put(server, id, { stato: 'annullata' })).statusCode, 200)
  t.match(await get(server, `/api/v1/invii?prenotazione_id=${id}`), { data: [{ ricevuta, stato: 'acquisito' }] })
  t.match((await send(server, id)).json(), { status: 409, codice: 'PRENOTAZIONE_NON_CONFERMATA' })
  t.same(await missing(server), [])
  // The police already have the guests of the cancelled booking, who return with a new booking.
  const again = await booked(server, 1)
  t.same(await day(server, { prova: true }), [[again, 'gia_inviata']])
  t.match((await send(server, again)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  await put(server, id, { stato: 'confermata' })
  t.match(await day(server, { prova: true }), [[id, 'gia_inviata'], [again, 'da_confermare']])
})

t.test('a state that does not exist is refused in a change, a creation, the list and the calendar', async (t) => {
  const server = await emptied(shared)
  const id = await booked(server, 1)
  for (const stato of ['cancellata', 1]) {
    t.same(fieldsAtFault(await put(server, id, { stato })), ['stato'])
    t.same(fieldsAtFault(await server.call('POST', BOOKINGS, booking({ stato }))), ['stato'])
  }
  await put(server, id, { stato: 'Annullata' })
  for (const stato of ['', null]) t.match((await put(server, id, { stato })).json(), { data: { stato: 'annullata' } })
  for (const path of [BOOKINGS, CALENDAR]) {
    t.same(fieldsAtFault(await server.call('GET', `${path}?stato=cancellata`)), ['stato'])
  }
  t.match(await create(server.call, { stato: 'annullata' }), { stato: 'annullata' }, 'an import of past bookings')
})
