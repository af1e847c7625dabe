import t, { type Test } from 'tap'
import type { GiornataResponse } from '#schemas/giornata.ts'
import type { CrossCheckResponse } from '#schemas/receipts.ts'
import { decode } from '#src/alloggiati/codec/codec.ts'
import { filingDeadline } from '#src/alloggiati/deadlines.ts'
import { addDays, italianDay, type Day } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { administrator, INVII } from '#test/alloggiati/ledger/administrator.ts'
import { member } from '#test/alloggiati/rules/samples.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { guestNo } from '#test/alloggiati/stand-in.ts'
import { BOOKINGS, create, fieldsAtFault, read, saveGuests } from '#test/bookings/samples.ts'
import { build, type TestApp } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

/* A guest who stays longer is declared again, and guests of one booking arrive and depart on their own days. */

const first = '2026-11-28'
const clock = clockAt(`${first}T12:00:00Z`)
/** The shared server, which `desk` resets. */
const shared = await build(t, {}, undefined, { clock })
const at = (day: Day) => clock.set(`${day}T12:00:00Z`)
/** The day `n` days after the first. */
const on = (n: number) => addDays(first, n)

interface Desk {
  id: number
  send (body?: object): Promise<Record<string, unknown> & { statusCode: number }>
  put (change: object): Promise<number>
  /** The lines of the bookings in the list of a day, with state and first night. */
  day (data: Day, more?: object): Promise<GiornataResponse['prenotazioni']>
  prolonged (): Promise<CrossCheckResponse['proroghe']>
  missing (): Promise<CrossCheckResponse['mancanti']>
  /** `day+nights` of each line that the police has, in order. */
  lines (): Promise<string[]>
  alarmed (): Promise<unknown[]>
  server: TestApp
}

async function desk (guests: readonly object[], changes: object): Promise<Desk> {
  at(first)
  const server = await emptied(shared)
  const { call } = server
  const { id } = await create(call, { check_in: first, numero_notti: 1, numero_ospiti: guests.length, ...changes })
  const saved = await saveGuests(call, id, [...guests])
  if (saved.statusCode !== 200) throw new Error(saved.body)
  const verified = async () => (await call('GET', '/api/alloggiati/verifica-ricevute')).json<CrossCheckResponse>()
  return {
    id,
    server,
    async send (body) {
      const answered = await call('POST', `${BOOKINGS}/${id}/invio`, body)
      return { ...answered.json<object>(), statusCode: answered.statusCode }
    },
    put: async (change) => (await call('PUT', `${BOOKINGS}/${id}`, change)).statusCode,
    async day (data, more = { prova: true }) {
      const answered = await call('POST', '/api/v1/invii/giornata', { data, ...more })
      return answered.json<GiornataResponse>().prenotazioni
    },
    prolonged: async () => (await verified()).proroghe,
    missing: async () => (await verified()).mancanti,
    async lines () {
      const { data } = (await call('GET', '/api/alloggiati/sandbox/schedine')).json<{ data: { riga: string }[] }>()
      return data.map(({ riga }) => {
        const decoded = decode(riga)
        if (!('record' in decoded)) throw new Error(riga)
        const { data_arrivo, permanenza, tipo_alloggiato } = decoded.record
        return `${data_arrivo}+${permanenza}${tipo_alloggiato === '16' ? '' : ` ${tipo_alloggiato}`}`
      })
    },
    async alarmed () {
      server.logs.length = 0
      await runJob(server, 'ledger-alarms')
      return server.logs.flatMap(({ prenotazione, ospiti_mancanti }) => prenotazione ? ospiti_mancanti : [])
    }
  }
}

const one = [guestNo(1)]

/** A prolonged stay: the nights sent at the arrival, the whole stay, the day, and the nights due on it. */
interface Prolonged {
  title: string
  sent: number
  nights: number
  today: number
  /** The day that `dal` must name, counted from the first. Undefined when nothing is due. */
  due?: number
  /** The number of nights on the second line. */
  declared?: number
  /** Days that must be refused. */
  refused?: number[]
  /** The first undeclared night, if it is too late to send it. */
  lost?: number
}

const PROLONGED: Prolonged[] = [
  { title: 'one night becomes four', sent: 1, nights: 4, today: 1, due: 1, declared: 3, refused: [0, 2] },
  { title: 'the same, a day later', sent: 1, nights: 4, today: 2, due: 1, declared: 3, refused: [0, 2, 3] },
  { title: 'two days later the first night is lost', sent: 1, nights: 4, today: 3, due: 2, declared: 2, lost: 1 },
  { title: '20 nights become 45, on day 20', sent: 20, nights: 45, today: 20, due: 20, declared: 25, refused: [0, 30] },
  { title: '20 nights, 45 on day 21', sent: 20, nights: 45, today: 21, due: 20, declared: 25, refused: [21, 30] },
  { title: '20 nights, 45 on day 30', sent: 20, nights: 45, today: 30, due: 29, declared: 16, refused: [30], lost: 20 },
  { title: '45 nights from the start', sent: 45, nights: 45, today: 30, due: 30, declared: 15, refused: [0, 29, 31] },
  { title: '60 nights, on day 31', sent: 60, nights: 60, today: 31, due: 30, declared: 30, refused: [31, 60] },
  { title: '90 nights', sent: 90, nights: 90, today: 30, due: 30, declared: 30, refused: [60] },
  { title: 'a night longer than 30', sent: 30, nights: 31, today: 30, due: 30, declared: 1 },
  { title: 'not longer', sent: 3, nights: 3, today: 1 },
  { title: 'longer, but not yet begun', sent: 3, nights: 9, today: 2 },
  { title: 'shorter', sent: 5, nights: 2, today: 1 }
]

t.test('undeclared nights that have begun are due, and dal must name the first that can be sent', async (t) => {
  for (const { title, sent, nights, today, due, declared, refused = [], lost } of PROLONGED) {
    await t.test(title, async (t) => {
      const { id, send, put, day, prolonged, lines, alarmed, server } = await desk(one, { numero_notti: sent })
      t.equal((await send()).statusCode, 200)
      t.equal(await put({ check_out: on(nights) }), 200)
      at(on(today))
      if (due === undefined) {
        t.same(await prolonged(), [])
        t.same(await day(on(today)), [])
        t.same(await alarmed(), [])
        return
      }
      const line = { prenotazione_id: id, check_in: first, dal: on(lost ?? due), ospiti_mancanti: 1 }
      t.match(await prolonged(), [line])
      t.match(await day(on(due)), [{ prenotazione_id: id, stato: 'pronta', dal: on(due), ospiti: 1, numero_ospiti: 1 }])
      const instruction = `: inviare la giornata del ${italianDay(on(due))} `
      const overdueText = new RegExp(lost === undefined ? instruction : ', e il servizio non le accetta più')
      const errors = [{ campo: 'dal', messaggio: overdueText }]
      const overdue = { prenotazione_id: id, stato: 'incompleta', dal: on(lost ?? due), errors }
      if (due < today) t.match(await day(on(today)), [overdue], 'nights before today do not vanish')
      clock.set(`${on(due + 1)}T12:45:00Z`)
      t.same(await alarmed(), [1])
      at(on(today))
      for (const dal of refused) {
        const only = `può essere soltanto ${italianDay(on(due))} (ricevuto «${on(dal)}»)`
        const fault = { campo: 'dal', messaggio: only, proposta: on(due) }
        t.match(await send({ dal: on(dal) }), { statusCode: 400, dettagli: [fault] })
      }
      const messaggio = new RegExp(`"${on(due)}"$`)
      t.match(await send(), { statusCode: 400, dettagli: [{ campo: 'dal', messaggio, proposta: on(due) }] })
      t.equal((await send({ dal: on(due) })).statusCode, 200)
      t.same(await lines(), [`${first}+${Math.min(sent, 30)}`, `${on(due)}+${declared}`])
      t.match(await send({ dal: on(due) }), { statusCode: nights > due + declared! ? 400 : 409 }, 'not twice')
      t.match(await day(on(due), {}), [{ stato: 'gia_inviata', dal: on(due) }])
      if (lost === undefined) t.same(await prolonged(), [])
      t.same(await alarmed(), [])
      t.equal((await server.app.sql`select from sandbox_schedine`).length, 2)
    })
  }
})

t.test('a prolonged stay that was sent again waits for the receipt of that day', async (t) => {
  const { id, send, put, server: { call } } = await desk([guestNo(1), guestNo(2)], {})
  const verified = async () => (await call('GET', '/api/alloggiati/verifica-ricevute')).json<CrossCheckResponse>()
  await send()
  await put({ check_out: on(4) })
  at(on(1))
  t.match(await verified(), { in_attesa: [], proroghe: [{ dal: on(1), ospiti_mancanti: 2 }] })
  await send({ dal: on(1) })
  const line = {
    prenotazione_id: id,
    check_in: first,
    ospiti_mancanti: 2,
    giorno: on(1),
    motivo: 'non_ancora_emessa',
    scadenza: filingDeadline(on(1), 3).toISOString()
  }
  t.match(await verified(), { mancanti: [], in_attesa: [line], proroghe: [], totale_ricevute: 1 })
  at(on(2))
  t.match(await verified(), { mancanti: [], in_attesa: [], proroghe: [], totale_ricevute: 1 })
})

t.test('the list of the day sends arrivals and prolonged stays together', async (t) => {
  const { id, send, put, day, lines } = await desk([days(1, null), days(2, null)], {})
  await send()
  await put({ check_out: on(3) })
  at(on(1))
  t.match(await day(on(1), {}), [{ prenotazione_id: id, stato: 'acquisita', dal: on(1), ospiti: 2 }])
  t.same((await lines()).slice(-2), [`${on(1)}+2 17`, `${on(1)}+2 19`])
  t.match(await day(on(1), {}), [{ stato: 'gia_inviata' }])
  t.equal((await lines()).length, 4)
})

const days = (n: number, arrivo: number | null, partenza: number | null = null, more: object = {}) => guestNo(n, {
  ...more,
  tipo_alloggiato: null,
  arrivo: arrivo === null ? null : on(arrivo),
  partenza: partenza === null ? null : on(partenza)
} as object)
const child = (nome: string, more: object) => ({
  ...member('19', nome, { tipo_documento: 'IDELE', numero_documento: `CA${nome}`, luogo_rilascio: '412058091' }),
  ...more
})

/** Guests of a booking of four nights, and the lines after the Send of each day. */
interface Own { title: string, guests: object[], numero_ospiti?: number, lines: string[][] }

const OWN: Own[] = [
  { title: 'a later arrival', guests: [days(1, null), days(2, 1)], lines: [[`${first}+4`], [`${on(1)}+3`]] },
  {
    title: 'an earlier departure',
    guests: [days(1, null), days(2, null, 2)],
    lines: [[`${first}+4 17`, `${first}+2 19`]]
  },
  { title: 'both', guests: [days(1, null), days(2, 1, 3)], lines: [[`${first}+4`], [`${on(1)}+2`]] },
  {
    title: 'a replacement',
    guests: [days(1, null, 2), days(2, 2)],
    numero_ospiti: 1,
    lines: [[`${first}+2`], [], [`${on(2)}+2`]]
  },
  {
    title: 'two replacements in a row',
    guests: [days(1, null, 1), days(2, 1, 2), days(3, 2)],
    numero_ospiti: 1,
    lines: [[`${first}+1`], [`${on(1)}+1`], [`${on(2)}+2`]]
  },
  { title: 'the leader arrives later', guests: [days(1, 1), days(2, null)], lines: [[`${first}+4`], [`${on(1)}+3`]] },
  {
    title: 'a leader with one of two members',
    guests: [days(1, null), days(2, null), days(3, 2)],
    lines: [[`${first}+4 17`, `${first}+4 19`], [], [`${on(2)}+2`]]
  },
  {
    title: 'two who arrive later together',
    guests: [guestNo(1, { tipo_alloggiato: '16' }), days(2, 1), days(3, 1)],
    lines: [[`${first}+4`], [`${on(1)}+3 17`, `${on(1)}+3 19`]]
  },
  { title: 'all later', guests: [days(1, 1), days(2, 1)], lines: [[], [`${on(1)}+3 17`, `${on(1)}+3 19`]] },
  {
    title: 'each on a day',
    guests: [days(1, null), days(2, 1), days(3, 2), days(4, 3)],
    lines: [[`${first}+4`], [`${on(1)}+3`], [`${on(2)}+2`], [`${on(3)}+1`]]
  },
  { title: 'the days of the booking', guests: [days(1, 0, 4)], lines: [[`${first}+4`]] },
  {
    title: 'a stored family',
    guests: [guestNo(1, { tipo_alloggiato: '17' }), child('ANNA', {}), child('UGO', { arrivo: on(1) })],
    lines: [[`${first}+4 17`, `${first}+4 19`], [`${on(1)}+3`]]
  }
]

async function ownDays (
  t: Test, { guests, numero_ospiti = guests.length, lines }: Own, sendOn: (desk: Desk, day: Day) => Promise<unknown>
): Promise<void> {
  const booked = await desk(guests, { numero_notti: 4, numero_ospiti })
  const all: string[] = []
  const missing = async () => (await booked.missing()).map(({ ospiti_mancanti }) => ospiti_mancanti)
  for (const [n, sent] of lines.entries()) {
    at(on(n))
    t.same(await missing(), sent.length === 0 ? [] : [sent.length], 'those who have arrived')
    await sendOn(booked, on(n))
    t.same(await missing(), [])
    await sendOn(booked, on(n))
    all.push(...sent)
    t.same((await booked.lines()).toSorted(), all.toSorted(), `day ${n}`)
    t.same(await booked.prolonged(), [])
    clock.set(`${on(n + 1)}T12:45:00Z`)
    const late = guests.filter((guest) => (guest as { arrivo?: string }).arrivo === on(n + 1)).length
    t.same(await booked.alarmed(), [], `${late} arrive, with a later deadline`)
  }
}

t.test('the Send of a booking sends guests on their own days, with their own nights', async (t) => {
  for (const own of OWN) {
    await t.test(own.title, (t) => ownDays(t, own, ({ send }) => send({ solo_mancanti: true })))
  }
})

t.test('the list of the day sends guests on their own days', async (t) => {
  for (const own of OWN) await t.test(own.title, (t) => ownDays(t, own, ({ day }, data) => day(data, {})))
})

t.test('a Send names the guests who arrive later, and is refused before the first guest arrives', async (t) => {
  const { send } = await desk([days(1, null), days(2, 1)], { numero_notti: 4 })
  t.match(await send(), {
    statusCode: 200,
    avvisi: [
      { ospite: 0, campo: 'tipo_alloggiato', messaggio: /un altro giorno$/ },
      { ospite: 1, campo: 'arrivo', messaggio: 'Arriva il 29/11/2026: va inviato da quel giorno' }
    ]
  })
  const later = await desk([days(1, 2, 3)], { numero_notti: 4 })
  t.match(await later.send(), { statusCode: 422 })
  at(on(2))
  const scadenza = filingDeadline(on(2), 1).toISOString()
  t.match(await later.missing(), [{ scadenza }], 'the deadline counts from the own arrival')
})

t.test('a prolonged stay is due only for the guests who stay', async (t) => {
  const { send, put, prolonged, lines } = await desk([days(1, null), days(2, null, 1)], { numero_notti: 1 })
  await send()
  await put({ check_out: on(3) })
  at(on(1))
  t.match(await prolonged(), [{ dal: on(1), ospiti_mancanti: 1 }])
  t.equal((await send({ dal: on(1) })).statusCode, 200)
  t.same((await lines()).at(-1), `${on(1)}+2`)
})

t.test('a member who stays when the leader has left needs a document, and every response says why', async (t) => {
  const left = [guestNo(1, { tipo_alloggiato: '17', partenza: on(1) }), member('19', 'ANNA')]
  const { id, send, put, day, server: { call } } = await desk(left, { numero_notti: 1 })
  await send()
  await put({ check_out: on(3) })
  at(on(1))
  const messaggio = /\. Comunicato come ospite singolo \(16\): il capo è già partito, .*: inserire il documento/
  const errors = ['tipo_documento', 'numero_documento', 'luogo_rilascio'].map((campo) => ({ campo, messaggio }))
  t.match(await send({ dal: on(1) }), { statusCode: 422, errors })
  t.match((await call('POST', `${BOOKINGS}/${id}/schedine`, { dal: on(1) })).json(), { valid: false, errors })
  t.match(await day(on(1)), [{ stato: 'incompleta', errors: errors.map((each) => ({ ...each, ospite: 1 })) }])
  const list = { ospiti: [member('19', 'ANNA')], prenotazione: { check_in: on(1), numero_notti: 2 } }
  const direct = (await call('POST', '/api/alloggiati/invio', list)).json()
  t.match(direct, { errors: [{ messaggio: /o è partito, .*\(16\)/ }] })
})

/** Guests who were sent before their days were corrected, and days on which they are due. */
const ONE_DEADLINE: [title: string, guest: object, corrected: object, numero_notti: number, today: number][] = [
  ['an arrival that was corrected', days(1, null, 1), days(1, 1), 3, 2],
  ['an arrival on the day before the 31st night', days(1, 29), days(1, 29), 40, 30]
]

t.test('a guest whose arrival is due is not due for later nights, in any list', async (t) => {
  for (const [title, guest, corrected, numero_notti, today] of ONE_DEADLINE) {
    const { id, send, missing, prolonged, alarmed, server: { call } } = await desk([guest], { numero_notti })
    await send()
    t.equal((await saveGuests(call, id, [corrected])).statusCode, 200)
    at(on(today))
    t.match(await missing(), [{ ospiti_mancanti: 1 }], title)
    t.same(await prolonged(), [], title)
    clock.set(`${on(today)}T12:45:00Z`)
    t.same(await alarmed(), [1], title)
    clock.set(`${on(today + 1)}T12:45:00Z`)
    t.same(await alarmed(), [], `${title}: no second deadline`)
  }
})

t.test('a list of guests declares no night twice, and a list for later nights needs no confirmation', async (t) => {
  const { id, put, send, server: { call }, lines } = await desk(one, { numero_notti: 2 })
  await send()
  await put({ check_out: on(6) })
  const list = (n: number, numero_notti: number) =>
    call('POST', '/api/alloggiati/invio', { ospiti: one, prenotazione: { id, check_in: on(n), numero_notti } })
  at(on(1))
  t.match((await list(1, 5)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  at(on(2))
  t.match((await list(2, 1)).json(), { success: true })
  t.match((await list(2, 4)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  const messaggio = `può essere soltanto ${italianDay(on(3))}`
  t.match(await send({ dal: on(2) }), { statusCode: 400, dettagli: [{ messaggio }] })
  at(on(3))
  const sends = await Promise.all([send({ dal: on(3) }), send({ dal: on(3) }), list(3, 3)])
  t.same(sends.filter(({ statusCode }) => statusCode === 200).length, 1)
  t.same(await lines(), [`${first}+2`, `${on(2)}+1`, `${on(3)}+3`])
})

t.test('days of a guest outside the stay, or too many guests in a night, are answered with a 400', async (t) => {
  const { id, server: { call } } = await desk(one, { numero_notti: 4, numero_ospiti: 2 })
  const refused: [guests: object[], fields: string[]][] = [
    [[days(1, -1)], ['dati[0].arrivo']],
    [[days(1, 4)], ['dati[0].arrivo']],
    [[days(1, null, 0)], ['dati[0].partenza']],
    [[days(1, null, 5)], ['dati[0].partenza']],
    [[days(1, 2, 2)], ['dati[0].partenza']],
    [[days(1, 3, 1)], ['dati[0].partenza']],
    [[days(1, null), days(2, 9, 10)], ['dati[1].arrivo', 'dati[1].partenza']],
    [[{ ...guestNo(1), arrivo: '2026-11-31' }], ['dati[0].arrivo']],
    [[{ ...guestNo(1), partenza: 'domani' }], ['dati[0].partenza']],
    [[days(1, null), days(2, null), days(3, 3)], ['dati']],
    [[days(1, null, 3), days(2, null), days(3, 2)], ['dati']]
  ]
  for (const [guests, fields] of refused) {
    t.same(fieldsAtFault(await saveGuests(call, id, guests)), fields, JSON.stringify(fields))
  }
  t.equal((await saveGuests(call, id, [days(1, null, 2), days(2, null), days(3, 2)])).statusCode, 200)
  t.match((await read(call, id)).ospiti, [
    { arrivo: null, partenza: on(2) }, { arrivo: null, partenza: null }, { arrivo: on(2), partenza: null }
  ])
  const moves: [change: object, campo: string, guest: RegExp][] = [
    [{ check_in: on(1), check_out: on(2) }, 'check_out', /ospite 3 \(arrivo il 30\/11\/2026\)/],
    [{ check_out: on(2) }, 'check_out', /ospite 3 \(arrivo il 30\/11\/2026\)/],
    [{ numero_notti: 1 }, 'numero_notti', /ospite/],
    [{ check_in: on(2) }, 'check_in', /ospite 1 \(partenza il 30\/11\/2026\)/],
    [{ check_in: on(-3), numero_notti: 4 }, 'numero_notti', /ospite/]
  ]
  for (const [change, campo, messaggio] of moves) {
    const moved = await call('PUT', `${BOOKINGS}/${id}`, change)
    t.match(moved.json(), { status: 400, dettagli: [{ campo, messaggio }] }, JSON.stringify(change))
  }
  t.equal((await call('PUT', `${BOOKINGS}/${id}`, { check_out: on(9) })).statusCode, 200)
})

t.test('a guest whose own arrival was corrected after the Send is sent again only after a confirmation', async (t) => {
  const { id, put, send, day, missing, prolonged, lines, server: { call } } = await desk([days(1, null)], {})
  await send()
  await put({ check_out: on(4) })
  await saveGuests(call, id, [days(1, 2)])
  at(on(2))
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
  const list = { ospiti: one, prenotazione: { id, check_in: on(2), numero_notti: 2 } }
  const refused = { statusCode: 409, codice: 'SCHEDINE_GIA_INVIATE' }
  t.match(await send(), { ...refused, error: /con l’arrivo del 28\/11\/2026/ })
  t.match(await send({ dal: on(2) }), refused)
  t.match(await send({ solo_mancanti: true }), refused)
  t.match((await call('POST', '/api/alloggiati/invio', list)).json(), { status: 409, codice: refused.codice })
  for (const prova of [true, false]) t.match(await day(on(2), { prova }), [{ stato: 'da_confermare', dal: on(2) }])
  t.same(await lines(), [`${first}+1`])
  t.equal((await send({ confermo_diverso: true, motivo: 'arrivo corretto' })).statusCode, 200)
  t.match(await day(on(2), {}), [{ stato: 'gia_inviata' }])
  await put({ check_out: on(6) })
  at(on(4))
  t.equal((await send({ dal: on(4) })).statusCode, 200, 'confirmed once')
  t.same(await lines(), [`${first}+1`, `${on(2)}+2`, `${on(4)}+2`])
  t.same([...await missing(), ...await prolonged()], [])
})

t.test('later nights of one guest never fill the place of another, saved or not', async (t) => {
  for (const more of [[], [days(2, null)]]) {
    const { id, put, send, missing, alarmed, server: { call } } = await desk([days(1, null)], { numero_ospiti: 2 })
    await send()
    await saveGuests(call, id, [days(1, null), ...more])
    await put({ check_out: on(3) })
    at(on(1))
    t.equal((await send({ dal: on(1) })).statusCode, 200)
    t.match(await missing(), [{ ospiti_mancanti: 1 }])
    t.same(await alarmed(), [1])
  }
})

t.test('a guest who was corrected after the Send is sent from another day only after a confirmation', async (t) => {
  const { id, send, lines, server: { call } } = await desk([days(1, null)], { numero_notti: 4, numero_ospiti: 2 })
  await send()
  await saveGuests(call, id, [days(9, 1)])
  at(on(1))
  t.match(await send(), { statusCode: 409, codice: 'OSPITI_CAMBIATI' })
  t.same(await lines(), [`${first}+4`])
})

t.test('a row that begins before its guest\'s corrected arrival counts after a correction is requested', async (t) => {
  const two = { numero_notti: 4, numero_ospiti: 2 }
  const { id, put, send, missing, server: { call } } = await desk([days(1, null)], two)
  await send()
  await saveGuests(call, id, [days(1, 1), days(2, null)])
  at(on(1))
  t.match(await missing(), [{ ospiti_mancanti: 2 }])
  await call('POST', '/api/v1/invii/1/correzione', { motivo: 'arrivo sbagliato' })
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
  await put({ check_out: on(5) })
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
})

t.test('a guest whose name and document were corrected is due from the first night that no row declares', async (t) => {
  const booked = await desk(one, { numero_notti: 3 })
  const { id, put, send, day, prolonged, missing, alarmed, lines, server: { call } } = booked
  await send()
  await saveGuests(call, id, [guestNo(9)])
  await put({ check_out: on(6) })
  at(on(1))
  t.same(await prolonged(), [])
  t.same(await day(on(1)), [])
  t.match(await missing(), [{ check_in: first, ospiti_mancanti: 1 }])
  clock.set(`${on(2)}T12:45:00Z`)
  t.same(await alarmed(), [])
  at(on(3))
  t.match(await prolonged(), [{ dal: on(3), ospiti_mancanti: 1 }])
  t.same(await missing(), [])
  t.match(await day(on(3)), [{ stato: 'pronta', dal: on(3), ospiti: 1, numero_ospiti: 1 }])
  clock.set(`${on(4)}T12:45:00Z`)
  t.same(await alarmed(), [1])
  t.match(await send({ dal: on(4) }), { dettagli: [{ messaggio: `può essere soltanto ${italianDay(on(3))}` }] })
  t.match(await send(), { statusCode: 400, dettagli: [{ messaggio: new RegExp(`"${on(3)}"$`) }] })
  t.equal((await send({ dal: on(3) })).statusCode, 200)
  t.same(await lines(), [`${first}+3`, `${on(3)}+3`])
  t.same([...await prolonged(), ...await alarmed()], [])
})

t.test('nights declared by certified mail are not listed as missing, and cannot be declared twice', async (t) => {
  const { id, send, put, day, missing, prolonged, alarmed, server } = await desk(one, {})
  const { admin } = administrator(server)
  const filed = { motivo: 'Proroga trovata tardi', protocollo: 'PEC 4711' }
  const record = (check_in: Day, numero_notti: number, more: object = {}) => admin('POST', `${INVII}/deposito`, {
    ospiti: one, prenotazione: { id, check_in, numero_notti }, ...filed, ...more
  })
  await send()
  await put({ check_out: on(4) })
  at(on(3))
  t.match(await day(on(3)), [{ stato: 'incompleta', dal: on(1), ospiti: 1, numero_ospiti: 1, errors: [{ ospite: 0 }] }])
  const wayOn = /file per la PEC .*deposito\)\. Per le notti dal 30\/11\/2026 inviare la giornata/
  t.match((await day(on(3)))[0]!.errors[0]!.messaggio, wayOn)
  t.equal((await send({ dal: on(2) })).statusCode, 200)
  t.match(await day(on(3)), [{ stato: 'incompleta', dal: on(1) }], 'the lost night is still to be filed')
  const unauthorized = await server.call('POST', `${INVII}/deposito`, {})
  t.equal(unauthorized.statusCode, 403)
  t.match((await record(on(1), 1, { protocollo: ' ' })).json(), { status: 400, dettagli: [{ campo: 'protocollo' }] })
  t.match((await record(on(-28), 1)).json(), { status: 422, codice: 'VALIDAZIONE' }, 'certified mail is limited too')
  t.match((await record(on(1), 2)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' }, 'night 2 is declared')
  const recorded = await record(on(1), 1)
  t.match(recorded.json(), {
    status: 201,
    message: '1 schedina registrata come comunicata per altra via',
    data: { stato: 'depositato_altrove', metodo: 'PEC', decisioni: [{ decisione: 'depositato', ...filed }] }
  })
  t.equal(recorded.headers.location, `${INVII}/${recorded.json<{ data: { id: number } }>().data.id}`)
  t.same([...await day(on(3)), ...await missing(), ...await prolonged(), ...await alarmed()], [])
  t.match((await record(on(1), 1)).json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  t.match((await admin('GET', `${INVII}/verifica`)).json(), { integra: true })
})

t.test('an arrival declared by certified mail is not listed as missing', async (t) => {
  const { id, send, missing, alarmed, day, server } = await desk([guestNo(1), guestNo(2)], { numero_notti: 4 })
  at(on(1))
  t.match(await missing(), [{ ospiti_mancanti: 2 }])
  const recorded = await administrator(server).admin('POST', `${INVII}/deposito`, {
    ospiti: [guestNo(1), guestNo(2)],
    soggiorno: { id, check_in: first, numero_notti: 4 },
    motivo: 'Servizio non raggiungibile',
    protocollo: 'PEC 4712'
  })
  t.equal(recorded.statusCode, 201)
  t.same([...await missing(), ...await alarmed()], [])
  t.match(await day(first), [{ stato: 'gia_inviata' }])
  t.match(await send({ solo_mancanti: true }), { statusCode: 409, codice: 'NULLA_DA_INVIARE' })
})

t.test('a guest who stays longer, with a replaced name and document, is missing only once', async (t) => {
  const { id, put, send, prolonged, missing, alarmed, server: { call } } = await desk(one, {})
  await send()
  await saveGuests(call, id, [guestNo(9)])
  await put({ check_out: on(4) })
  t.match(await missing(), [{ ospiti_mancanti: 1 }], 'before the stay is prolonged')
  clock.set(`${on(1)}T19:00:00Z`)
  t.match(await prolonged(), [{ dal: on(1), ospiti_mancanti: 1 }])
  t.same([...await missing(), ...await alarmed()], [])
})

t.test('a row of an unsaved guest never declares a night of a saved one', async (t) => {
  const { id, put, prolonged, missing, server: { call } } = await desk(one, { numero_ospiti: 2 })
  const list = { ospiti: [guestNo(9)], prenotazione: { id, check_in: first, numero_notti: 1 } }
  t.equal((await call('POST', '/api/alloggiati/invio', list)).statusCode, 200)
  await put({ check_out: on(3) })
  at(on(1))
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
  t.match(await prolonged(), [{ dal: on(1), ospiti_mancanti: 1 }])
})

t.test('a guest who replaces another has the same place, so an unsaved guest is still due', async (t) => {
  const guests = [days(1, null), days(2, null, 2), days(3, 2)]
  const { send, day, missing, alarmed, prolonged } = await desk(guests, { numero_notti: 4, numero_ospiti: 3 })
  t.match(await missing(), [{ ospiti_mancanti: 3 }])
  t.match(await day(first), [{ stato: 'incompleta', ospiti: 2, numero_ospiti: 3 }])
  await send()
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
  clock.set(`${on(1)}T12:45:00Z`)
  t.same(await alarmed(), [1])
  at(on(2))
  t.match(await missing(), [{ ospiti_mancanti: 2 }])
  t.match(await send({ solo_mancanti: true }), { statusCode: 200 })
  t.match(await missing(), [{ ospiti_mancanti: 1 }])
  t.match(await send({ solo_mancanti: true }), { codice: 'NULLA_DA_INVIARE', error: /1 altro ospite non è ancora salvato/ })
  t.same(await prolonged(), [])
})

t.test('a Send counts the guests of the night, not the rows of a guest', async (t) => {
  const { put, send } = await desk(one, { numero_ospiti: 2 })
  const messaggio = /^1 ospite su 2 della prenotazione: l’altro va inviato entro /
  t.match(await send(), { avvisi: [{ campo: 'ospiti', messaggio }] })
  await put({ check_out: on(3) })
  at(on(1))
  t.match(await send({ dal: on(1) }), { avvisi: [{ campo: 'ospiti', messaggio }] })
})

t.test('a guest sent with two arrivals counts once, and the place of the other guest stays free', async (t) => {
  const { id, put, send, day, lines, server: { call } } = await desk(one, { numero_notti: 2, numero_ospiti: 2 })
  await send()
  await put({ check_in: on(1), check_out: on(3) })
  at(on(1))
  await saveGuests(call, id, [guestNo(1), guestNo(2)])
  t.match((await day(on(1)))[0]!.errors.map(({ messaggio }) => messaggio), [/^Già inviata con l’arrivo del 28\/11\/2026/])
  await saveGuests(call, id, one)
  t.match(await send({ confermo_diverso: true, motivo: 'booking moved' }), { statusCode: 200 })
  await saveGuests(call, id, [guestNo(1), guestNo(2)])
  t.match(await day(on(1)), [{ stato: 'parziale', errors: [{ ospite: 1, messaggio: /solo_mancanti/ }] }])
  t.equal((await send({ solo_mancanti: true })).statusCode, 200)
  t.same(await lines(), [`${first}+2`, `${on(1)}+2`, `${on(1)}+2`])
})

t.test('a repeated key names the guests of a line by their places in the booking', async (t) => {
  const { server: { app, call }, ...booked } = await desk([days(1, 1), days(2, null)], { numero_notti: 4 })
  const ask = async (data: Day, key: string) => (await call('POST', '/api/v1/invii/giornata', { data },
    { 'idempotency-key': key })).json<GiornataResponse>().prenotazioni
  const unanswered = () =>
    app.sql`update idempotency_keys set status = null, body = null, headers = '{"claim":"interrotta"}'`
  const sent = await ask(first, 'first')
  t.match(sent, [{ stato: 'acquisita', ospiti: 1, numero_ospiti: 1, schedine: [{ ospite: 1 }] }])
  await unanswered()
  t.same(await ask(first, 'first'), sent)
  at(on(1))
  const later = await ask(on(1), 'later')
  t.match(later, [{ dal: on(1), ospiti: 1, schedine: [{ ospite: 0 }] }])
  await unanswered()
  t.same(await ask(on(1), 'later'), later)
  t.equal((await booked.lines()).length, 2)
})

t.test('the check of a booking names later guests, its state, and a future night', async (t) => {
  const { id, send, put, server: { call } } = await desk(
    [guestNo(1), { ...guestNo(2), arrivo: on(1) }], { numero_notti: 3 }
  )
  const check = async (body = {}) => (await call('POST', `${BOOKINGS}/${id}/schedine`, body)).json()
  const later = { ospite: 1, campo: 'arrivo', messaggio: 'Arriva il 29/11/2026: va inviato da quel giorno' }
  t.match((await check()), { valid: true, errors: [], warnings: [later] })
  for (const stato of ['annullata', 'non_presentato']) {
    await put({ stato })
    t.match(await check(), { valid: false, errors: [{ ospite: 0, campo: 'stato', messaggio: /riportarla a «confermata»/ }] })
  }
  await put({ stato: 'confermata' })
  t.equal((await send()).statusCode, 200)
  const tomorrow = /^La data di arrivo deve essere oggi .*da quel giorno: inviare allora$/
  t.match(await check({ dal: on(1) }), { valid: false, errors: [{ campo: 'dal', messaggio: tomorrow }] })
  t.match(await send({ dal: on(1) }), { statusCode: 422, errors: [{ campo: 'dal', messaggio: tomorrow }] })
})

t.test('guests who were sent in time cause no warning to declare them by certified mail', async (t) => {
  const { id, send, put, server: { call } } = await desk([guestNo(1), guestNo(2)], { numero_notti: 9 })
  t.equal((await send()).statusCode, 200)
  at(on(3))
  const nothing = /^Nulla da inviare: tutti gli ospiti salvati/
  const check = async () => (await call('POST', `${BOOKINGS}/${id}/schedine`)).json<{ errors: object[] }>().errors
  t.match(await send(), { statusCode: 409, codice: 'NULLA_DA_INVIARE', error: nothing })
  t.match(await check(), [{ campo: 'check_in', messaggio: nothing }])
  await put({ check_out: on(12) })
  t.match(await send(), { statusCode: 409, codice: 'NULLA_DA_INVIARE' })
})
