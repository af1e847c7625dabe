import t from 'tap'
import { build } from '#test/helper.ts'
import { single, soggiorno, today } from './rules/samples.ts'
import { guestNo, held, invio, production, rowsReply, standIn } from './stand-in.ts'
import { answer } from './service/soap/server.ts'

const TODAY = { TODAY: today }
const body = (changes: object = {}) => ({ ospiti: [single(changes)], prenotazione: soggiorno })

t.test('a second Send of a guest is refused with the first one\'s reference', async (t) => {
  const { app, call } = await build(t, TODAY)
  const first = (await call('POST', '/api/alloggiati/invio', body())).json()
  const second = await call('POST', '/api/alloggiati/invio', body())
  t.equal(second.statusCode, 409)
  const { requestId, ...rest } = second.json()
  t.type(requestId, 'string')
  t.strictSame(rest, {
    error: `Ospiti già inviati, o di esito sconosciuto, con la ricevuta ${first.ricevuta}`,
    status: 409,
    codice: 'SCHEDINE_GIA_INVIATE',
    ricevuta: first.ricevuta,
    ospiti: [0]
  })
  t.equal((await app.sql`select from invii`).length, 1, 'the refused one leaves no trace')
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('a guest that was edited after the Send is the same guest', async (t) => {
  const { app, call } = await build(t, TODAY)
  await call('POST', '/api/alloggiati/invio', body())
  const edits = [
    { numero_documento: 'CA99999ZZ' },
    { sesso: 'F' },
    { cognome: ' provetti ' },
    { cognome: 'Provettì' },
    { tipo_documento: 'PASOR' },
    { cittadinanza: '100000216' }
  ]
  for (const edit of edits) {
    t.equal((await call('POST', '/api/alloggiati/invio', body(edit))).statusCode, 409, JSON.stringify(edit))
  }
  const longer = { ospiti: [single()], prenotazione: { ...soggiorno, numero_notti: 9 } }
  t.equal((await call('POST', '/api/alloggiati/invio', longer)).statusCode, 409)
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('another guest, and the same one on another arrival, are sent', async (t) => {
  const { call } = await build(t, TODAY)
  await call('POST', '/api/alloggiati/invio', body())
  t.equal((await call('POST', '/api/alloggiati/invio', body({ nome: 'MARIO' }))).statusCode, 200)
  t.equal((await call('POST', '/api/alloggiati/invio', body({ data_nascita: '1980-05-16' }))).statusCode, 200)
  const yesterday = { ospiti: [single()], prenotazione: { ...soggiorno, check_in: '2026-11-20' } }
  t.equal((await call('POST', '/api/alloggiati/invio', yesterday)).statusCode, 200)
})

t.test('a list with one guest sent before is refused whole: nothing of it goes out', async (t) => {
  const { app, call } = await build(t, TODAY)
  await call('POST', '/api/alloggiati/invio', { ospiti: [guestNo(2)], prenotazione: soggiorno })
  const refused = await call('POST', '/api/alloggiati/invio', {
    ospiti: [guestNo(1), guestNo(2), guestNo(3)],
    prenotazione: soggiorno
  })
  t.match(refused.json(), { status: 409, ospiti: [1] })
  t.equal((await app.sql`select from sandbox_schedine`).length, 1)
})

t.test('of 20 Sends of a guest at once one goes out', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call('POST', '/api/alloggiati/invio', invio([guestNo(1)])))
  )
  const winners = answers.filter(({ statusCode }) => statusCode === 200)
  t.equal(winners.length, 1)
  t.ok(
    answers.every(
      (each) =>
        winners.includes(each) || (each.statusCode === 409 && each.json().ricevuta === winners[0]?.json().ricevuta)
    )
  )
  t.equal(police.callsOf('Send').length, 1)
})

t.test('of Sends at once from two servers on one database one goes out', async (t) => {
  const police = await standIn(t)
  const one = await production(t, police)
  const other = await production(t, police, { DATABASE_URL: one.url, DATA_DIR: one.dataDir })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      (n % 2 ? one : other).call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
    )
  )
  t.same(answers.map(({ statusCode }) => statusCode).sort(), [200, ...Array.from({ length: 19 }, () => 409)])
  t.equal(police.callsOf('Send').length, 1)
})

t.test('of overlapping lists at once every guest goes out at most once, and none waits for ever', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  const lists = Array.from({ length: 12 }, (_, n) => [guestNo(n % 4), guestNo((n + 1) % 4)].sort(() => n % 2 ? 1 : -1))
  const answers = await Promise.all(lists.map((guests) => call('POST', '/api/alloggiati/invio', invio(guests))))
  t.ok(answers.every(({ statusCode }) => statusCode === 200 || statusCode === 409))
  const rows = police.callsOf('Send').flatMap(({ rows }) => rows)
  t.equal(new Set(rows).size, rows.length)
  t.ok(rows.length >= 2)
})

t.test('a guest that is being sent cannot be sent beside it', async (t) => {
  const police = await standIn(t)
  const { call } = await production(t, police)
  const reply = held()
  police.on.Send = reply.behaviour
  const first = call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  await reply.arrived
  const beside = await call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))
  t.match(beside.json(), { status: 409, codice: 'SCHEDINE_GIA_INVIATE' })
  reply.release(answer(rowsReply('Send', [true])))
  t.equal((await first).json().ricevuta, beside.json().ricevuta)
  t.equal(police.callsOf('Send').length, 1)
})

t.test('what the sandbox took does not keep a guest from the police', async (t) => {
  const sandbox = await build(t, {
    ALLOGGIATI_MODE: 'sandbox',
    ALLOGGIATI_UTENTE: 'RM000001',
    ALLOGGIATI_PASSWORD: 'parola-di-prova',
    ALLOGGIATI_WSKEY: 'chiave-di-prova'
  })
  t.equal((await sandbox.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  const police = await standIn(t)
  const real = await production(t, police, { DATABASE_URL: sandbox.url, DATA_DIR: sandbox.dataDir })
  t.equal((await real.call('POST', '/api/alloggiati/invio', invio([guestNo(1)]))).statusCode, 200)
  t.equal(police.callsOf('Send').length, 1)
})
