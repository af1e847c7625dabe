import t from 'tap'
import { dueReceipts } from '#src/alloggiati/receipts/due-receipts.ts'
import type { PoliceService } from '#src/alloggiati/service/police-service.ts'
import { drawReceipt } from '#src/alloggiati/service/sandbox/receipt.ts'
import { addDays, instantInRome, type Day } from '#src/lib/time.ts'
import { emptied } from '#test/alloggiati/emptied.ts'
import { clockAt } from '#test/alloggiati/service/sandbox/client.ts'
import { plainResponse } from '#test/alloggiati/service/soap/calls.ts'
import { respond, response, type Behaviour } from '#test/alloggiati/service/soap/server.ts'
import { envelope } from '#test/alloggiati/service/soap/xml.ts'
import {
  CREDENTIALS, guestNo, held, productionEnviron, refusalReply, standIn, until, type StandIn
} from '#test/alloggiati/stand-in.ts'
import { create, saveGuests } from '#test/bookings/samples.ts'
import { testClock } from '#test/clock.ts'
import { build, type TestApp } from '#test/helper.ts'
import { runJob } from '#test/run-job.ts'

const police = await standIn(t)
const clock = clockAt(testClock().now().toISOString())
const server = await build(t, productionEnviron(police), undefined, { clock })

/** Each case has its own days, because a server remembers failed fetches. */
let sending: Day = testClock().today()

const issued = (pdf: Buffer) => response(plainResponse('Ricevuta')
  .replace('</RicevutaResponse>', `<PDF>${pdf.toString('base64')}</PDF></RicevutaResponse>`))
const counting = async (schedine: number, notti = 3 * schedine) =>
  issued(await drawReceipt('RM000001', sending, { schedine, notti, numero: 1 }))
const PDF = await counting(1)
const UNREADABLE = issued(Buffer.from('%PDF-1.4'))
const refusal = (words: string) => response(refusalReply('Ricevuta', words))
const NONE = refusal('ERRORE_RECUPERO_RICEVUTA')
const RESET: Behaviour = (socket) => { socket.resetAndDestroy() }
const REFUSED_LOGIN = response(envelope(
  '<GenerateTokenResponse xmlns="AlloggiatiService"><result><esito>false</esito>' +
  '<ErroreCod>100</ErroreCod><ErroreDes>AUTENTICAZIONE_FALLITA</ErroreDes></result></GenerateTokenResponse>'))

/** Moves the clock to an Italian time, this number of days after the Send. */
const at = (days: number, hour: number, minute = 0) => {
  clock.set(instantInRome(addDays(sending, days), hour, minute).toISOString())
}

/** A booking on a new day. `sent` of its guests are sent at noon. */
async function booked (guests = 1, sent = guests): Promise<number> {
  await emptied(server, police)
  sending = addDays(sending, 40)
  at(0, 12)
  const { id } = await create(server.call, { nome_cognome: 'Anna Bianchi', check_in: sending, numero_ospiti: guests })
  if (sent > 0) await send(id, sent)
  return id
}

async function send (id: number, guests: number): Promise<void> {
  await server.call('POST', '/api/alloggiati/invio', {
    ospiti: Array.from({ length: guests }, (_, n) => guestNo(n + 1)),
    prenotazione: { id, check_in: sending, numero_notti: 3 }
  })
}

async function verified ({ call }: Pick<TestApp, 'call'> = server) {
  const reply = await call('GET', '/api/alloggiati/verifica-ricevute')
  if (reply.statusCode !== 200) throw new Error(reply.body)
  const { mancanti, in_attesa, totale_ricevute } = reply.json()
  return { mancanti, in_attesa, totale_ricevute }
}

/** The state of the sent bookings in the day's list. */
async function dayState (): Promise<unknown[]> {
  const reply = await server.call('POST', '/api/v1/invii/giornata', { data: sending, prova: true })
  return reply.json().prenotazioni.map(({ stato }: { stato: string }) => stato)
}

interface Case {
  /** The time, with the number of days after the Send. */
  time: [days: number, hour: number, minute?: number]
  /** The behaviour of the police. By default it has the receipt. */
  police?: (police: StandIn) => unknown
  /** The behaviour of the police at the Send. */
  sending?: Behaviour
  /** The expected reason. Undefined when a receipt covers the booking. */
  motivo?: string
  /** The number of calls of `Ricevuta` during two requests, 1 by default. */
  asked?: number
}

const ricevuta = (behaviour: Behaviour) => ({ on }: StandIn) => { on.Ricevuta = behaviour }
const CASES: Readonly<Record<string, Case>> = {
  'on the same day': { time: [0, 12, 1], motivo: 'non_ancora_emessa', asked: 0 },
  'at midnight': { time: [1, 0], motivo: 'non_ancora_emessa', asked: 0 },
  'a minute before it is due': { time: [1, 0, 14], motivo: 'non_ancora_emessa', asked: 0 },
  'when it is due and issued': { time: [1, 0, 15] },
  'at noon of the next day': { time: [1, 12] },
  'when it counts nobody yet': {
    time: [1, 0, 15], police: ricevuta(await counting(0)), motivo: 'non_ancora_emessa'
  },
  'when it counts other nights': {
    time: [1, 1, 59], police: ricevuta(await counting(1, 2)), motivo: 'non_ancora_emessa'
  },
  'when an early one is unreadable': { time: [1, 1], police: ricevuta(UNREADABLE), motivo: 'non_ancora_emessa' },
  'when a later one is unreadable': { time: [1, 2], police: ricevuta(UNREADABLE) },
  'when its total exceeds a column': { time: [1, 12], police: ricevuta(await counting(99_999_999_999)) },
  'when it is not issued yet': { time: [1, 0, 20], police: ricevuta(NONE), motivo: 'non_ancora_emessa' },
  'when it is not issued after five days': { time: [5, 9], police: ricevuta(NONE), motivo: 'non_ancora_emessa' },
  'when the connection is reset': { time: [1, 0, 20], police: ricevuta(RESET), motivo: 'servizio_non_raggiungibile' },
  'when the service answers with a page': {
    time: [1, 7], police: ricevuta(response('<html>Manutenzione</html>')), motivo: 'servizio_non_raggiungibile'
  },
  'when the service fails': {
    time: [2, 7], police: ricevuta(respond('500 Internal Server Error', '')), motivo: 'servizio_non_raggiungibile'
  },
  'when the service is down': {
    time: [1, 8], police: ({ stop }) => stop(), motivo: 'servizio_non_raggiungibile', asked: 0
  },
  'when the login is refused': {
    time: [1, 8], police: ({ on }) => { on.GenerateToken = REFUSED_LOGIN }, motivo: 'credenziali_rifiutate', asked: 0
  },
  'when the token is refused': {
    time: [1, 8], police: ricevuta(refusal('TOKEN_NON_VALIDO')), motivo: 'credenziali_rifiutate'
  },
  'when a new password has made the WSKEY void': {
    time: [1, 8], police: ricevuta(refusal('WsKey non valida')), motivo: 'credenziali_rifiutate'
  },
  'when the service has deleted it': { time: [32, 9], motivo: 'ricevuta_scaduta', asked: 0 },
  'when the outcome is unknown': {
    time: [1, 0], sending: RESET, motivo: 'esito_sconosciuto', asked: 0
  },
  'when the outcome is unknown and no receipt is issued': {
    time: [1, 9], sending: RESET, police: ricevuta(NONE), motivo: 'esito_sconosciuto'
  }
}

for (const [name, { time, police: misbehave = ricevuta(PDF), sending: reply, motivo, asked = 1 }] of
  Object.entries(CASES)) {
  t.test(`a sent booking is never reported as not sent, with or without its receipt: ${name}`, async (t) => {
    const id = await booked(1, 0)
    if (reply) police.on.Send = reply
    await send(id, 1)
    at(...time)
    police.calls.length = 0
    await misbehave(police)
    const wanted = motivo === undefined
      ? { mancanti: [], in_attesa: [], totale_ricevute: 1 }
      : {
          mancanti: [],
          in_attesa: [{ prenotazione_id: id, check_in: sending, ospiti_mancanti: 1, giorno: sending, motivo }],
          totale_ricevute: 0
        }
    for (const request of ['first', 'second']) t.match(await verified(), wanted, request)
    t.equal(police.callsOf('Ricevuta').length, asked, 'the service is not asked again by the second request')
    t.ok(police.callsOf('GenerateToken').length <= 1, 'the second request does not log in again')
    t.same(await dayState(), [reply ? 'sconosciuta' : 'gia_inviata'])
    if (name === 'when the service is down') await police.start()
  })
}

t.test('guests who were not sent stay missing when others of the booking were sent', async (t) => {
  const id = await booked(4, 3)
  await create(server.call, { nome_cognome: 'Mai Inviata', check_in: sending, numero_ospiti: 2 })
  at(1, 0)
  t.match(await verified(), {
    mancanti: [{ prenotazione_id: id, ospiti_mancanti: 1 }, { nome_cognome: 'Mai Inviata', ospiti_mancanti: 2 }],
    in_attesa: [{ prenotazione_id: id, ospiti_mancanti: 3, motivo: 'non_ancora_emessa' }]
  })
  police.on.Ricevuta = await counting(3)
  at(1, 1)
  t.match(await verified(), {
    mancanti: [{ prenotazione_id: id, ospiti_mancanti: 1 }, { ospiti_mancanti: 2 }], in_attesa: []
  })
})

t.test('sent guests of a cancelled booking wait for the receipt, and are not due', async (t) => {
  for (const stato of ['annullata', 'non_presentato']) {
    const id = await booked(2, 1)
    const { call } = server
    t.equal((await call('PUT', `/api/v1/prenotazioni/${id}`, { stato })).statusCode, 200)
    const awaited = [{ prenotazione_id: id, ospiti_mancanti: 1, giorno: sending, motivo: 'non_ancora_emessa' }]
    at(1, 0)
    t.match(await verified(), { mancanti: [], in_attesa: awaited, totale_ricevute: 0 }, stato)
    const again = (await create(call, { nome_cognome: 'Anna Bianchi', check_in: sending, numero_ospiti: 1 })).id
    await saveGuests(call, again, [guestNo(1)])
    t.match(await verified(), { mancanti: [], in_attesa: [{ ...awaited[0], prenotazione_id: again }] }, 'once')
    police.on.Ricevuta = PDF
    at(1, 1)
    t.match(await verified(), { mancanti: [], in_attesa: [], totale_ricevute: 1 }, stato)
    await call('POST', '/api/v1/prenotazioni/delete-bulk', { ids: [again] })
    t.match(await verified(), { mancanti: [], in_attesa: [], totale_ricevute: 0 }, stato)
  }
})

t.test('a failed fetch is repeated after 10 minutes, and rejected credentials are tried again after 15', async (t) => {
  await booked()
  police.on.Ricevuta = RESET
  const asks = async (hour: number, minute: number) => {
    at(1, hour, minute)
    police.calls.length = 0
    await verified()
    return [police.callsOf('GenerateToken').length > 0, police.callsOf('Ricevuta').length]
  }
  t.match(await asks(0, 15), [true, 1])
  t.same(await asks(0, 24), [false, 0])
  t.match(await asks(0, 25), [true, 1])
  police.on.GenerateToken = REFUSED_LOGIN
  t.same(await asks(0, 40), [true, 0])
  t.same(await asks(0, 54), [false, 0])
  t.same(await asks(0, 55), [true, 0])
  delete police.on.GenerateToken
  police.on.Ricevuta = PDF
  t.match((await server.call('GET', '/api/alloggiati/check')).json(), { status: 503, codice: 'CREDENZIALI_RIFIUTATE' })
  t.same(await asks(1, 9), [false, 0])
  t.match(await asks(1, 10), [true, 1])
  t.match(await verified(), { in_attesa: [], totale_ricevute: 1 })
})

t.test('a request returns while the service does not reply, and the fetch continues for all requests', async (t) => {
  await booked()
  at(1, 9)
  police.calls.length = 0
  const silent = held()
  police.on.Ricevuta = silent.behaviour
  const waiting = { mancanti: [], in_attesa: [{ giorno: sending, motivo: 'ricevuta_chiesta' }] }
  for (const result of await Promise.all([verified(), verified()])) t.match(result, waiting)
  t.match(await verified(), waiting, 'a later one does not ask again')
  t.equal(police.callsOf('Ricevuta').length, 1)
  silent.release(PDF)
  await until(async () => (await verified()).totale_ricevute === 1)
  t.equal(police.callsOf('Ricevuta').length, 1)
})

t.test('when a fetch ends after its caller has stopped waiting, the day still counts as requested', async (t) => {
  await booked()
  at(1, 9)
  const { promise, resolve } = Promise.withResolvers<void>()
  const service = { account: CREDENTIALS.ALLOGGIATI_UTENTE } as PoliceService
  const due = dueReceipts({ db: server.app.db, service, mode: 'production', clock }, () => promise)
  const requested = await due.fetchDueWithTimeout()
  resolve()
  await due.settled()
  t.equal(due.reasonFor(service.account, sending, requested), 'ricevuta_chiesta')
  t.equal(due.reasonFor(service.account, sending, await due.fetchDueWithTimeout()), 'non_ancora_emessa')
})

t.test('a shutdown aborts the fetch', async (t) => {
  const other = await build(t, { ...productionEnviron(police), DATABASE_URL: server.url }, undefined, { clock })
  await booked()
  at(1, 9)
  const silent = held()
  police.on.Ricevuta = silent.behaviour
  const result = verified(other)
  await silent.arrived
  await Promise.all([result.catch(() => {}), other.app.close()])
  t.same(other.logs.filter(({ level }) => Number(level) >= 50), [])
})

t.test('the hourly job fetches due receipts, and none for days without a submission', async (t) => {
  await booked()
  police.on.Ricevuta = PDF
  at(1, 0, 14)
  police.calls.length = 0
  t.match(await runJob(server, 'due-receipts'), { esito: 'riuscito' })
  t.equal(police.callsOf('Ricevuta').length, 0)
  at(1, 0, 15)
  t.match(await runJob(server, 'due-receipts'), { esito: 'riuscito', cron: '15 * * * *' })
  t.equal(police.callsOf('Ricevuta').length, 1)
  t.match(await verified(), { mancanti: [], in_attesa: [], totale_ricevute: 1 })
  t.equal(police.callsOf('Ricevuta').length, 1)
})
